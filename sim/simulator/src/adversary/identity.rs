//! How a frame is known again that was added somewhere.

use windlass_wire::{Ecn, Editor, parse, remove_option};

/// A digest of a frame.
pub(crate) type Identity = u64;

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Window and checksum in the TCP header (RFC 9293 §3.1).
const WINDOW_AND_CHECKSUM: std::ops::Range<usize> = 14..18;

/// The digest of a frame. One with data goes without its window: a box hides room in what may be a probe. Between two `boxes` it goes
/// without what they and the network may do even to what they do not believe: marks come and go, and what boxes say to each other is
/// taken out.
pub(crate) fn identity(frame: &[u8], boxes: bool) -> Identity {
    let mut frame = match boxes {
        false => frame.to_vec(),
        true => without_boxes(frame),
    };
    if let Ok(segment) = parse(&frame, frame.len() as u32)
        && segment.payload_len > 0
    {
        let tcp = usize::from(segment.at.tcp);
        let window = WINDOW_AND_CHECKSUM.start + tcp..WINDOW_AND_CHECKSUM.end + tcp;
        frame[window].fill(0);
    }
    digest(&frame)
}

fn without_boxes(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let Ok(mut segment) = parse(&frame, frame.len() as u32) else {
        return frame;
    };
    let at = usize::from(segment.at.peer);
    if let Some(count) = frame.get(at + 1).copied().filter(|_| at > 0) {
        let (len, count) = (frame.len(), usize::from(count));
        let shorter = remove_option(&mut frame, len, &segment, at, count);
        frame.truncate(shorter.unwrap_or(len));
        match parse(&frame, frame.len() as u32) {
            Ok(again) => segment = again,
            Err(_) => return frame,
        }
    }
    Editor::new(&mut frame, &segment).set_ecn(Ecn::NotEct);
    frame
}

/// FNV-1a in words: there are many frames.
fn digest(bytes: &[u8]) -> Identity {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words
        .chain(rest)
        .chain([bytes.len() as u64])
        .fold(FNV_OFFSET, |hash, word| {
            (hash ^ word).wrapping_mul(FNV_PRIME).rotate_left(29)
        })
}
