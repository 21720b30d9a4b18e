//! The heart of a worker: by it the rest of the process knows that it works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One worker's. The worker alone beats it, at the end of a turn that has taken packets or has found none to take.
#[derive(Debug, Default)]
pub(crate) struct Heart {
    beats: AtomicU64,
    stopped: AtomicBool,
}

impl Heart {
    /// A turn has got on.
    pub(crate) fn beat(&self) {
        // One writer: no read-modify-write on the packet path.
        let beats = self.beats.load(Ordering::Relaxed);
        self.beats.store(beats.wrapping_add(1), Ordering::Relaxed);
    }

    /// The worker has panicked.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(crate) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// What was seen of the workers' hearts the last time.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    seen: Vec<u64>,
}

impl Listener {
    /// Whether every worker has got on since the last time that all had. One that has panicked is not asked: its queue
    /// is the kernel's.
    pub(crate) fn all_beat(&mut self, hearts: &[Arc<Heart>]) -> bool {
        self.seen.resize(hearts.len(), 0);
        let mut pairs = hearts.iter().zip(&self.seen);
        let all = pairs.all(|(heart, seen)| heart.has_stopped() || heart.beats() != *seen);
        if all {
            self.seen = hearts.iter().map(|heart| heart.beats()).collect();
        }
        all
    }

    /// The worker that has not got on since the last time that all had.
    pub(crate) fn still(&self, hearts: &[Arc<Heart>]) -> Option<usize> {
        let mut pairs = hearts.iter().zip(&self.seen);
        pairs.position(|(heart, seen)| !heart.has_stopped() && heart.beats() == *seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_stands_still_is_heard_and_one_that_panicked_is_not_waited_for() {
        let hearts: Vec<Arc<Heart>> = (0..2).map(|_| Arc::default()).collect();
        let mut listener = Listener::default();
        assert!(!listener.all_beat(&hearts), "none has begun");
        hearts[0].beat();
        assert!(!listener.all_beat(&hearts), "the second has not begun");
        assert_eq!(listener.still(&hearts), Some(1));
        hearts[1].beat();
        assert!(listener.all_beat(&hearts));
        assert!(!listener.all_beat(&hearts), "nothing since");
        hearts[0].beat();
        hearts[1].stop();
        assert!(
            listener.all_beat(&hearts),
            "a worker that is lost is no worker"
        );
        assert!(!listener.all_beat(&hearts));
        assert_eq!(listener.still(&hearts), Some(0));
    }
}
