//! How far it is: a bar on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// Between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// Counts runs.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
    failed: usize,
    began: Instant,
    told: Instant,
}

impl Progress {
    pub(crate) fn new(total: usize) -> Progress {
        let template = "{pos}/{len} runs{msg} [{bar:40}] {elapsed} gone, {eta} left";
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(total as u64).with_style(style);
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        let now = Instant::now();
        Progress {
            bar,
            total,
            done: 0,
            failed: 0,
            began: now,
            told: now,
        }
    }

    /// One more run is done, or has failed; `line` is what there is to tell of it.
    pub(crate) fn done(&mut self, failed: bool, line: Option<&str>) {
        self.done += 1;
        self.failed += usize::from(failed);
        if let Some(line) = line {
            self.say(line);
        }
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done as u64);
                bar.set_message(self.failures());
            }
            None if self.told.elapsed() >= EVERY || self.done == self.total => {
                self.told = Instant::now();
                eprintln!("{}", self.line());
            }
            None => {}
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    fn failures(&self) -> String {
        match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        }
    }

    fn line(&self) -> String {
        let gone = self.began.elapsed();
        let left = gone.mul_f64((self.total - self.done) as f64 / self.done.max(1) as f64);
        format!(
            "{}/{} runs{}, {} gone, {} left",
            self.done,
            self.total,
            self.failures(),
            HumanDuration(gone),
            HumanDuration(left),
        )
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
