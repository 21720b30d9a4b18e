//! Full and partial checksums of whole frames.

use etherparse::PacketBuilder;
use windlass_wire::{
    Addr, ChecksumState, Editor, Flags, FlowKey, FrameSpec, complete_checksum, parse,
    partial_checksum, verify_ip, verify_tcp, verify_tcp_parts,
};

/// However a frame is cut into parts, its checksum is right or wrong all the same.
#[test]
fn parts_are_summed_as_one() {
    for spec in specs() {
        let mut frame = spec.build();
        for damaged in [false, true] {
            let last = frame.len() - 1;
            frame[last] ^= u8::from(damaged);
            let seg = parse(&frame, frame.len() as u32).expect("a segment");
            for first in 0..frame.len() {
                let (head, rest) = frame.split_at(first);
                let (middle, tail) = rest.split_at(rest.len() / 3);
                let parts = [head, middle, tail].into_iter();
                assert_eq!(verify_tcp_parts(parts, &seg), !damaged, "cut at {first}");
            }
            let short = std::iter::once(&frame[..last]);
            assert!(!verify_tcp_parts(short, &seg), "a byte is missing");
        }
    }
}

fn specs() -> [FrameSpec; 3] {
    let plain = FrameSpec {
        payload: (0..=200).collect(),
        ..FrameSpec::default()
    };
    let v6 = FrameSpec {
        key: FlowKey {
            src: Addr(0x2001_0db8 << 96 | 1),
            dst: Addr(0x2001_0db8 << 96 | 2),
            vlan: 9,
            ..plain.key
        },
        ..plain.clone()
    };
    let options = FrameSpec {
        options: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
        flags: Flags::ACK.with(Flags::PSH),
        ..plain.clone()
    };
    [plain, v6, options]
}

#[test]
fn every_bit_of_an_ipv4_header_counts() {
    for spec in specs() {
        let frame = spec.build();
        let seg = parse(&frame, frame.len() as u32).expect("a segment");
        assert!(verify_ip(&frame, &seg));
        for at in usize::from(seg.at.ip)..usize::from(seg.at.tcp) {
            for bit in 0..8 {
                let mut damaged = frame.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(verify_ip(&damaged, &seg), seg.at.v6, "byte {at}, bit {bit}");
            }
        }
        assert!(seg.at.v6 || !verify_ip(&frame[..usize::from(seg.at.tcp) - 1], &seg));
    }
}

#[test]
fn a_wrong_bit_is_noticed_and_stays_wrong() {
    for spec in specs() {
        let mut frame = spec.build();
        let seg = parse(&frame, frame.len() as u32).unwrap();
        assert!(verify_tcp(&frame, &seg));
        *frame.last_mut().unwrap() ^= 1;
        assert!(!verify_tcp(&frame, &seg));
        Editor::new(&mut frame, &seg).set_window(7);
        assert!(!verify_tcp(&frame, &seg));
        assert!(
            !verify_tcp(&frame[..frame.len() - 1], &seg),
            "not all there"
        );
    }
}

#[test]
fn partial_sums_are_told_and_completed() {
    for spec in specs() {
        let mut frame = spec.build_partial();
        let len = frame.len() as u32;
        let seg = parse(&frame, len).unwrap();
        assert_eq!(seg.partial(), Some((seg.at.tcp, 16)));
        assert_eq!(partial_checksum(&frame, len), seg.partial());
        assert!(verify_tcp(&frame, &seg));
        // Also when the payload is elsewhere.
        let head = &frame[..usize::from(seg.at.payload)];
        assert_eq!(parse(head, len), Ok(seg));
        assert_eq!(partial_checksum(head, len), seg.partial());
        complete_checksum(&mut frame, usize::from(seg.at.tcp), 16);
        assert_eq!(frame, spec.build());
        let seg = parse(&frame, len).unwrap();
        assert_eq!((seg.checksum, seg.partial()), (ChecksumState::Full, None));
        assert_eq!(partial_checksum(&frame, len), None);
    }
}

