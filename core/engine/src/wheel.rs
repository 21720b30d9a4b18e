//! A hierarchical timing wheel: one timer per connection, O(1) to set, move and cancel.
//!
//! After Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987. Four levels of 256
//! slots; a tick is [`TICK`]. Timers fire at the first tick that is not before their time. Beside
//! them a ring of 256 slots has ticks of [`FINE_TICK`], for the next millisecond of connections whose
//! round trip is not much longer than a tick.

use windlass_cc::Nanos;

/// Resolution of the wheel: 2^16 ns, 65.5 µs. Pacing bursts are longer than that.
pub(crate) const TICK: Nanos = 1 << TICK_SHIFT;
const TICK_SHIFT: u32 = 16;
/// Resolution of the ring: 2^12 ns, 4.1 µs, which is three full packets at 10 Gbit/s.
#[cfg(test)]
pub(crate) const FINE_TICK: Nanos = 1 << FINE_SHIFT;
const FINE_SHIFT: u32 = 12;
const SLOTS: usize = 256;
const LEVELS: usize = 4;
/// The ring stands behind the levels.
const RING: usize = LEVELS;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    tick: u64,
    next: u32,
    prev: u32,
    slot: u32,
}

const IDLE: Entry = Entry {
    tick: 0,
    next: NONE,
    prev: NONE,
    slot: NONE,
};

/// Timers of up to `u32::MAX` owners, named by small integers (slab keys).
pub(crate) struct Wheel {
    entries: Vec<Entry>,
    heads: Vec<u32>,
    occupied: [[u64; SLOTS / 64]; LEVELS + 1],
    now_tick: u64,
    armed: usize,
    /// Of the ring, in its ticks: all before it have fired.
    fine_tick: u64,
    fine_armed: usize,
}

impl Wheel {
    pub(crate) fn new(now: Nanos) -> Self {
        Wheel {
            entries: Vec::new(),
            heads: vec![NONE; SLOTS * (LEVELS + 1)],
            occupied: [[0; SLOTS / 64]; LEVELS + 1],
            now_tick: now >> TICK_SHIFT,
            armed: 0,
            fine_tick: now >> FINE_SHIFT,
            fine_armed: 0,
        }
    }

    /// Sets the timer of `owner`, moving it if it is set already.
    pub(crate) fn set(&mut self, owner: u32, at: Nanos) {
        self.make_room(owner);
        let tick = (at.saturating_add(TICK - 1) >> TICK_SHIFT).max(self.now_tick + 1);
        self.entries[owner as usize].tick = tick;
        self.link(owner, tick);
        self.armed += 1;
    }

    /// The same with a finer tick, if the ring reaches so far.
    pub(crate) fn set_fine(&mut self, owner: u32, at: Nanos, now: Nanos) {
        if self.fine_armed == 0 {
            self.fine_tick = self.fine_tick.max(now >> FINE_SHIFT);
        }
        let tick = at.div_ceil(1 << FINE_SHIFT).max(self.fine_tick + 1);
        if tick - self.fine_tick >= SLOTS as u64 {
            return self.set(owner, at);
        }
        self.make_room(owner);
        self.entries[owner as usize].tick = tick;
        self.link_at(owner, RING * SLOTS + tick as usize % SLOTS);
        self.fine_armed += 1;
    }

    /// `owner` has an entry, and it is idle.
    fn make_room(&mut self, owner: u32) {
        if owner as usize >= self.entries.len() {
            self.entries.resize(owner as usize + 1, IDLE);
        }
        self.cancel(owner);
    }

    /// Cancels it, if it is set.
    pub(crate) fn cancel(&mut self, owner: u32) {
        let Some(entry) = self.entries.get(owner as usize).copied() else {
            return;
        };
        if entry.slot == NONE {
            return;
        }
        if entry.prev == NONE {
            self.heads[entry.slot as usize] = entry.next;
            if entry.next == NONE {
                self.mark(entry.slot, false);
            }
        } else {
            self.entries[entry.prev as usize].next = entry.next;
        }
        if entry.next != NONE {
            self.entries[entry.next as usize].prev = entry.prev;
        }
        self.entries[owner as usize] = IDLE;
        if entry.slot as usize >= RING * SLOTS {
            self.fine_armed -= 1;
        } else {
            self.armed -= 1;
        }
    }

    fn mark(&mut self, slot: u32, on: bool) {
        let (level, index) = (slot as usize / SLOTS, slot as usize % SLOTS);
        let bit = 1u64 << (index % 64);
        if on {
            self.occupied[level][index / 64] |= bit;
        } else {
            self.occupied[level][index / 64] &= !bit;
        }
    }

