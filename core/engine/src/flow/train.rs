//! The bottleneck's rate from trains of ACKs, before the pipe is full.
//!
//! Early flights leave in bursts. Where the ACKs of a burst come back clearly slower than the burst went out, their
//! rate may be the bottleneck's, and start-up can be paced at it rather than overshoot: the sender's RTT stays flat.
//!
//! One train is a guess, and timing is noise. ACKs that came unevenly say nothing, and less irregular ones only if their train
//! is long beside what the path's own timing varies by. What is sent is paced a little
//! faster than the guess, for half a round trip at a time: where the path carries that, the guess was wrong, and more is tried;
//! where it has failed to twice, the guess is believed. Until then the box, and not the path, is what holds the flow back.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, MILLISECOND, Nanos, Path, rate_over};

use super::info::NANOS_PER_MICRO;

mod guess;

use guess::{Guess, Judgement};

/// Segments a train must have before it says anything.
const TRAIN_SEGMENTS: u64 = 12;
/// Segments that are enough for a hint: an initial window of ten, without its last ACK.
const HINT_SEGMENTS: u64 = 6;
/// A pause in sending, or in the ACKs, longer than this part of an RTT ends a train.
const BREAK_RTT_PARTS: Nanos = 8;
/// So does one that may be a delayed ACK (40 ms on Linux), ns: the last segment of a flight is
/// acknowledged late, and says nothing about the path.
const BREAK_AT_MOST: Nanos = 25 * MILLISECOND;
/// A train in which one gap is this part of it longer than its bytes explain says nothing.
const UNEVEN_PARTS: Nanos = 4;
/// A train is irregular if the sum of gap² ÷ bytes is more than this of what it would be had its ACKs come evenly, per cent.
/// Real bottlenecks are at 99 to 126, jitter that keeps the order at 100 to 700,
const IRREGULAR_PERCENT: u128 = 110;
/// and then says nothing unless it lasts so many times as long as the RTT varies without a queue of its own.
const SPREAD_TIMES: Nanos = 3;
/// The RTTs that are remembered for that.
const FIRSTS: usize = 4;
/// The moments that are remembered at which the worker was late: a round trip has few of them.
const LATES: usize = 4;
/// Two trains agree if they differ by this part at most.
const AGREE_PARTS: ByteRate = 5;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Mark {
    sent_at: Nanos,
    end: u64,
    /// Copies that had left before it: they took their share of the bottleneck.
    copies: u32,
    acked_at: Nanos,
}

/// The train under way, and what trains have shown.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Train {
    first: Option<Mark>,
    last: Option<Mark>,
    newest: Option<(Nanos, u64, u32)>,
    /// When packets left later than they were meant to, ns: the latest. Not in the state of an upgrade.
    #[serde(skip)]
    late_at: [Nanos; LATES],
    /// The longest gap between two ACKs of the train, ns, and the bytes of the second.
    gap: (Nanos, u64),
    /// The sum over its gaps of gap² ÷ bytes, µs² a kilobyte. This and the next are not in the state of an upgrade.
    #[serde(skip)]
    squares: u64,
    /// RTTs of the first packets of the latest trains, ns: there is no queue of their own train in them.
    #[serde(skip)]
    firsts: [Nanos; FIRSTS],
    /// What the train under way, and the one before it, say of the rate; 0: nothing.
    says: ByteRate,
    said: ByteRate,
    /// The same of a train that is too short for a guess. Written apart: it is not in format 4 of the state.
    #[serde(skip)]
    hint: ByteRate,
    guess: Option<Guess>,
    /// The path carries at least this.
    carried: ByteRate,
    /// How long guesses that proved wrong have held packets back since this was asked last, ns.
    held_in_vain: Nanos,
}

impl Train {
    /// The rate of the bottleneck as far as trains have shown it, bytes per second.
    pub(crate) fn bottleneck(&self) -> Option<ByteRate> {
        self.guess.map(|guess| guess.rate)
    }

    /// The same as far as a single train has shown it: enough where little depends on it.
    pub(crate) fn perhaps(&self) -> Option<ByteRate> {
        self.bottleneck().or((self.hint > 0).then_some(self.hint))
    }

    /// What a train too short for a guess has said, bytes per second; 0: nothing.
    pub(crate) fn hint(&self) -> ByteRate {
        self.hint
    }

    /// Puts it back.
    pub(crate) fn restore_hint(&mut self, hint: ByteRate) {
        self.hint = hint;
    }

    /// At most so many bytes per second leave in start-up.
    pub(crate) fn cap(&self, path: &Path) -> Option<ByteRate> {
        let now = self.last.map_or(0, |last| last.acked_at);
        self.guess.map(|guess| guess.cap(now, path))
    }

    /// A guess that nothing has proven holds back what leaves at `now`, and has for `at_least`. A packet that waits a moment for
    /// its turn between ACKs that let the window go on is late, and no less is sent.
    pub(crate) fn holds_back(
        &mut self,
        now: Nanos,
        by_pacing: bool,
        at_least: Nanos,
        path: &Path,
    ) -> bool {
        let Some(guess) = &mut self.guess else {
            return false;
        };
        guess.holds_back(now, by_pacing, at_least, path)
    }

    /// There is a guess that nothing has proven.
    pub(crate) fn is_unproven(&self) -> bool {
        self.guess.is_some_and(|guess| !guess.is_proven())
    }

