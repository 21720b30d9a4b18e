//! What is understood, and what is refused for which reason.

use windlass_wire::{Addr, Ecn, Flags, FlowKey, FrameSpec, Segment, Timestamps, Unparsed, parse};

fn read(frame: &[u8]) -> Result<Segment, Unparsed> {
    parse(frame, frame.len() as u32)
}

fn v6_key() -> FlowKey {
    FlowKey {
        src: Addr(0x2001_0db8 << 96 | 1),
        dst: Addr(0x2001_0db8 << 96 | 2),
        ..FrameSpec::default().key
    }
}

fn v6_frame() -> Vec<u8> {
    let spec = FrameSpec {
        key: v6_key(),
        payload: b"hello".to_vec(),
        ..FrameSpec::default()
    };
    spec.build()
}

/// An IPv6 frame with these bytes between its IP header and what follows, `first` being their kind.
fn with_extensions(first: u8, extensions: &[u8]) -> Vec<u8> {
    let mut frame = v6_frame();
    frame.splice(54..54, extensions.iter().copied());
    frame[20] = first;
    let len = (frame.len() - 54) as u16;
    frame[18..20].copy_from_slice(&len.to_be_bytes());
    frame
}

#[test]
fn vlan_tags() {
    let tagged = |vlan, inner_vlan| FrameSpec {
        key: FlowKey {
            vlan,
            inner_vlan,
            ..FrameSpec::default().key
        },
        ..FrameSpec::default()
    };
    for (vlan, inner_vlan, ip) in [(0, 0, 14), (5, 0, 18), (4095, 7, 22), (0, 7, 22)] {
        let spec = tagged(vlan, inner_vlan);
        let seg = read(&spec.build()).unwrap();
        assert_eq!((seg.key, seg.at.ip), (spec.key, ip));
    }
    let mut frame = tagged(5, 7).build();
    assert_eq!(
        (frame[12], frame[13], frame[16], frame[17]),
        (0x88, 0xa8, 0x81, 0x00)
    );
    // Priority and drop eligibility are no part of the id.
    frame[14] |= 0xf0;
    assert_eq!(read(&frame).unwrap().key.vlan, 5);
    let third = [0x81, 0x00, 0x00, 0x01];
    frame.splice(12..12, third);
    assert_eq!(read(&frame), Err(Unparsed::NotIp));
}

#[test]
fn not_ip_or_not_tcp() {
    assert_eq!(read(&[]), Err(Unparsed::NotIp));
    assert_eq!(read(&[0; 13]), Err(Unparsed::NotIp));
    let mut arp = FrameSpec::default().build();
    arp[12..14].copy_from_slice(&[0x08, 0x06]);
    assert_eq!(read(&arp), Err(Unparsed::NotIp));
    // UDP, ESP, ICMP, and AH over either IP.
    for protocol in [17, 50, 1, 51] {
        let mut v4 = FrameSpec::default().build();
        v4[23] = protocol;
        assert_eq!(read(&v4), Err(Unparsed::NotTcp));
        let mut v6 = v6_frame();
        v6[20] = protocol;
        assert_eq!(read(&v6), Err(Unparsed::NotTcp));
    }
}

