//! The single-producer single-consumer rings between an AF_XDP socket and the kernel
//! (Documentation/networking/af_xdp.rst, "Rings").
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::memory::Mapping;

/// What both ends have in common.
#[derive(Debug)]
struct Ring<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
    _memory: Mapping,
}

// SAFETY: the pointers point into the mapping that moves along; the indices are atomics, and the
// entries are accessed only between the indices, by one end at a time.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn new(memory: Mapping, at: &libc::xdp_ring_offset, size: u32) -> Self {
        assert!(size.is_power_of_two());
        let place = |offset: u64| {
            assert!(offset as usize + size_of::<u32>() <= memory.len());
            // SAFETY: inside the mapping, as just asserted.
            unsafe { memory.base().add(offset as usize) }
        };
        assert!(at.desc as usize + size as usize * size_of::<T>() <= memory.len());
        Ring {
            producer: place(at.producer).cast(),
            consumer: place(at.consumer).cast(),
            flags: place(at.flags).cast(),
            entries: place(at.desc).cast(),
            size,
            _memory: memory,
        }
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: aligned and inside the mapping owned by `self`.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: aligned and inside the mapping owned by `self`.
        unsafe { self.consumer.as_ref() }
    }

    fn needs_wakeup(&self) -> bool {
        // SAFETY: aligned and inside the mapping owned by `self`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn entry(&self, index: u32) -> *mut T {
        // SAFETY: masked to the size of the ring, all of which is inside the mapping.
        unsafe {
            self.entries
                .as_ptr()
                .add((index & (self.size - 1)) as usize)
        }
    }
}

/// Maps the ring of `socket` at page offset `page`.
fn map<T: Copy>(
    socket: &OwnedFd,
    at: &libc::xdp_ring_offset,
    size: u32,
    page: u64,
) -> io::Result<Ring<T>> {
    let len = at.desc as usize + size as usize * size_of::<T>();
    let memory = Mapping::ring(socket, len, page as libc::off_t)?;
    Ok(Ring::new(memory, at, size))
}

/// The end that user space writes: fill and transmit rings.
#[derive(Debug)]
pub(crate) struct Producer<T> {
    ring: Ring<T>,
    written: u32,
    seen_consumer: u32,
}

impl<T: Copy> Producer<T> {
    pub(crate) fn map(
        socket: &OwnedFd,
        at: &libc::xdp_ring_offset,
        size: u32,
        page: u64,
    ) -> io::Result<Self> {
        map(socket, at, size, page).map(Self::over)
    }

    fn over(ring: Ring<T>) -> Self {
        Producer {
            written: 0,
            seen_consumer: 0,
            ring,
        }
    }

    /// Goes on where another process has stopped.
    pub(crate) fn go_on(&mut self) {
        self.written = self.ring.producer().load(Ordering::Acquire);
        self.seen_consumer = self.ring.consumer().load(Ordering::Acquire);
    }

    /// True if `wanted` entries can be pushed.
    pub(crate) fn has_room(&mut self, wanted: u32) -> bool {
        if self.ring.size - self.written.wrapping_sub(self.seen_consumer) < wanted {
            self.seen_consumer = self.ring.consumer().load(Ordering::Acquire);
        }
        self.ring.size - self.written.wrapping_sub(self.seen_consumer) >= wanted
    }

    /// Entries that the other end has not taken.
    pub(crate) fn pending(&mut self) -> u32 {
        self.seen_consumer = self.ring.consumer().load(Ordering::Acquire);
        self.written.wrapping_sub(self.seen_consumer)
    }

    /// Writes an entry, not visible before [`Producer::submit`]. There must be room.
    pub(crate) fn push(&mut self, entry: T) {
        debug_assert!(self.written.wrapping_sub(self.seen_consumer) < self.ring.size);
        // SAFETY: the place is valid, and with room in the ring it is not the consumer's.
        unsafe { self.ring.entry(self.written).write(entry) };
        self.written = self.written.wrapping_add(1);
    }

    /// Shows the pushed entries to the other end.
    pub(crate) fn submit(&mut self) {
        self.ring.producer().store(self.written, Ordering::Release);
    }

    /// The kernel wants a system call before it looks at the ring.
    pub(crate) fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

/// The end that user space reads: receive and completion rings.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    ring: Ring<T>,
    read: u32,
}

impl<T: Copy> Consumer<T> {
    pub(crate) fn map(
        socket: &OwnedFd,
        at: &libc::xdp_ring_offset,
        size: u32,
        page: u64,
    ) -> io::Result<Self> {
        let ring = map(socket, at, size, page)?;
        Ok(Consumer { read: 0, ring })
    }

    /// Goes on where another process has stopped.
    pub(crate) fn go_on(&mut self) {
        self.read = self.ring.consumer().load(Ordering::Acquire);
    }

    /// Entries that can be read.
    pub(crate) fn available(&self) -> u32 {
        let produced = self.ring.producer().load(Ordering::Acquire);
        produced.wrapping_sub(self.read)
    }

    /// The entry `ahead` of the first one; `ahead` must be below [`Consumer::available`].
    pub(crate) fn peek(&self, ahead: u32) -> T {
        debug_assert!(ahead < self.available());
        // SAFETY: the place is valid, and the producer has published it and will not touch it
        // before it is released.
        unsafe { self.ring.entry(self.read.wrapping_add(ahead)).read() }
    }

    /// Gives the first `count` entries back to the producer.
    pub(crate) fn release(&mut self, count: u32) {
        self.read = self.read.wrapping_add(count);
        self.ring.consumer().store(self.read, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: libc::xdp_ring_offset = libc::xdp_ring_offset {
        producer: 0,
        consumer: 64,
        flags: 128,
        desc: 192,
    };

    fn ring(size: u32, first: u32) -> Ring<u64> {
        let (memory, _) = Mapping::file(192 + size as usize * 8).expect("memory");
        let ring = Ring::new(memory, &AT, size);
        ring.producer().store(first, Ordering::Relaxed);
        ring.consumer().store(first, Ordering::Relaxed);
        ring
    }

    fn producer(size: u32, first: u32) -> Producer<u64> {
        let mut p = Producer::over(ring(size, first));
        p.written = first;
        p.seen_consumer = first;
        p
    }

    #[test]
    fn a_full_ring_has_no_room_until_the_consumer_moves() {
        let mut p = producer(4, 0);
        for i in 0..4 {
            assert!(p.has_room(1));
            p.push(i);
        }
        assert!(!p.has_room(1));
        assert_eq!(p.ring.producer().load(Ordering::Relaxed), 0);
        p.submit();
        assert_eq!(p.ring.producer().load(Ordering::Relaxed), 4);
        assert_eq!(p.pending(), 4);
        p.ring.consumer().store(3, Ordering::Relaxed);
        assert!(p.has_room(3));
        assert!(!p.has_room(4));
        assert_eq!(p.pending(), 1);
    }

    #[test]
    fn indices_wrap() {
        let first = u32::MAX - 1;
        let mut p = producer(4, first);
        for i in 10..14 {
            assert!(p.has_room(1));
            p.push(i);
        }
        assert!(!p.has_room(1));
        p.submit();
        let mut c = Consumer {
            read: first,
            ring: p.ring,
        };
        assert_eq!(c.available(), 4);
        assert_eq!(
            (0..4).map(|i| c.peek(i)).collect::<Vec<_>>(),
            [10, 11, 12, 13]
        );
        c.release(3);
        assert_eq!(c.available(), 1);
        assert_eq!(c.peek(0), 13);
        assert_eq!(c.ring.consumer().load(Ordering::Relaxed), 1);
    }
}
