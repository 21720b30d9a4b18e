//! A guess about the bottleneck, and how it is put to the test.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, Nanos, Path, rate_over};

/// How much faster than a guess packets leave, after so many that were wrong, and what part of that shows that the path
/// carries it, per cent.
const TRY_PERCENT: [u64; 4] = [115, 125, 140, 160];
const CARRIED_PERCENT: u64 = 93;
/// A trial lasts this part of an RTT, and the path is looked at for as long. All that a trial adds to a queue is less than a tenth of
/// a bandwidth-delay product.
const TRIAL_RTT_PARTS: Nanos = 2;
/// From the beginning of a trial to that of the next one it is so many times as long as the trial lasts: a whole one has a round trip for
/// its answer.
const CYCLE_TRIALS: Nanos = 3;
/// Trials in which the path must have failed to carry more before a guess is believed.
const PROOFS: u8 = 2;

/// More than the guess is sent for a moment, and a round trip later the path has shown whether it carries that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
enum Trial {
    /// It begins when packets next wait for their turn.
    Due,
    /// Since then.
    Running { since: Nanos },
    /// The answer comes in: since when, and what had been delivered then.
    Answered { since: Nanos, look: (Nanos, u64) },
    /// It had begun then and lasted so long, ns, when there was no more to send. What the queue has got of it is there all the same.
    Broken { since: Nanos, lasted: Nanos },
}

/// [`Trial`] as formats of the state have had it: since when packets have been held back, and the look at the path.
type Written = (Option<Nanos>, Option<(Nanos, u64)>);

impl From<Written> for Trial {
    fn from(written: Written) -> Trial {
        match written {
            (None, None) => Trial::Due,
            (Some(since), None) => Trial::Running { since },
            (Some(since), Some(look)) => Trial::Answered { since, look },
            (None, Some((since, lasted))) => Trial::Broken { since, lasted },
        }
    }
}

impl From<Trial> for Written {
    fn from(trial: Trial) -> Written {
        match trial {
            Trial::Due => (None, None),
            Trial::Running { since } => (Some(since), None),
            Trial::Answered { since, look } => (Some(since), Some(look)),
            Trial::Broken { since, lasted } => (None, Some((since, lasted))),
        }
    }
}

impl Trial {
    /// How long it has lasted, ns; 0 for none.
    fn lasted(self, now: Nanos) -> Nanos {
        match self {
            Trial::Running { since } | Trial::Answered { since, .. } => now.saturating_sub(since),
            Trial::Due | Trial::Broken { .. } => 0,
        }
    }
}

/// What a look at the path has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Nothing yet.
    Open,
    /// The path carries more, so much: bytes per second. Packets had been held back for so many ns.
    Refuted { carried: ByteRate, held: Nanos },
    /// It does not, for the last time that is needed.
    Proven,
}

/// What is thought of the bottleneck.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Guess {
    pub rate: ByteRate,
    /// How many before it were wrong.
    wrong: u8,
    /// How often the path has not carried more.
    proofs: u8,
    trial: Trial,
}

impl Guess {
    /// The first one.
    pub(super) fn new(rate: ByteRate) -> Guess {
        Guess {
            rate,
            wrong: 0,
            proofs: 0,
            trial: Trial::Due,
        }
    }

    /// Trains have named a faster one.
    pub(super) fn raise(&mut self, rate: ByteRate) {
        (self.rate, self.proofs) = (rate, 0);
        if let Trial::Answered { since, .. } = self.trial {
            self.trial = Trial::Running { since };
        }
    }

    pub(super) fn is_proven(&self) -> bool {
        self.proofs >= PROOFS
    }

    /// Bytes per second at which packets leave at most, at the newest ACK.
    pub(super) fn cap(&self, now: Nanos, path: &Path) -> ByteRate {
        if self.is_proven() {
            // What a full path delivers is its rate. A train names up to a sixth too much, where ACKs were compressed.
            return path.max_bw.max(self.rate - self.rate / 6);
        }
        let broken = matches!(self.trial, Trial::Broken { .. });
        // What has been tried is enough: the answer is under way. Where packets are lost anyway, holes are open whatever the queue does.
        match path.lost == 0 && (broken || self.trial.lasted(now) > path.srtt / TRIAL_RTT_PARTS) {
            true => self.rate,
            false => self.tried(),
        }
    }