    fn link(&mut self, owner: u32, tick: u64) {
        let ahead = tick.saturating_sub(self.now_tick);
        let mut level = 0;
        while level + 1 < LEVELS && ahead >= 1 << (8 * (level + 1)) {
            level += 1;
        }
        // What lies beyond the last level waits in its farthest slot and is placed again there.
        let horizon = self.now_tick + (1u64 << (8 * LEVELS)) - 1;
        let index = (tick.min(horizon) >> (8 * level)) as usize % SLOTS;
        self.link_at(owner, level * SLOTS + index);
    }

    fn link_at(&mut self, owner: u32, slot: usize) {
        let head = self.heads[slot];
        let entry = &mut self.entries[owner as usize];
        entry.slot = slot as u32;
        entry.prev = NONE;
        entry.next = head;
        if head != NONE {
            self.entries[head as usize].prev = owner;
        }
        self.heads[slot] = owner;
        self.mark(slot as u32, true);
    }

    /// When to look again: the earliest timer, or the tick at which a farther level comes into
    /// reach, whichever is sooner.
    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        let fine = self.next_fine().map(|tick| tick << FINE_SHIFT);
        match (self.poll_levels_at(), fine) {
            (Some(coarse), Some(fine)) => Some(coarse.min(fine)),
            (coarse, fine) => coarse.or(fine),
        }
    }

    /// The earliest tick of the ring at which something fires.
    fn next_fine(&self) -> Option<u64> {
        if self.fine_armed == 0 {
            return None;
        }
        let ahead = self.next_occupied(RING, self.fine_tick as usize % SLOTS)?;
        Some(self.fine_tick + ahead)
    }

    fn poll_levels_at(&self) -> Option<Nanos> {
        if self.armed == 0 {
            return None;
        }
        let mut best = u64::MAX;
        for level in 0..LEVELS {
            let shift = 8 * level as u32;
            let current = self.now_tick >> shift;
            if let Some(ahead) = self.next_occupied(level, current as usize % SLOTS) {
                best = best.min((current + ahead) << shift);
            }
        }
        Some(best.max(self.now_tick + 1) << TICK_SHIFT)
    }

    /// Slots from `from` (not included) to the next occupied one of `level`, going round.
    fn next_occupied(&self, level: usize, from: usize) -> Option<u64> {
        let bits = &self.occupied[level];
        let start = (from + 1) % SLOTS;
        for step in 0..=SLOTS / 64 {
            let word = (start / 64 + step) % (SLOTS / 64);
            let mut value = bits[word];
            if step == 0 {
                value &= !0 << (start % 64);
            } else if step == SLOTS / 64 {
                value &= (1u64 << (start % 64)).wrapping_sub(1);
            }
            if value != 0 {
                let index = word * 64 + value.trailing_zeros() as usize;
                return Some(((index + SLOTS - start) % SLOTS + 1) as u64);
            }
        }
        None
    }

    /// Moves to `now`; the owners whose timers have come go to `fired`, by tick.
    pub(crate) fn advance(&mut self, now: Nanos, fired: &mut Vec<u32>) {
        self.advance_levels(now, fired);
        let target = now >> FINE_SHIFT;
        while let Some(tick) = self.next_fine().filter(|tick| *tick <= target) {
            self.fine_tick = tick;
            self.fire_fine(tick as usize % SLOTS, fired);
        }
        self.fine_tick = self.fine_tick.max(target);
    }

    fn advance_levels(&mut self, now: Nanos, fired: &mut Vec<u32>) {
        let target = now >> TICK_SHIFT;
        while self.now_tick < target {
            if self.armed == 0 {
                self.now_tick = target;
                return;
            }
            let next = self
                .poll_levels_at()
                .map_or(target, |at| at >> TICK_SHIFT)
                .min(target);
            self.now_tick = next;
            for level in (1..LEVELS).rev() {
                if next.trailing_zeros() >= 8 * level as u32 {
                    self.cascade(level, (next >> (8 * level)) as usize % SLOTS);
                }
            }
            self.fire(next as usize % SLOTS, fired);
        }
    }

    fn take(&mut self, slot: usize) -> u32 {
        let head = std::mem::replace(&mut self.heads[slot], NONE);
        self.mark(slot as u32, false);
        head
    }

    fn cascade(&mut self, level: usize, index: usize) {
        let mut owner = self.take(level * SLOTS + index);
        while owner != NONE {
            let next = self.entries[owner as usize].next;
            let tick = self.entries[owner as usize].tick;
            self.link(owner, tick);
            owner = next;
        }
    }

    /// All timers of a slot of the ring are of one tick.
    fn fire_fine(&mut self, index: usize, fired: &mut Vec<u32>) {
        let mut owner = self.take(RING * SLOTS + index);
        while owner != NONE {
            let next = self.entries[owner as usize].next;
            self.entries[owner as usize] = IDLE;
            self.fine_armed -= 1;
            fired.push(owner);
            owner = next;
        }
    }

    fn fire(&mut self, index: usize, fired: &mut Vec<u32>) {
        let first = fired.len();
        let mut owner = self.take(index);
        while owner != NONE {
            let entry = self.entries[owner as usize];
            if entry.tick <= self.now_tick {
                self.entries[owner as usize] = IDLE;
                self.armed -= 1;
                fired.push(owner);
            } else {
                self.link(owner, entry.tick);
            }
            owner = entry.next;
        }
        draw_lots(&mut fired[first..], self.now_tick);
    }
}

