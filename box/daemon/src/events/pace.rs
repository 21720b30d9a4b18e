//! How many events of a kind are told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::EventKind;

/// So many of a kind may come at once,
pub(super) const BURST: u32 = 20;
/// and one more each time that this has passed.
const INTERVAL: Duration = Duration::from_millis(200);

/// The books of all kinds.
#[derive(Debug, Default)]
pub(super) struct Pace(BTreeMap<EventKind, Bucket>);

#[derive(Debug)]
struct Bucket {
    left: u32,
    filled_at: Instant,
    suppressed: u64,
}

impl Pace {
    /// Whether one of this kind may be told now; then with how many that were suppressed since the last.
    pub(super) fn admit(&mut self, kind: EventKind, now: Instant) -> Option<u64> {
        let bucket = self.0.entry(kind).or_insert(Bucket {
            left: BURST,
            filled_at: now,
            suppressed: 0,
        });
        bucket.fill(now);
        if bucket.left == 0 {
            bucket.suppressed += 1;
            return None;
        }
        bucket.left -= 1;
        Some(std::mem::take(&mut bucket.suppressed))
    }

    /// Kinds of which some were suppressed and one may be told now, with their numbers: they are told, so that nothing
    /// is left out without a word when no more come.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<(EventKind, u64)> {
        let mut all = Vec::new();
        for (kind, bucket) in &mut self.0 {
            bucket.fill(now);
            if bucket.suppressed > 0 && bucket.left > 0 {
                bucket.left -= 1;
                all.push((*kind, std::mem::take(&mut bucket.suppressed)));
            }
        }
        all
    }
}

impl Bucket {
    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled_at);
        let new = passed.as_millis() / INTERVAL.as_millis();
        let new = u32::try_from(new).unwrap_or(u32::MAX);
        if self.left.saturating_add(new) >= BURST {
            (self.left, self.filled_at) = (BURST, now);
        } else {
            self.left += new;
            self.filled_at += INTERVAL * new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_suppressed_is_counted_and_told() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        for _ in 0..BURST {
            assert_eq!(pace.admit(EventKind::HandedBack, now), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(pace.admit(EventKind::HandedBack, now), None);
        }
        // Of another kind it is not the fault.
        assert_eq!(pace.admit(EventKind::BypassOn, now), Some(0));
        assert_eq!(pace.overdue(now), []);
        let later = now + INTERVAL;
        assert_eq!(pace.admit(EventKind::HandedBack, later), Some(7));
        assert_eq!(pace.admit(EventKind::HandedBack, later), None);
        let later = now + 3 * INTERVAL;
        assert_eq!(pace.overdue(later), [(EventKind::HandedBack, 1)]);
        assert_eq!(pace.overdue(later), []);
    }

    #[test]
    fn a_kind_that_rests_has_its_burst_again() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let mut told = |at| {
            (0..1000)
                .filter(|_| pace.admit(EventKind::TakenOver, at).is_some())
                .count()
        };
        assert_eq!(told(now), BURST as usize);
        assert_eq!(told(now + 2 * INTERVAL), 2);
        assert_eq!(told(now + 1000 * INTERVAL), BURST as usize);
    }
}