    /// Bytes per second that are sent to find out whether it is right.
    fn tried(&self) -> ByteRate {
        let step = usize::from(self.wrong).min(TRY_PERCENT.len() - 1);
        self.rate * TRY_PERCENT[step] / 100
    }

    /// From `at` on, less than was meant to be tried has left.
    pub(super) fn break_off(&mut self, at: Nanos, path: &Path) {
        if let Trial::Running { since } | Trial::Answered { since, .. } = self.trial
            && (path.lost > 0 || at.saturating_sub(since) < path.srtt / TRIAL_RTT_PARTS)
        {
            self.trial = Trial::Broken {
                since,
                lasted: at.saturating_sub(since),
            };
        }
    }

    /// A packet leaves at `now`: whether packets wait for their turn tells how the trial goes. True: nothing has proven the guess, and it has
    /// held packets back for `at_least`.
    pub(super) fn holds_back(
        &mut self,
        now: Nanos,
        by_pacing: bool,
        at_least: Nanos,
        path: &Path,
    ) -> bool {
        if !by_pacing {
            self.break_off(now, path);
            return false;
        }
        let begins = match self.trial {
            Trial::Due => true,
            Trial::Broken { since, lasted } => {
                // Older processes have handed over a count of bytes in its place.
                let lasted = lasted.min(path.srtt / TRIAL_RTT_PARTS);
                path.lost > 0 || now.saturating_sub(since) >= CYCLE_TRIALS * lasted
            }
            Trial::Running { .. } | Trial::Answered { .. } => false,
        };
        if begins {
            self.trial = Trial::Running { since: now };
        }
        !self.is_proven() && self.trial.lasted(now) >= at_least
    }

    /// What the path carries of a trial tells whether the guess is right.
    pub(super) fn judge(&mut self, now: Nanos, delivered: u64, path: &Path) -> Judgement {
        let (since, look) = match self.trial {
            Trial::Running { since } => (since, (now, delivered)),
            Trial::Answered { since, look } => (since, look),
            Trial::Due | Trial::Broken { .. } => return Judgement::Open,
        };
        if since + path.latest_rtt > now {
            self.trial = Trial::Running { since };
            return Judgement::Open;
        }
        let (began, before) = look;
        if now.saturating_sub(began) < path.srtt / TRIAL_RTT_PARTS {
            self.trial = Trial::Answered { since, look };
            return Judgement::Open;
        }
        self.trial = Trial::Running { since: now };
        let carried = rate_over(delivered - before, now - began);
        if carried * 100 >= self.tried() * CARRIED_PERCENT {
            // Trials that seemed to prove it came before.
            let cycle = path.srtt / TRIAL_RTT_PARTS * CYCLE_TRIALS;
            let held = now - since + u64::from(self.proofs.min(PROOFS)) * cycle;
            self.rate = carried;
            self.wrong = self.wrong.saturating_add(1);
            self.proofs = 0;
            return Judgement::Refuted { carried, held };
        }
        if path.lost > 0 {
            // More is tried all the time, so the next look need not wait.
            let look = (now, delivered);
            self.trial = Trial::Answered { since, look };
        }
        self.proofs = self.proofs.saturating_add(1);
        match self.proofs == PROOFS {
            true => Judgement::Proven,
            false => Judgement::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_written_as_it_always_was() {
        let (since, look) = (5, (7, 9));
        let trials = [
            Trial::Due,
            Trial::Running { since },
            Trial::Answered { since, look },
            Trial::Broken { since, lasted: 3 },
        ];
        for trial in trials {
            let bytes = postcard::to_allocvec(&trial).expect("plain data");
            assert_eq!(postcard::from_bytes(&bytes), Ok(trial));
        }
        let old: Written = (Some(since), Some(look));
        let bytes = postcard::to_allocvec(&old).expect("plain data");
        assert_eq!(
            postcard::from_bytes(&bytes),
            Ok(Trial::Answered { since, look })
        );
    }

    /// They wrote a look that had lost its trial: when it began, and the bytes delivered until then.
    #[test]
    fn a_look_of_an_older_process_holds_nothing_up() {
        let mut path = Path::new(1000);
        path.on_rtt(100_000_000);
        let mut guess = Guess::new(5_000_000);
        guess.trial = Trial::from((None, Some((7, u64::MAX))));
        assert!(guess.holds_back(200_000_000, true, 0, &path));
        assert_eq!(guess.trial, Trial::Running { since: 200_000_000 });
    }
}
