//! Which frames are the same but for what a box may change.

use std::hash::{DefaultHasher, Hasher};

use windlass_wire::{Flags, PeerOption, Segment, parse, remove_option};

/// Kind and length of the SACK-permitted option, and the NOPs before it where the box puts it in.
const INSERTED: [u8; 4] = [1, 1, 4, 2];

/// What frames are told apart by.
pub type Digest = u64;

pub fn digest(bytes: &[u8]) -> Digest {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// A frame without what a box may change, up to the end of its payload.
pub fn plain(segment: &Segment, frame: &[u8]) -> Digest {
    let at = &segment.at;
    let tcp = usize::from(at.tcp);
    let end = usize::from(at.payload) + segment.payload_len as usize;
    let mut plain = frame[..end.min(frame.len())].to_vec();
    clear_ecn(segment, &mut plain);
    plain[tcp + 8..tcp + 12].fill(0);
    plain[tcp + 13] &= !((Flags::ECE.0 | Flags::CWR.0) as u8);
    plain[tcp + 14..tcp + 18].fill(0);
    if at.timestamps != 0 {
        let stamps = usize::from(at.timestamps);
        plain[stamps..stamps + 8].fill(0);
    }
    if at.sack != 0 {
        let sack = usize::from(at.sack);
        let len = usize::from(frame[sack + 1]);
        plain[sack..sack + len].fill(1);
    }
    digest(&plain)
}

/// A frame without its window.
pub fn windowless(segment: &Segment, frame: &[u8]) -> Digest {
    let tcp = usize::from(segment.at.tcp);
    let mut without = frame.to_vec();
    clear_ecn(segment, &mut without);
    without[tcp + 14..tcp + 18].fill(0);
    digest(&without)
}

/// Whether a frame is a box's report to another, and nothing else.
pub fn is_report(frame: &[u8]) -> bool {
    let segment = parse(frame, frame.len() as u32);
    let said = segment.ok().and_then(|s| PeerOption::read(frame, &s));
    matches!(said, Some(PeerOption::ReportAlone(_)))
}

/// Clears ECN, and the checksum over it.
pub fn clear_ecn(segment: &Segment, frame: &mut [u8]) {
    let ip = usize::from(segment.at.ip);
    match segment.at.v6 {
        true => frame[ip + 1] &= 0xcf,
        false => {
            frame[ip + 1] &= 0xfc;
            frame[ip + 10..ip + 12].fill(0);
        }
    }
}

/// The same without what a box says to another that is not there any more.
pub fn without_peers_words(frame: &[u8]) -> Option<Vec<u8>> {
    let len = frame.len();
    let segment = parse(frame, len as u32).ok()?;
    let (_, said_len) = PeerOption::read(frame, &segment)?.bytes();
    let mut shorter = frame.to_vec();
    let at = usize::from(segment.at.peer);
    let len = remove_option(&mut shorter, len, &segment, at, said_len)?;
    shorter.truncate(len);
    Some(shorter)
}

/// The same as it was before SACK was offered in its name.
pub fn without_inserted(segment: &Segment, frame: &[u8]) -> Option<Digest> {
    if !segment.options.sack_permitted || !segment.flags.has(Flags::SYN) {
        return None;
    }
    let options = usize::from(segment.at.tcp) + 20..usize::from(segment.at.payload);
    let place = frame[options.clone()]
        .windows(4)
        .position(|part| part == INSERTED)?;
    let (at, len) = (options.start + place, frame.len());
    let mut shorter = frame.to_vec();
    let len = remove_option(&mut shorter, len, segment, at, 4)?;
    shorter.truncate(len);
    let segment = parse(&shorter, len as u32).ok()?;
    Some(plain(&segment, &shorter))
}
