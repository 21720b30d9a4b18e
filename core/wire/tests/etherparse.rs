//! Agreement with an independent implementation.

mod specs;

use etherparse::{
    NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice,
};
use proptest::prelude::*;
use windlass_wire::{
    Addr, Flags, FrameSpec, OptionWriter, SackBlocks, Segment, TcpOptions, Timestamps, parse,
    verify_tcp,
};

fn tcp_of<'a>(packet: &SlicedPacket<'a>) -> TcpSlice<'a> {
    match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => tcp.clone(),
        other => panic!("not TCP: {other:?}"),
    }
}

fn flags_of(tcp: &TcpSlice<'_>) -> Flags {
    let bits = [
        tcp.fin(),
        tcp.syn(),
        tcp.rst(),
        tcp.psh(),
        tcp.ack(),
        tcp.urg(),
        tcp.ece(),
        tcp.cwr(),
        tcp.ns(),
    ];
    let bit = |(i, &set): (usize, &bool)| u16::from(set) << i;
    Flags(bits.iter().enumerate().map(bit).sum())
}

fn options_of(tcp: &TcpSlice<'_>) -> TcpOptions {
    let mut options = TcpOptions::default();
    for option in tcp.options_iterator() {
        match option.expect("built options are valid") {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                let blocks = std::iter::once(first).chain(rest.into_iter().flatten());
                let mut sack = SackBlocks::default();
                for block in blocks {
                    sack.blocks[usize::from(sack.count)] = block;
                    sack.count += 1;
                }
                options.sack = sack;
            }
            TcpOptionElement::Timestamp(val, ecr) => {
                options.timestamps = Some(Timestamps { val, ecr });
            }
        }
    }
    options
}

/// Checks that `frame` says what `seg` does, and that its checksums are right.
fn assert_agrees(frame: &[u8], seg: &Segment) {
    let packet = SlicedPacket::from_ethernet(frame).expect("a valid packet");
    let tcp = tcp_of(&packet);
    let (src, dst, ecn, sum): (Addr, Addr, u8, u16) = match packet.net.as_ref().unwrap() {
        NetSlice::Ipv4(v4) => {
            let h = v4.header();
            assert_eq!(h.header_checksum(), h.to_header().calc_header_checksum());
            let sum = tcp.calc_checksum_ipv4(h.source(), h.destination()).unwrap();
            (
                h.source_addr().into(),
                h.destination_addr().into(),
                h.ecn().value(),
                sum,
            )
        }
        NetSlice::Ipv6(v6) => {
            let h = v6.header();
            let sum = tcp.calc_checksum_ipv6(h.source(), h.destination()).unwrap();
            let ecn = h.traffic_class() & 3;
            (
                h.source_addr().into(),
                h.destination_addr().into(),
                ecn,
                sum,
            )
        }
        NetSlice::Arp(_) => panic!("ARP"),
    };
    assert_eq!((src, dst, ecn), (seg.key.src, seg.key.dst, seg.ecn as u8));
    assert_eq!(tcp.checksum(), sum);
    assert!(verify_tcp(frame, seg));
    let vlans: Vec<u16> = packet.vlan_ids().iter().map(|id| id.value()).collect();
    let want: Vec<u16> = [seg.key.vlan, seg.key.inner_vlan]
        .into_iter()
        .filter(|&v| v != 0)
        .collect();
    assert_eq!(vlans, want);
    assert_eq!(
        (tcp.source_port(), tcp.destination_port()),
        (seg.key.src_port, seg.key.dst_port)
    );
    assert_eq!(
        (tcp.sequence_number(), tcp.acknowledgment_number()),
        (seg.seq, seg.ack)
    );
    assert_eq!((tcp.window_size(), flags_of(&tcp)), (seg.window, seg.flags));
    assert_eq!(options_of(&tcp), seg.options);
    assert_eq!(tcp.payload(), &frame[usize::from(seg.at.payload)..]);
    assert_eq!(tcp.payload().len(), seg.payload_len as usize);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn built_frames_read_the_same(spec in specs::spec()) {
        let frame = spec.build();
        let seg = parse(&frame, frame.len() as u32).unwrap();
        assert_agrees(&frame, &seg);
        prop_assert_eq!(seg.key, spec.key);
        prop_assert_eq!((seg.seq, seg.ack, seg.flags), (spec.seq, spec.ack, spec.flags));
        prop_assert_eq!((seg.window, seg.ecn), (spec.window, spec.ecn));
        prop_assert_eq!(&frame[usize::from(seg.at.payload)..], &spec.payload[..]);
    }

    #[test]
    fn their_frames_read_the_same(
        v4 in any::<bool>(),
        ids in any::<(u16, u32, u16, u8)>(),
        payload in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let (port, seq, window, ttl) = ids;
        let link = PacketBuilder::ethernet2([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]);
        let ip = if v4 {
            link.ipv4([10, 1, 2, 3], [10, 3, 2, 1], ttl)
        } else {
            link.ipv6([0x20; 16], [0xfd; 16], ttl)
        };
        let options = [
            TcpOptionElement::MaximumSegmentSize(1400),
            TcpOptionElement::WindowScale(9),
            TcpOptionElement::Timestamp(seq, 7),
        ];
        let tcp = ip.tcp(port, 80, seq, window).syn().ack(99).options(&options).unwrap();
        let mut frame = Vec::new();
        tcp.write(&mut frame, &payload).unwrap();
        let seg = parse(&frame, frame.len() as u32).unwrap();
        assert_agrees(&frame, &seg);
    }
}

#[test]
fn the_largest_gso_packets_are_legal() {
    let options: Vec<u8> = OptionWriter::new()
        .nop()
        .nop()
        .timestamps(Timestamps::default())
        .into();
    for key in [FrameSpec::default().key, v6_key()] {
        let spec = FrameSpec {
            key,
            options: options.clone(),
            payload: vec![0x5a; 70_000],
            ..FrameSpec::default()
        };
        let frame = spec.build();
        let seg = parse(&frame[..128], frame.len() as u32).unwrap();
        assert_eq!(
            seg.payload_len,
            65_535 - 32 - if seg.at.v6 { 0 } else { 20 }
        );
        assert_agrees(&frame, &parse(&frame, frame.len() as u32).unwrap());
    }
}

fn v6_key() -> windlass_wire::FlowKey {
    windlass_wire::FlowKey {
        src: Addr(0x2001_0db8 << 96 | 1),
        dst: Addr(0x2001_0db8 << 96 | 2),
        ..FrameSpec::default().key
    }
}