/// Who is first in a tick, which matters where they share a limit. It is another one each time, and depends on nothing but their
/// numbers and the tick: not on when their timers were set, which a wheel that takes over does not know. In the ring, whose ticks
/// are shorter than a packet, the timer that was set last is the first.
fn draw_lots(owners: &mut [u32], tick: u64) {
    owners.sort_unstable_by_key(|owner| (owner ^ tick as u32).wrapping_mul(0x9e37_79b1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The wheel against a sorted map, over spans from ticks to days. Every other owner asks for the finer tick: within
    /// a millisecond, it has it.
    #[test]
    fn fires_like_a_sorted_map() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut wheel = Wheel::new(12345);
        let mut model: BTreeMap<u32, (u64, Nanos)> = BTreeMap::new();
        let mut now = 12345u64;
        let mut fired = Vec::new();
        for round in 0..20_000u64 {
            let owner = random(200) as u32;
            match random(4) {
                0 => {
                    wheel.cancel(owner);
                    model.remove(&owner);
                }
                1 | 2 => {
                    let span = 1u64 << random(47);
                    let at = now + random(span);
                    match owner % 2 {
                        0 => wheel.set(owner, at),
                        _ => wheel.set_fine(owner, at, now),
                    }
                    let late = match owner % 2 == 1 && at < now + 200 * FINE_TICK {
                        true => 2 * FINE_TICK,
                        false => 2 * TICK,
                    };
                    model.insert(owner, (at, late));
                }
                _ => {
                    let bits = 10 + random(if round % 50 == 0 { 36 } else { 18 });
                    now += random(1 << bits);
                    fired.clear();
                    wheel.advance(now, &mut fired);
                    for owner in &fired {
                        let (at, _) = model.remove(owner).expect("a timer fires once");
                        assert!(at <= now, "{owner} fired {} ns early", at - now);
                    }
                    for (owner, (at, late)) in &model {
                        assert!(at + late > now, "{owner} is {} ns late", now - at);
                    }
                }
            }
            assert_eq!(wheel.armed + wheel.fine_armed, model.len());
            assert_eq!(wheel.poll_at().is_none(), model.is_empty());
        }
    }

    /// What the ring is for: a timer in 10 µs comes in 10 µs.
    #[test]
    fn a_fine_timer_is_not_late() {
        let (mut wheel, mut fired) = (Wheel::new(0), Vec::new());
        let start = 77 * TICK + 12_345;
        wheel.set(1, start + 9_000_000);
        wheel.set_fine(2, start + 10_000, start);
        wheel.set_fine(3, start + 30_000, start);
        wheel.set_fine(3, start + 20_000, start);
        let at = wheel.poll_at().expect("armed");
        assert!((start + 10_000..=start + 15_000).contains(&at), "{at}");
        wheel.advance(at, &mut fired);
        assert_eq!(fired, [2]);
        wheel.cancel(3);
        assert!(wheel.poll_at().expect("armed") > start + 30_000);
        wheel.advance(start + 9_000_000 + TICK, &mut fired);
        assert_eq!((fired, wheel.poll_at()), (vec![2, 1], None));
    }

    /// Also where some of them come down from a farther level. Each owner is first about as often as another.
    #[test]
    fn who_is_first_in_a_tick_does_not_depend_on_when_it_was_set() {
        let fired_of = |tick: u64, early: &[u32], late: &[u32]| {
            let (mut wheel, mut fired) = (Wheel::new(0), Vec::new());
            let at = (tick + 300) * TICK;
            early.iter().for_each(|owner| wheel.set(*owner, at));
            wheel.advance((tick + 290) * TICK, &mut fired);
            late.iter().for_each(|owner| wheel.set(*owner, at));
            wheel.advance(at, &mut fired);
            fired
        };
        let mut first = [0; 4];
        for tick in 0..4_000 {
            let fired = fired_of(tick, &[0, 1, 2, 3], &[]);
            assert_eq!(fired, fired_of(tick, &[3, 1], &[0, 2]), "tick {tick}");
            assert_eq!(fired.len(), 4);
            first[fired[0] as usize] += 1;
        }
        assert!(first.iter().all(|n| (700..1_300).contains(n)), "{first:?}");
    }

    #[test]
    fn poll_at_is_never_later_than_the_first_timer() {
        for at in [1u64, 100_000, 20_000_000, 3_000_000_000, 1 << 45] {
            let mut wheel = Wheel::new(0);
            wheel.set(3, at);
            assert!(wheel.poll_at().expect("armed") <= at + TICK);
        }
    }
}
