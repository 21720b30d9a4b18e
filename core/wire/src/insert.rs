//! Making room for another TCP option, and taking one out.

use crate::checksum::{self, TCP_CHECKSUM, word};
use crate::options::{self, OPTIONS_MAX_BYTES};
use crate::{ChecksumState, Segment};

/// Inserts an encoded TCP option, e.g. `[4, 2]`, behind the others, with NOPs before it up to a
/// multiple of four bytes. The packet is one part, `buf[..len]`, and `seg` is what
/// [`crate::parse`] made of it; padding behind the IP packet is dropped. Data offset, IP length, the
/// IPv4 header checksum and the TCP checksum (full or partial) follow. Places change: parse again.
///
/// Returns the new length, or `None`, with nothing changed, if the 40 bytes of options, the IP
/// length or `buf` do not suffice.
pub fn insert_option(buf: &mut [u8], len: usize, seg: &Segment, option: &[u8]) -> Option<usize> {
    let tcp = usize::from(seg.at.tcp);
    let payload = usize::from(seg.at.payload);
    let end = payload + seg.payload_len as usize;
    let added = option.len().next_multiple_of(4);
    let existing = buf.get(tcp + 20..payload)?;
    if end > len || end + added > buf.len() || existing.len() + added > OPTIONS_MAX_BYTES {
        return None;
    }
    // Behind an EOL it would not be read.
    let place = tcp
        + 20
        + options::walk(existing)
            .last()
            .map_or(0, |(at, len)| at + len);
    let lengths = Lengths::read(buf, seg)?;
    let changed = lengths.changed(added as i32)?;
    let mut padded = [options::NOP; OPTIONS_MAX_BYTES];
    padded[added - option.len()..added].copy_from_slice(option);
    let padded = &padded[..added];
    buf.copy_within(place..end, place + added);
    buf[place..place + added].copy_from_slice(padded);
    lengths.write(buf, seg, &changed, (0, sum_at(padded, place - tcp)));
    Some(end + added)
}

/// Takes an option of `option_len` bytes, a multiple of four, out again: `at` is where its kind byte
/// is in the frame. What was there before [`insert_option`] put it in is there again. Places
/// change: parse again.
///
/// Returns the new length, or `None`, with nothing changed, if it is not within the options.
pub fn remove_option(
    buf: &mut [u8],
    len: usize,
    seg: &Segment,
    at: usize,
    option_len: usize,
) -> Option<usize> {
    let tcp = usize::from(seg.at.tcp);
    let payload = usize::from(seg.at.payload);
    let end = payload + seg.payload_len as usize;
    let within = at >= tcp + 20 && at + option_len <= payload && end <= len.min(buf.len());
    if !within || !option_len.is_multiple_of(4) {
        return None;
    }
    let lengths = Lengths::read(buf, seg)?;
    let changed = lengths.changed(-(option_len as i32))?;
    let sum = sum_at(buf.get(at..at + option_len)?, at - tcp);
    buf.copy_within(at + option_len..end, at);
    lengths.write(buf, seg, &changed, (sum, 0));
    Some(end - option_len)
}

/// The sum of bytes that begin so far into the TCP header.
fn sum_at(bytes: &[u8], offset: usize) -> u16 {
    match offset % 2 {
        0 => checksum::sum(bytes),
        _ => checksum::sum(bytes).swap_bytes(),
    }
}

/// The fields that depend on how long the options are.
#[derive(Clone, Copy)]
struct Lengths {
    ip_len: u16,
    /// The word with the data offset.
    offset: u16,
    /// TCP header and payload.
    tcp_len: u16,
}

impl Lengths {
    fn read(buf: &[u8], seg: &Segment) -> Option<Lengths> {
        let header_len = seg.at.payload.wrapping_sub(seg.at.tcp);
        Some(Lengths {
            ip_len: word(buf, Lengths::ip_len_at(seg))?,
            offset: word(buf, usize::from(seg.at.tcp) + 12)?,
            tcp_len: header_len.wrapping_add(seg.payload_len as u16),
        })
    }

    fn ip_len_at(seg: &Segment) -> usize {
        usize::from(seg.at.ip) + if seg.at.v6 { 4 } else { 2 }
    }

    /// With so many bytes of options more, a multiple of four.
    fn changed(&self, by: i32) -> Option<Lengths> {
        Some(Lengths {
            ip_len: u16::try_from(i32::from(self.ip_len) + by).ok()?,
            offset: u16::try_from(i32::from(self.offset) + (by / 4) * (1 << 12)).ok()?,
            tcp_len: (i32::from(self.tcp_len) + by) as u16,
        })
    }

    /// Writes the new lengths, and the checksums of them and of options whose sum was and is now as
    /// `options` says. What was moved has kept its parity.
    fn write(self, buf: &mut [u8], seg: &Segment, new: &Lengths, options: (u16, u16)) {
        let (ip, tcp) = (usize::from(seg.at.ip), usize::from(seg.at.tcp));
        store(buf, Lengths::ip_len_at(seg), new.ip_len);
        store(buf, tcp + 12, new.offset);
        if let Some(sum) = word(buf, ip + 10).filter(|_| !seg.at.v6) {
            store(buf, ip + 10, checksum::adjust(sum, self.ip_len, new.ip_len));
        }
        let Some(sum) = word(buf, tcp + TCP_CHECKSUM) else {
            return;
        };
        let sum = match seg.checksum {
            // Not complemented, and over the pseudo-header alone.
            ChecksumState::Partial => !checksum::adjust(!sum, self.tcp_len, new.tcp_len),
            ChecksumState::Full => {
                let sum = checksum::adjust(sum, self.tcp_len, new.tcp_len);
                let sum = checksum::adjust(sum, self.offset, new.offset);
                checksum::adjust(sum, options.0, options.1)
            }
        };
        store(buf, tcp + TCP_CHECKSUM, sum);
    }
}

fn store(buf: &mut [u8], at: usize, value: u16) {
    if let Some(place) = buf.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}
