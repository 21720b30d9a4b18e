//! Rewriting header fields in place.

use crate::checksum::{self, TCP_CHECKSUM, word};
use crate::{ChecksumState, Ecn, Flags, Layout, Segment, Timestamps, options};

/// Rewrites fields of one segment in place with incremental checksums (RFC 1624). A wrong checksum
/// stays as wrong as it was; a partial one covers none of these fields and is left alone. Lengths
/// and places never change, so the [`Segment`]'s layout holds afterwards.
pub struct Editor<'a> {
    head: &'a mut [u8],
    at: Layout,
    full: bool,
}

impl<'a> Editor<'a> {
    /// `seg` is what [`crate::parse`] made of this `head`. Fields that a shorter `head` does not
    /// have are silently not written.
    #[inline]
    pub fn new(head: &'a mut [u8], seg: &Segment) -> Self {
        Editor {
            head,
            at: seg.at,
            full: seg.checksum == ChecksumState::Full,
        }
    }

    /// Window field, unscaled.
    #[inline]
    pub fn set_window(&mut self, window: u16) {
        self.set_word(14, window);
    }

    /// Acknowledgement number.
    #[inline]
    pub fn set_ack(&mut self, ack: u32) {
        self.set_word(8, (ack >> 16) as u16);
        self.set_word(10, ack as u16);
    }

    /// All nine flags. Data offset and the remaining reserved bits are kept.
    #[inline]
    pub fn set_flags(&mut self, flags: Flags) {
        let at = usize::from(self.at.tcp) + 12;
        if let Some(old) = word(self.head, at) {
            self.set_word(12, old & 0xfe00 | flags.0 & 0x1ff);
        }
    }

    /// Both values of the timestamps option; nothing if there is none.
    pub fn set_timestamps(&mut self, ts: Timestamps) {
        if self.at.timestamps != 0 {
            let mut new = [0; 8];
            new[..4].copy_from_slice(&ts.val.to_be_bytes());
            new[4..].copy_from_slice(&ts.ecr.to_be_bytes());
            self.overwrite(usize::from(self.at.timestamps), &new);
        }
    }

    /// The ECN field of the IP header, and with it the IPv4 header checksum.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        let ip = usize::from(self.at.ip);
        let Some(old) = word(self.head, ip) else {
            return;
        };
        if self.at.v6 {
            self.store(ip, old & !0x0030 | u16::from(ecn.bits()) << 4);
            return;
        }
        let new = old & !0x0003 | u16::from(ecn.bits());
        if let Some(sum) = word(self.head, ip + 10) {
            self.store(ip, new);
            self.store(ip + 10, checksum::adjust(sum, old, new));
        }
    }

    /// Overwrites the whole SACK option with NOPs.
    pub fn blank_sack(&mut self) {
        if let Some((at, len)) = self.sack() {
            self.overwrite(at, &[options::NOP; options::OPTIONS_MAX_BYTES][..len]);
        }
    }

    /// Makes the SACK option hold only this block, with NOPs for the rest of its length. False if
    /// there is no SACK option.
    pub fn keep_sack(&mut self, block: (u32, u32)) -> bool {
        let Some((at, len)) = self.sack() else {
            return false;
        };
        let mut new = [options::NOP; options::OPTIONS_MAX_BYTES];
        new[..2].copy_from_slice(&[options::SACK, 10]);
        new[2..6].copy_from_slice(&block.0.to_be_bytes());
        new[6..10].copy_from_slice(&block.1.to_be_bytes());
        self.overwrite(at, &new[..len]);
        true
    }

    /// The value of the maximum segment size option. False if there is none.
    pub fn set_mss(&mut self, mss: u16) -> bool {
        let start = usize::from(self.at.tcp) + 20;
        let Some(bytes) = self.head.get(start..usize::from(self.at.payload)) else {
            return false;
        };
        let found = options::walk(bytes).find(|&(at, len)| bytes[at] == options::MSS && len == 4);
        if let Some((at, _)) = found {
            self.overwrite(start + at + 2, &mss.to_be_bytes());
        }
        found.is_some()
    }

    /// Place and length of the SACK option, unless it has been blanked.
    fn sack(&self) -> Option<(usize, usize)> {
        let at = usize::from(self.at.sack);
        let option = self.head.get(at..usize::from(self.at.payload))?;
        let &[options::SACK, len, ..] = option else {
            return None;
        };
        let len = usize::from(len);
        (at != 0 && (10..=34).contains(&len) && len <= option.len()).then_some((at, len))
    }

    /// Stores a word of the TCP header at an even offset, and its checksum.
    #[inline]
    fn set_word(&mut self, offset: usize, new: u16) {
        let tcp = usize::from(self.at.tcp);
        let Some(header) = self
            .head
            .get_mut(tcp..)
            .and_then(<[u8]>::first_chunk_mut::<20>)
        else {
            return;
        };
        let old = u16::from_be_bytes([header[offset], header[offset + 1]]);
        header[offset..offset + 2].copy_from_slice(&new.to_be_bytes());
        if self.full {
            let sum = u16::from_be_bytes([header[TCP_CHECKSUM], header[TCP_CHECKSUM + 1]]);
            let sum = checksum::adjust(sum, old, new);
            header[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// Stores bytes of TCP options anywhere, and the TCP checksum.
    fn overwrite(&mut self, at: usize, new: &[u8]) {
        let Some(place) = self.head.get_mut(at..at + new.len()) else {
            return;
        };
        let mut sums = [checksum::sum(place), checksum::sum(new)];
        place.copy_from_slice(new);
        let tcp = usize::from(self.at.tcp);
        if (at ^ tcp) & 1 == 1 {
            sums = sums.map(u16::swap_bytes);
        }
        if self.full
            && let Some(sum) = word(self.head, tcp + TCP_CHECKSUM)
        {
            let [old, new] = sums;
            self.store(tcp + TCP_CHECKSUM, checksum::adjust(sum, old, new));
        }
    }

    #[inline]
    fn store(&mut self, at: usize, value: u16) {
        if let Some(place) = self.head.get_mut(at..at + 2) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}
