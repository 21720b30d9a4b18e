//! The worker's pulse: by it the XDP program knows that somebody reads a socket, and the worker learns
//! what has passed while it stood still.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use crate::memory::Mapping;
use crate::program::QUEUES_PER_SIDE;

/// `struct pulse` of the program.
const PULSE_BYTES: usize = 48 + MISSED_NAMED as usize * size_of::<u32>();
const PROGRESS: usize = 0;
const MISSED: usize = 40;
const NUMBERS: usize = 48;
/// The program names the connections of so many missed packets.
const MISSED_NAMED: u64 = 64;
/// A connection without a number.
const NO_NUMBER: u32 = u32::MAX;

/// The entry of one queue in the map `pulses`.
#[derive(Debug)]
pub(crate) struct Pulse {
    map: Mapping,
    /// Where the entry begins.
    entry: usize,
    progress: u64,
}

impl Pulse {
    /// `map` is the program's map `pulses`.
    pub(crate) fn new(map: BorrowedFd<'_>, queue: u32) -> io::Result<Pulse> {
        let len = QUEUES_PER_SIDE as usize * PULSE_BYTES;
        let mut pulse = Pulse {
            map: Mapping::shared(map, len)?,
            entry: queue as usize * PULSE_BYTES,
            progress: 0,
        };
        pulse.beat();
        Ok(pulse)
    }

    /// Packets have been taken, or there are none.
    pub(crate) fn beat(&mut self) {
        self.progress += 1;
        let word = self.map.word(self.entry + PROGRESS);
        word.store(self.progress, Ordering::Release);
    }

    /// Packets that have passed so far because nobody read.
    pub(crate) fn missed(&self) -> u64 {
        let word = self.map.word(self.entry + MISSED);
        word.load(Ordering::Acquire)
    }

    /// The connections of the packets that have passed since there were `before` of them; `None` if not all are known.
    pub(crate) fn missed_since(&self, before: u64) -> Option<Vec<u32>> {
        let now = self.missed();
        if now.wrapping_sub(before) > MISSED_NAMED {
            return None;
        }
        let number = |packet: u64| {
            let place = (packet % MISSED_NAMED) as usize * size_of::<u32>();
            // Two to a word.
            let at = self.entry + NUMBERS + place;
            let word = self.map.word(at & !7).load(Ordering::Acquire);
            let bytes = word.to_ne_bytes();
            u32::from_ne_bytes(bytes[at % 8..at % 8 + 4].try_into().expect("four bytes"))
        };
        let numbers: Vec<u32> = (before..now).map(number).collect();
        (!numbers.contains(&NO_NUMBER)).then_some(numbers)
    }
}
