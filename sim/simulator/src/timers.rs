//! Who wants to be called when, among many.

use std::collections::BTreeSet;

use windlass_cc::Nanos;

/// One deadline for each of a fixed number of sleepers.
pub(crate) struct Timers {
    due: BTreeSet<(Nanos, usize)>,
    armed: Vec<Option<Nanos>>,
}

impl Timers {
    /// None is armed.
    pub fn new(sleepers: usize) -> Self {
        Timers {
            due: BTreeSet::new(),
            armed: vec![None; sleepers],
        }
    }

    /// Sets, moves or stops the timer of `sleeper`.
    pub fn set(&mut self, sleeper: usize, at: Option<Nanos>) {
        let armed = &mut self.armed[sleeper];
        if *armed == at {
            return;
        }
        if let Some(before) = armed.take() {
            self.due.remove(&(before, sleeper));
        }
        if let Some(at) = at {
            self.due.insert((at, sleeper));
        }
        *armed = at;
    }

    /// The earliest deadline.
    pub fn poll_at(&self) -> Option<Nanos> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A sleeper whose time has come by `now`, its timer stopped; the earliest first. Call until
    /// `None`.
    pub fn take(&mut self, now: Nanos) -> Option<usize> {
        let (at, sleeper) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        self.armed[sleeper] = None;
        Some(sleeper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_woken_once_at_the_time_set_last() {
        let mut timers = Timers::new(3);
        timers.set(0, Some(30));
        timers.set(1, Some(10));
        timers.set(2, Some(20));
        timers.set(1, Some(40));
        timers.set(2, None);
        assert_eq!(timers.poll_at(), Some(30));
        assert_eq!(timers.take(29), None);
        assert_eq!(timers.take(50), Some(0));
        assert_eq!(timers.take(50), Some(1));
        assert_eq!((timers.take(50), timers.poll_at()), (None, None));
    }
}
