//! How far a transfer is: a line on a terminal that is written anew, nothing elsewhere.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// The line.
#[derive(Default)]
pub(crate) struct Line {
    bar: Option<ProgressBar>,
}

impl Line {
    pub(crate) fn show(&mut self, text: &str) {
        if !stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{wide_msg}");
            ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        bar.set_message(text.to_owned());
        bar.tick();
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
