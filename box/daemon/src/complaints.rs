//! What is amiss is told as an event, once, if it lasts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::control::Trouble;
use crate::events::{Draft, EventKind, Events};

/// Troubles of a moment, as while an interface is being made, are only in the status.
const MOMENT: Duration = Duration::from_millis(500);

/// The troubles that there are: since when, and whether they have been told.
#[derive(Default)]
pub(crate) struct Complaints(BTreeMap<String, (Instant, bool)>);

impl Complaints {
    /// This one has been told in other words.
    pub(crate) fn know(&mut self, what: &str) {
        self.0.insert(what.to_owned(), (Instant::now(), true));
    }

    /// These are there now. To be called now and then, also when none has come.
    pub(crate) fn tell(&mut self, troubles: &[Trouble], events: &Events) {
        self.0
            .retain(|what, _| troubles.iter().any(|t| t.what == *what));
        for Trouble { what, mend } in troubles {
            let now = Instant::now();
            let (since, told) = self.0.entry(what.clone()).or_insert((now, false));
            if !*told && now.duration_since(*since) >= MOMENT {
                *told = true;
                let text = format!("{what} (mend it with: {mend})");
                events.tell(Draft::new(EventKind::Trouble, text));
            }
        }
    }
}
