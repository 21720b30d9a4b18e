//! Making room for another TCP option.

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
    let (ip, tcp) = (usize::from(seg.at.ip), usize::from(seg.at.tcp));
    let payload = usize::from(seg.at.payload);
    let end = payload + seg.payload_len as usize;
    let added = option.len().next_multiple_of(4);
    let existing = buf.get(tcp + 20..payload)?;
    if end > len || end + added > buf.len() || existing.len() + added > OPTIONS_MAX_BYTES {
        return None;
    }
    let ip_len_at = ip + if seg.at.v6 { 4 } else { 2 };
    let old_ip_len = word(buf, ip_len_at)?;
    let new_ip_len = old_ip_len.checked_add(added as u16)?;
    let ip_sum = word(buf, ip + 10)?;
    let old_offset = word(buf, tcp + 12)?;
    let new_offset = old_offset.checked_add((added as u16 / 4) << 12)?;
    let tcp_sum = word(buf, tcp + TCP_CHECKSUM)?;

    // Behind an EOL it would not be read.
    let place = tcp
        + 20
        + options::walk(existing)
            .last()
            .map_or(0, |(at, len)| at + len);
    let mut padded = [options::NOP; OPTIONS_MAX_BYTES];
    padded[added - option.len()..added].copy_from_slice(option);
    let padded = &padded[..added];
    buf.copy_within(place..end, place + added);
    buf[place..place + added].copy_from_slice(padded);

    store(buf, ip_len_at, new_ip_len);
    store(buf, tcp + 12, new_offset);
    if !seg.at.v6 {
        store(
            buf,
            ip + 10,
            checksum::adjust(ip_sum, old_ip_len, new_ip_len),
        );
    }
    let lengths = ((end - tcp) as u16, (end - tcp + added) as u16);
    let tcp_sum = match seg.checksum {
        // Not complemented, and over the pseudo-header alone.
        ChecksumState::Partial => !checksum::adjust(!tcp_sum, lengths.0, lengths.1),
        ChecksumState::Full => {
            let sum = checksum::adjust(tcp_sum, lengths.0, lengths.1);
            let sum = checksum::adjust(sum, old_offset, new_offset);
            // What was moved has kept its parity, `added` being even.
            let option_sum = match (place - tcp) % 2 {
                0 => checksum::sum(padded),
                _ => checksum::sum(padded).swap_bytes(),
            };
            checksum::adjust(sum, 0, option_sum)
        }
    };
    store(buf, tcp + TCP_CHECKSUM, tcp_sum);
    Some(end + added)
}

fn store(buf: &mut [u8], at: usize, value: u16) {
    if let Some(place) = buf.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}
