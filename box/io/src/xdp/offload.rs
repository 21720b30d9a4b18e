//! Who completes the checksum of a packet: the kernel, asked with tx metadata
//! (Documentation/networking/xsk-tx-metadata.rst), or we.

use windlass_engine::{Pkt, Pool, Tx, TxChecksum};

use super::frames::{Frames, Part};
use super::socket::TX_METADATA_BYTES;
use crate::checksum::Sum;

/// The packet to transmit (a copy where completing the checksum would change bytes that others
/// hold) and the options of its first descriptor; `None` when memory is out. `metadata`: the kernel
/// completes checksums.
pub(super) fn prepare_checksum(frames: &mut Frames, tx: Tx, metadata: bool) -> Option<(Pkt, u32)> {
    let TxChecksum::Partial { start, offset } = tx.checksum else {
        return Some((tx.pkt, 0));
    };
    let end = usize::from(start) + usize::from(offset) + 2;
    if end > frames.head(tx.pkt).len() {
        return Some((tx.pkt, 0));
    }
    if metadata && frames.headroom(tx.pkt) >= TX_METADATA_BYTES {
        write_metadata(frames, tx.pkt, start, offset);
        return Some((tx.pkt, libc::XDP_TX_METADATA));
    }
    let pkt = if frames.is_sole_reference(tx.pkt) {
        tx.pkt
    } else {
        let copy = frames.copy(tx.pkt)?;
        frames.free(tx.pkt);
        copy
    };
    complete(frames, pkt, usize::from(start), usize::from(offset));
    Some((pkt, 0))
}

/// `struct xsk_tx_metadata`, asking for a checksum, in front of the packet.
fn write_metadata(frames: &mut Frames, pkt: Pkt, start: u16, offset: u16) {
    let Some(first) = frames.parts(pkt).next() else {
        return;
    };
    let metadata = frames.bytes_mut(Part {
        addr: first.addr - u64::from(TX_METADATA_BYTES),
        len: TX_METADATA_BYTES,
    });
    metadata.fill(0);
    metadata[..8].copy_from_slice(&u64::from(libc::XDP_TXMD_FLAGS_CHECKSUM).to_ne_bytes());
    metadata[8..10].copy_from_slice(&start.to_ne_bytes());
    metadata[10..12].copy_from_slice(&offset.to_ne_bytes());
}

/// Sums the packet from `start` to its end and stores the checksum.
fn complete(frames: &mut Frames, pkt: Pkt, start: usize, offset: usize) {
    if frames.parts(pkt).nth(1).is_none() {
        windlass_wire::complete_checksum(frames.head_mut(pkt), start, offset);
        return;
    }
    let mut sum = Sum::default();
    for (i, part) in frames.parts(pkt).enumerate() {
        let bytes = frames.bytes(part);
        sum.add(if i == 0 { &bytes[start..] } else { bytes });
    }
    let field = start + offset;
    frames.head_mut(pkt)[field..field + 2].copy_from_slice(&sum.finish().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_checksum_over_a_chain_is_completed() {
        let mut frames = Frames::new(32, 2048, 7).expect("memory");
        let parts: Vec<Part> = [99, 101]
            .map(|len| Part {
                addr: frames.lend().expect("free") + 256,
                len,
            })
            .into();
        let pkt = frames.adopt(parts.iter().copied()).expect("parts");
        for part in &parts {
            frames.bytes_mut(*part).fill(0x5a);
        }
        frames.head_mut(pkt)[50..52].copy_from_slice(&0x1234u16.to_be_bytes());
        complete(&mut frames, pkt, 34, 16);
        // Everything from `start`, the checksum included, now sums to the complement of what the
        // field held: the receiver, who adds the same pseudo-header, gets 0xffff.
        let mut flat: Vec<u8> = frames.bytes(parts[0]).to_vec();
        flat.extend(frames.bytes(parts[1]));
        let mut sum = Sum::default();
        sum.add(&flat[34..]);
        sum.add(&0x1234u16.to_be_bytes());
        assert_eq!(
            sum.finish(),
            0xffff,
            "the complement of 0xffff, sent as 0xffff"
        );
    }

    #[test]
    fn metadata_stands_right_before_the_packet() {
        let mut frames = Frames::new(32, 2048, 7).expect("memory");
        let pkt = frames.alloc(60).expect("free");
        write_metadata(&mut frames, pkt, 34, 16);
        let first = frames.parts(pkt).next().expect("one part");
        let bytes = frames.bytes(Part {
            addr: first.addr - 24,
            len: 24,
        });
        assert_eq!(bytes[..8], 2u64.to_ne_bytes());
        assert_eq!(bytes[8..12], [34, 0, 16, 0].map(|b: u8| b));
        assert!(frames.head(pkt).iter().all(|&b| b == 0));
    }

    #[test]
    fn completing_in_software_changes_no_byte_that_somebody_holds() {
        let mut frames = Frames::new(32, 2048, 7).expect("memory");
        let held = frames.alloc(100).expect("free");
        frames.head_mut(held)[60] = 3;
        let before = frames.head(held).to_vec();
        let checksum = TxChecksum::Partial {
            start: 34,
            offset: 16,
        };
        let to = windlass_engine::Side::Inside;
        let tx = |pkt| Tx {
            pkt,
            to,
            checksum,
            why: windlass_engine::Why::Forwarded,
        };
        let shared = frames.share(held);
        let (sent, options) = prepare_checksum(&mut frames, tx(shared), false).expect("room");
        assert_eq!((options, sent == held), (0, false));
        assert_eq!(frames.head(held), before);
        assert_eq!(frames.head(sent)[50..52], (!0x0300u16).to_be_bytes());
        assert!(frames.is_sole_reference(held) && frames.is_sole_reference(sent));
        let (last, _) = prepare_checksum(&mut frames, tx(held), false).expect("room");
        assert_eq!(last, held, "nobody else has it: completed in place");
        assert_eq!(frames.head(held)[50..52], (!0x0300u16).to_be_bytes());
    }
}
