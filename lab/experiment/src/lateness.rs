//! Runs that say little, because the machine kept whoever plays the links from its processor.

use std::collections::BTreeSet;

use crate::rows::Row;

/// Beyond this the links were not what the file says. A path has round trips of tens of milliseconds.
const LATE_MS: f64 = 5.0;

/// Runs in which the links themselves were late.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Late {
    runs: usize,
    worst_ms: f64,
}

impl Late {
    /// Those of `rows`, if there are any.
    pub fn of(rows: &[Row]) -> Option<Late> {
        let late = |row: &Row| row.links_late_ms.filter(|late| *late > LATE_MS);
        let of_run = |row: &Row| (row.cell, row.contestant, row.repetition);
        let runs: BTreeSet<_> = rows
            .iter()
            .filter(|r| late(r).is_some())
            .map(of_run)
            .collect();
        let worst_ms = rows.iter().filter_map(late).reduce(f64::max)?;
        Some(Late {
            runs: runs.len(),
            worst_ms,
        })
    }

    /// In words, of so many runs.
    pub fn sentence(&self, of: usize) -> String {
        let Late { runs, worst_ms } = self;
        format!(
            "in {runs} of {of} runs the links themselves were late by more than {LATE_MS} ms, by {worst_ms:.0} ms at most \
             (links_late_ms): the machine kept them waiting"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::{FlowObserved, Observed};
    use crate::{Experiment, Settings, rows};

    #[test]
    fn a_run_is_marked_once_and_only_if_it_was_late() {
        let text = "version = 1\nname = \"x\"\n[link]\nrate_mbit = 1\nrtt_ms = 1\n[[flows]]\nname = \"f\"\nmb = 1\ncount = 2\n\
                    [run]\nrepetitions = 3\n[[contestant]]\nname = \"c\"\n";
        let settings = Settings::default();
        let catalog = windlass_cc::Catalog::new();
        let file = Experiment::parse(text, "x.toml", settings, &catalog).expect("an experiment");
        let run = |late| Observed {
            flows: vec![FlowObserved::default(), FlowObserved::default()],
            links_late_ms: late,
            ..Observed::default()
        };
        let rows = |late: [Option<f64>; 3]| {
            let each = late.into_iter().enumerate();
            let rows = each.flat_map(|(at, late)| rows::of(&file, at, &run(late)));
            rows.collect::<Vec<_>>()
        };
        assert_eq!(Late::of(&rows([None, Some(4.9), Some(0.1)])), None);
        let late = Late::of(&rows([Some(5.1), Some(2.0), Some(33.7)])).expect("two are");
        assert_eq!((late.runs, late.worst_ms), (2, 33.7));
        assert!(late.sentence(3).starts_with("in 2 of 3 runs"));
    }
}
