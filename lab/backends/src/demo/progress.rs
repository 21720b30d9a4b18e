//! A bar on a terminal, a line for each run elsewhere.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use super::Run;

/// Where the demo is.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
    what: String,
}

impl Progress {
    pub(super) fn new(total: usize, bytes: u64) -> Progress {
        let bar = stderr().is_terminal().then(|| {
            let style =
                ProgressStyle::with_template("{msg:44} [{bar:30}] {bytes:>10} {elapsed:>4}");
            ProgressBar::new(bytes)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress {
            bar,
            total,
            done: 0,
            what: String::new(),
        }
    }

    pub(super) fn begin(&mut self, title: &str, repetition: u32) {
        self.done += 1;
        self.what = format!("{}/{} {title} #{repetition}", self.done, self.total);
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_message(self.what.clone());
        }
    }

    pub(super) fn at(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
        }
    }

    pub(super) fn end(&self, run: &Run) {
        let outcome = match &run.error {
            None => format!("{:.3} s", run.seconds),
            Some(error) => format!("failed: {error}"),
        };
        let line = format!("{}: {outcome}", self.what);
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