#[test]
fn fragments() {
    let whole = FrameSpec {
        payload: vec![0; 64],
        ..FrameSpec::default()
    }
    .build();
    for (flags, want) in [
        ([0x40, 0x00], None),
        ([0x80, 0x00], None),
        ([0x20, 0x00], Some(Unparsed::Fragment)),
        ([0x00, 0x01], Some(Unparsed::Fragment)),
        ([0x1f, 0xff], Some(Unparsed::Fragment)),
    ] {
        let mut frame = whole.clone();
        frame[20..22].copy_from_slice(&flags);
        assert_eq!(read(&frame).err(), want, "{flags:02x?}");
    }
    // Offset 0 and no more to come: an atomic fragment (RFC 6946).
    let frame = with_extensions(44, &[6, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(read(&frame), Err(Unparsed::Fragment));
    let frame = with_extensions(0, &[44, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 1, 1, 2, 3, 4]);
    assert_eq!(read(&frame), Err(Unparsed::Fragment));
}

#[test]
fn ipv6_extension_headers() {
    let plain = read(&v6_frame()).unwrap();
    assert_eq!(
        (plain.at.v6, plain.payload_len, plain.at.tcp),
        (true, 5, 54)
    );
    let pad = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
    let hop_by_hop_and_options = [pad(60), pad(6)].concat();
    let mut long = vec![6, 1, 1, 12];
    long.resize(16, 0);
    let routed = vec![6, 2, 4, 0, 0, 0, 0, 0];
    let routed = [routed, vec![0; 16]].concat();
    for (first, extensions) in [(0, hop_by_hop_and_options), (60, long), (43, routed)] {
        let seg = read(&with_extensions(first, &extensions)).unwrap();
        assert_eq!((seg.key, seg.payload_len), (plain.key, 5));
        assert_eq!(usize::from(seg.at.tcp), 54 + extensions.len());
    }
}

#[test]
fn ipv6_extension_headers_that_are_refused() {
    let malformed = |first, extensions: &[u8], why| {
        let got = read(&with_extensions(first, extensions));
        assert_eq!(got, Err(Unparsed::Malformed(why)));
    };
    let onward = [&[6, 2, 4, 1, 0, 0, 0, 0][..], &[0; 16]].concat();
    malformed(43, &onward, "routing header with segments left");
    let many = [60, 0, 1, 4, 0, 0, 0, 0].repeat(9);
    malformed(60, &many, "too many IPv6 extension headers");
    let mut large = vec![60, 255, 1, 0];
    large.resize(2048, 0);
    let large = [large, vec![6, 0, 1, 4, 0, 0, 0, 0]].concat();
    malformed(60, &large, "too many IPv6 extension headers");
    malformed(
        60,
        &[6, 40, 0, 0, 0, 0, 0, 0],
        "IPv6 extension header length",
    );
}

#[test]
fn ipv4_options() {
    let mut frame = FrameSpec {
        payload: b"abc".to_vec(),
        ..FrameSpec::default()
    }
    .build();
    frame.splice(34..34, [0x94, 4, 0, 0]);
    frame[14] = 0x46;
    frame[17] += 4;
    let seg = read(&frame).unwrap();
    assert_eq!((seg.at.tcp, seg.at.payload, seg.payload_len), (38, 58, 3));
}

#[test]
fn padding_is_not_payload() {
    let mut frame = FrameSpec {
        payload: b"abc".to_vec(),
        ..FrameSpec::default()
    }
    .build();
    frame.resize(60, 0xff);
    assert_eq!(read(&frame).unwrap().payload_len, 3);
    let mut frame = v6_frame();
    frame.resize(100, 0xff);
    assert_eq!(read(&frame).unwrap().payload_len, 5);
}

#[test]
fn contradicting_lengths() {
    let broken = |at: usize, byte: u8, why| {
        let mut frame = FrameSpec {
            payload: vec![0; 10],
            ..FrameSpec::default()
        }
        .build();
        frame[at] = byte;
        assert_eq!(read(&frame), Err(Unparsed::Malformed(why)));
    };
    broken(14, 0x65, "IPv4 version or header length");
    broken(14, 0x44, "IPv4 version or header length");
    broken(17, 51, "IPv4 total length");
    broken(17, 19, "IPv4 total length");
    // BIG TCP.
    broken(17, 0, "IPv4 total length");
    broken(17, 39, "TCP data offset");
    broken(46, 0x40, "TCP data offset");
    broken(46, 0x80, "TCP data offset");

    let mut frame = v6_frame();
    frame[14] = 0x40;
    assert_eq!(read(&frame), Err(Unparsed::Malformed("IPv6 version")));
    let mut frame = v6_frame();
    frame[19] += 1;
    assert_eq!(
        read(&frame),
        Err(Unparsed::Malformed("IPv6 payload length"))
    );
    frame[18..20].copy_from_slice(&[0, 0]);
    assert_eq!(read(&frame), Err(Unparsed::Malformed("TCP data offset")));
}

#[test]
fn ipv4_mapped_addresses_do_not_pass_for_ipv4() {
    let mut frame = v6_frame();
    frame[22..38].copy_from_slice(&FrameSpec::default().key.src.0.to_be_bytes());
    let why = "IPv4-mapped address in an IPv6 header";
    assert_eq!(read(&frame), Err(Unparsed::Malformed(why)));
}

#[test]
fn headers_have_to_be_in_the_first_part() {
    for frame in [FrameSpec::default().build(), v6_frame()] {
        let seg = read(&frame).unwrap();
        for cut in 15..usize::from(seg.at.payload) {
            let got = parse(&frame[..cut], frame.len() as u32);
            assert_eq!(
                got,
                Err(Unparsed::Malformed("headers not in the first part")),
                "{cut}"
            );
        }
        let got = parse(&frame[..usize::from(seg.at.payload)], frame.len() as u32);
        assert_eq!(got, Ok(seg));
    }
}

#[test]
fn fields_of_a_known_packet() {
    // A SYN-ACK with ECT(0), ECE, and the options Linux sends.
    let frame = [
        0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0x02, 0x00, 0x3c, 0x00, 0x00,
        0x40, 0x00, 0x40, 0x06, 0x00, 0x00, 10, 0, 0, 1, 10, 0, 0, 2, 0x01, 0xbb, 0xc3, 0x50, 0xde,
        0xad, 0xbe, 0xef, 0x00, 0x00, 0x00, 0x2a, 0xa0, 0x52, 0xfe, 0x88, 0x12, 0x34, 0x00, 0x00,
        0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x20,
        0x00, 0x01, 0x03, 0x03, 0x07,
    ];
    let seg = read(&frame).unwrap();
    assert_eq!(seg.key.to_string(), "10.0.0.1:443>10.0.0.2:50000");
    assert_eq!((seg.seq, seg.ack, seg.window), (0xdead_beef, 42, 0xfe88));
    assert_eq!(seg.flags, Flags::SYN.with(Flags::ACK).with(Flags::ECE));
    assert_eq!((seg.ecn, seg.payload_len, seg.seq_len()), (Ecn::Ect0, 0, 1));
    assert_eq!(seg.options.mss, Some(1460));
    assert_eq!(seg.options.window_scale, Some(7));
    assert_eq!(
        seg.options.timestamps,
        Some(Timestamps {
            val: 0x1000,
            ecr: 0x2000
        })
    );
    assert!(seg.options.sack_permitted);
    assert_eq!(seg.at.timestamps, 62);
}
