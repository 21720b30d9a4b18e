//! A hierarchical timing wheel: one timer per connection, O(1) to set, move and cancel.
//!
//! After Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987. Four levels of 256
//! slots; a tick is [`TICK`]. Timers fire at the first tick that is not before their time.

use windlass_cc::Nanos;

/// Resolution of the wheel: 2^16 ns, 65.5 µs. Pacing bursts are longer than that.
pub(crate) const TICK: Nanos = 1 << TICK_SHIFT;
const TICK_SHIFT: u32 = 16;
const SLOTS: usize = 256;
const LEVELS: usize = 4;
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
    occupied: [[u64; SLOTS / 64]; LEVELS],
    now_tick: u64,
    armed: usize,
}

impl Wheel {
    pub(crate) fn new(now: Nanos) -> Self {
        Wheel {
            entries: Vec::new(),
            heads: vec![NONE; SLOTS * LEVELS],
            occupied: [[0; SLOTS / 64]; LEVELS],
            now_tick: now >> TICK_SHIFT,
            armed: 0,
        }
    }

    /// Sets the timer of `owner`, moving it if it is set already.
    pub(crate) fn set(&mut self, owner: u32, at: Nanos) {
        if owner as usize >= self.entries.len() {
            self.entries.resize(owner as usize + 1, IDLE);
        }
        self.cancel(owner);
        let tick = (at.saturating_add(TICK - 1) >> TICK_SHIFT).max(self.now_tick + 1);
        self.entries[owner as usize].tick = tick;
        self.link(owner, tick);
        self.armed += 1;
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
        self.armed -= 1;
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
        let slot = level * SLOTS + index;
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

    /// Moves to `now`; the owners whose timers have come go to `fired`.
    pub(crate) fn advance(&mut self, now: Nanos, fired: &mut Vec<u32>) {
        let target = now >> TICK_SHIFT;
        while self.now_tick < target {
            if self.armed == 0 {
                self.now_tick = target;
                return;
            }
            let next = self
                .poll_at()
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

    fn fire(&mut self, index: usize, fired: &mut Vec<u32>) {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The wheel against a sorted map, over spans from ticks to days.
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
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
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
                    wheel.set(owner, at);
                    model.insert(owner, at);
                }
                _ => {
                    let bits = 10 + random(if round % 50 == 0 { 36 } else { 18 });
                    now += random(1 << bits);
                    fired.clear();
                    wheel.advance(now, &mut fired);
                    for owner in &fired {
                        let at = model.remove(owner).expect("a timer fires once");
                        assert!(at <= now, "{owner} fired {} ns early", at - now);
                    }
                    for (owner, at) in &model {
                        assert!(at + TICK * 2 > now, "{owner} is {} ns late", now - at);
                    }
                }
            }
            assert_eq!(wheel.armed, model.len());
            assert_eq!(wheel.poll_at().is_none(), model.is_empty());
        }
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