/// The payload is chosen so that the right checksum is the sum of the pseudo-header.
#[test]
fn a_full_checksum_that_looks_partial_is_full() {
    for mut spec in specs() {
        spec.payload = vec![0; 64];
        let looks_partial = spec.build_partial();
        let at = usize::from(
            parse(&looks_partial, looks_partial.len() as u32)
                .unwrap()
                .at
                .tcp,
        );
        let word = |frame: &[u8]| u16::from_be_bytes([frame[at + 16], frame[at + 17]]);
        let (want, have) = (word(&looks_partial), word(&spec.build()));
        // have = !s and want = !(s + payload).
        let payload = (u32::from(have) + u32::from(!want)) as u64 % 0xffff;
        spec.payload[..2].copy_from_slice(&(payload as u16).to_be_bytes());
        let frame = spec.build();
        assert_eq!(word(&frame), want);
        let seg = parse(&frame, frame.len() as u32).unwrap();
        assert_eq!(seg.checksum, ChecksumState::Full);
        assert!(verify_tcp(&frame, &seg));
        // Without the payload the likelier is taken.
        let seg = parse(&frame[..usize::from(seg.at.payload)], frame.len() as u32).unwrap();
        assert_eq!(seg.checksum, ChecksumState::Partial);
    }
}

#[test]
fn partial_sums_of_frames_that_are_not_segments() {
    let spec = FrameSpec {
        options: vec![99, 1, 1, 1],
        ..FrameSpec::default()
    };
    let frame = spec.build_partial();
    assert!(parse(&frame, frame.len() as u32).is_err());
    assert_eq!(partial_checksum(&frame, frame.len() as u32), Some((34, 16)));
    let mut fragment = FrameSpec::default().build_partial();
    fragment[20] = 0x20;
    assert_eq!(partial_checksum(&fragment, fragment.len() as u32), None);
}

#[test]
fn partial_udp() {
    for v4 in [true, false] {
        let link = PacketBuilder::ethernet2([1; 6], [2; 6]);
        let ip = if v4 {
            link.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        } else {
            link.ipv6([0xfd; 16], [0xfe; 16], 64)
        };
        let mut whole = Vec::new();
        ip.udp(5000, 53).write(&mut whole, b"question").unwrap();
        let (len, udp) = (whole.len() as u32, whole.len() - 16);
        assert_eq!(partial_checksum(&whole, len), None);

        // The words of the pseudo-header, added and folded by hand.
        let sum: u32 = if v4 {
            0x0a00 + 1 + 0x0a00 + 2 + 17 + 16
        } else {
            8 * 0xfdfd + 8 * 0xfefe + 17 + 16
        };
        let folded = (sum & 0xffff) + (sum >> 16);
        let mut partial = whole.clone();
        partial[udp + 6..udp + 8].copy_from_slice(&(folded as u16).to_be_bytes());
        assert_eq!(partial_checksum(&partial, len), Some((udp as u16, 6)));
        complete_checksum(&mut partial, udp, 6);
        assert_eq!(partial, whole);

        // No checksum at all.
        let mut without = whole.clone();
        without[udp + 6..udp + 8].fill(0);
        assert_eq!(partial_checksum(&without, len), None);
    }
}

#[test]
fn completion_out_of_range_changes_nothing() {
    let frame = FrameSpec::default().build_partial();
    let mut same = frame.clone();
    complete_checksum(&mut same, frame.len() + 1, 16);
    complete_checksum(&mut same, 34, frame.len());
    complete_checksum(&mut same, 34, 19);
    assert_eq!(same, frame);
}

#[test]
fn completion_never_stores_zero() {
    let mut frame = [0x00, 0x00, 0xff, 0xff, 0x00, 0x00];
    complete_checksum(&mut frame, 0, 4);
    assert_eq!(frame[4..], [0xff, 0xff]);
}
