//! One transfer as both of its ends and those who wait for it know it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Which way the data of a transfer go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the inside to the outside: what the box governs.
    Down,
    /// From the outside to the inside.
    Up,
}

/// How a transfer ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Every byte arrived as it was sent, and both ends know; after this time.
    Complete(Duration),
    Failed(String),
}

/// A connection that the outside opens, and that carries data one way.
pub struct Transfer {
    pub number: u64,
    pub way: Way,
    /// Size; none: until [`Transfer::suffice`].
    bytes: Option<u64>,
    began: Instant,
    enough: AtomicBool,
    /// What its sender has handed to the kernel.
    sent: AtomicU64,
    received: AtomicU64,
    /// When the connection stood, and when the last bytes came, µs since it began; 0: not yet.
    connected_us: AtomicU64,
    last_us: AtomicU64,
    stall_us: AtomicU64,
    /// The outside's port; 0: not yet.
    port: AtomicU16,
    end: Mutex<Option<End>>,
}

impl Transfer {
    pub fn new(number: u64, way: Way, bytes: Option<u64>) -> Transfer {
        Transfer {
            number,
            way,
            bytes,
            began: Instant::now(),
            enough: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            connected_us: AtomicU64::new(0),
            last_us: AtomicU64::new(0),
            stall_us: AtomicU64::new(0),
            port: AtomicU16::new(0),
            end: Mutex::new(None),
        }
    }

    /// It has a size, and ends by itself.
    pub fn is_sized(&self) -> bool {
        self.bytes.is_some()
    }

    /// A transfer without a size sends no more.
    pub fn suffice(&self) {
        self.enough.store(true, Ordering::Release);
    }

    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// How long after that time it began.
    pub fn begun_after(&self, time: Instant) -> Duration {
        self.began.saturating_duration_since(time)
    }

    /// How long it took to connect; none: it has not.
    pub fn connected_after(&self) -> Option<Duration> {
        let us = self.connected_us.load(Ordering::Acquire);
        (us > 0).then(|| Duration::from_micros(us))
    }

    /// The longest time for which nothing came, since the connection stood; the one that lasts too.
    pub fn longest_stall(&self) -> Duration {
        let recorded = Duration::from_micros(self.stall_us.load(Ordering::Acquire));
        match self.end() {
            Some(_) => recorded,
            None => recorded.max(self.silent_for()),
        }
    }

    /// Forgets the stalls so far.
    pub fn forget_stalls(&self) {
        self.stall_us.store(0, Ordering::Release);
    }

    /// How long nothing has come, or the connection has not stood.
    pub fn silent_for(&self) -> Duration {
        let last = Duration::from_micros(self.last_us.load(Ordering::Acquire));
        self.began.elapsed().saturating_sub(last)
    }

    pub fn end(&self) -> Option<End> {
        self.end.lock().expect("no panic").clone()
    }

    pub fn port(&self) -> u16 {
        self.port.load(Ordering::Acquire)
    }

    pub(super) fn note_port(&self, port: u16) {
        self.port.store(port, Ordering::Release);
    }

    fn now_us(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    pub(super) fn note_connected(&self) {
        let now = self.now_us();
        self.connected_us.store(now.max(1), Ordering::Release);
        self.last_us.store(now, Ordering::Release);
    }

    pub(super) fn note_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    pub(super) fn note_received(&self, bytes: usize) {
        let now = self.now_us();
        let last = self.last_us.swap(now, Ordering::AcqRel);
        self.stall_us
            .fetch_max(now.saturating_sub(last), Ordering::AcqRel);
        self.received.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// What its sender may still send; none: as much as it likes.
    pub(super) fn left_to_send(&self) -> Option<u64> {
        let sent = self.sent.load(Ordering::Acquire);
        match self.bytes {
            Some(bytes) => Some(bytes - sent),
            None if self.enough.load(Ordering::Acquire) => Some(0),
            None => None,
        }
    }

    /// Whether all of it has come, when nothing more comes.
    pub(super) fn is_whole(&self) -> bool {
        self.left_to_send() == Some(0) && self.received() == self.sent.load(Ordering::Acquire)
    }

    /// How far it is, and what it waited for, in words.
    pub fn so_far(&self) -> String {
        let (way, number, port) = (self.way, self.number, self.port());
        let sent = self.sent.load(Ordering::Acquire);
        let received = self.received();
        let (connected, silent) = (self.connected_after(), self.longest_stall());
        let end = match self.end() {
            Some(End::Complete(took)) => format!("complete after {took:.1?}"),
            Some(End::Failed(why)) => why,
            None => "goes on".to_owned(),
        };
        format!(
            "{way:?} {number} (port {port}) {end}: {received} of {sent} bytes, connected after \
             {connected:.1?}, silent for {silent:.1?}"
        )
    }

    /// The first end counts.
    pub(super) fn conclude(&self, failure: Option<String>) {
        let mut end = self.end.lock().expect("no panic");
        end.get_or_insert_with(|| match failure {
            None => End::Complete(self.began.elapsed()),
            Some(why) => {
                let (received, silent) = (self.received(), self.silent_for());
                End::Failed(format!(
                    "{:?} {}: {why} ({received} bytes, silent for {silent:.1?})",
                    self.way, self.number
                ))
            }
        });
    }
}