    /// What the path carries of what was held back tells whether the guess was right. True if it is proven now.
    pub(crate) fn judge(&mut self, now: Nanos, delivered: u64, path: &Path) -> bool {
        self.carried = self.carried.max(path.max_bw);
        let Some(guess) = &mut self.guess else {
            return false;
        };
        match guess.judge(now, delivered, path) {
            Judgement::Open => false,
            Judgement::Proven => true,
            Judgement::Refuted { carried, held } => {
                self.carried = self.carried.max(carried);
                self.held_in_vain += held;
                false
            }
        }
    }

    /// Time that was lost by guesses that have proved wrong since the last call, ns.
    pub(crate) fn take_held_in_vain(&mut self) -> Nanos {
        std::mem::take(&mut self.held_in_vain)
    }

    /// What leaves at `now` was meant to leave so much before: the worker was kept off its core. Neither a train nor a trial goes on
    /// across that.
    pub(crate) fn sends_late(&mut self, now: Nanos, late: Nanos, path: &Path) {
        if let Some(guess) = &mut self.guess {
            guess.break_off(now.saturating_sub(late), path);
        }
        // More than one packet leaves at such a moment.
        if self.late_at[LATES - 1] < now {
            self.late_at.rotate_left(1);
            self.late_at[LATES - 1] = now;
        }
    }

    /// A segment that was sent exactly once has been delivered.
    pub(crate) fn on_delivered(&mut self, sent_at: Nanos, end: u64, copies: u32) {
        if self.newest.is_none_or(|(_, e, _)| end > e) {
            self.newest = Some((sent_at, end, copies));
        }
    }

    /// The ACK has been scored.
    pub(crate) fn on_ack(&mut self, now: Nanos, path: &Path) {
        let Some((sent_at, end, copies)) = self.newest.take() else {
            return;
        };
        let mark = Mark {
            sent_at,
            end,
            copies,
            acked_at: now,
        };
        let pause = (path.srtt / BREAK_RTT_PARTS).min(BREAK_AT_MOST);
        let broken = self.last.is_none_or(|last| {
            end <= last.end
                || sent_at < last.sent_at
                || self
                    .late_at
                    .iter()
                    .any(|late| last.sent_at < *late && *late <= sent_at)
                || sent_at.saturating_sub(last.sent_at) > pause
                || now - last.acked_at > pause
        });
        // Only what another has followed in time counts: the last of a train may be late for a
        // reason of its own (a delayed ACK, a lost packet whose copy arrived).
        let followed = self.last.replace(mark);
        let (Some(first), Some(last)) = (self.first.filter(|_| !broken), followed) else {
            self.first = Some(mark);
            (self.gap, self.squares) = ((0, 0), 0);
            if self.says > 0 {
                (self.said, self.says) = (self.says, 0);
            }
            return;
        };
        if last.end == first.end {
            // A segment that nothing follows may be acknowledged late, and is no train.
            self.firsts.rotate_left(1);
            self.firsts[FIRSTS - 1] = first.acked_at.saturating_sub(first.sent_at);
        }
        let copied = u64::from(last.copies - first.copies) * u64::from(path.mss);
        let bytes = last.end - first.end + copied;
        if bytes >= HINT_SEGMENTS * u64::from(path.mss) {
            let long = bytes >= TRAIN_SEGMENTS * u64::from(path.mss);
            self.look_at(first, last, bytes, long, path);
        }
        // The gap before the newest is not the train's yet.
        let gap = (now - last.acked_at, end - last.end);
        let gap_us = gap.0 / NANOS_PER_MICRO;
        let square = gap_us * gap_us * 1_000 / gap.1.max(1);
        self.squares = self.squares.saturating_add(square);
        if gap.0 > self.gap.0 {
            self.gap = gap;
        }
    }

    /// What the train under way says may be the jitter of the path: it is irregular, and short beside that. `span`: of its ACKs.
    fn may_be_jitter(&self, span: Nanos, bytes: u64, path: &Path) -> bool {
        let span_us = u128::from((span / NANOS_PER_MICRO).max(1));
        let evenly = span_us * span_us * IRREGULAR_PERCENT * 10;
        let irregular = u128::from(self.squares) * u128::from(bytes) > evenly;
        let latest = self.firsts.into_iter().max().unwrap_or(0);
        let spread = latest.saturating_sub(path.recent_min_rtt());
        irregular && span < SPREAD_TIMES * spread
    }

    /// A train that is long enough, for a guess or only for a hint.
    fn look_at(&mut self, first: Mark, last: Mark, bytes: u64, long: bool, path: &Path) {
        // ACKs that came in one batch have no span, and say nothing.
        let ack_span = last.acked_at - first.acked_at;
        let send_span = last.sent_at.saturating_sub(first.sent_at);
        let fair = (u128::from(self.gap.1) * u128::from(ack_span) / u128::from(bytes)) as Nanos;
        let uneven = self.gap.0.saturating_sub(fair) >= ack_span / UNEVEN_PARTS;
        if uneven || send_span * 5 >= ack_span * 4 {
            return;
        }
        let rate = rate_over(bytes, ack_span);
        self.hint = rate;
        if !long || self.may_be_jitter(ack_span, last.end - first.end, path) {
            return;
        }
        self.says = rate;
        // One train is not enough.
        if rate.abs_diff(self.said) > self.said / AGREE_PARTS {
            return;
        }
        let known = self.guess.map_or(0, |guess| guess.rate);
        if rate > known && rate > self.carried {
            match &mut self.guess {
                Some(guess) => guess.raise(rate),
                none => *none = Some(Guess::new(rate)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
