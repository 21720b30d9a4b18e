//! CoDel (RFC 8289 §5) in front of the link: who waits for more than 5 ms for 100 ms on end costs a packet,
//! and then one after shorter and shorter intervals.

use windlass_cc::{MILLISECOND, Nanos};

const TARGET: Nanos = 5 * MILLISECOND;
const INTERVAL: Nanos = 100 * MILLISECOND;

/// Its state. Packets come in the order in which they leave.
#[derive(Clone, Default)]
pub struct CoDel {
    first_above: Option<Nanos>,
    dropping: bool,
    drop_next: Nanos,
    count: u64,
    last_count: u64,
}

impl CoDel {
    /// Whether the packet whose turn comes at `now`, after a wait of `sojourn`, is dropped.
    pub fn drops(&mut self, now: Nanos, sojourn: Nanos) -> bool {
        let above = self.is_above(now, sojourn);
        if self.dropping {
            self.dropping = above;
            let drop = above && now >= self.drop_next;
            if drop {
                self.count += 1;
                self.drop_next += self.spacing();
            }
            return drop;
        }
        if above {
            self.dropping = true;
            let delta = self.count - self.last_count;
            let again = now.saturating_sub(self.drop_next) < 16 * INTERVAL;
            self.count = if again && delta > 1 { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = now + self.spacing();
        }
        above
    }

    fn is_above(&mut self, now: Nanos, sojourn: Nanos) -> bool {
        if sojourn < TARGET {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + INTERVAL)
    }

    fn spacing(&self) -> Nanos {
        (INTERVAL as f64 / (self.count as f64).sqrt()) as Nanos
    }
}
