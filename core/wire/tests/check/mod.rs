//! What must hold for any bytes whatever. Shared by the tests and the fuzzer.

use windlass_wire::{
    AckFields, ChecksumState, Ecn, Editor, Flags, SackBlocks, Segment, Template, Timestamps,
    complete_checksum, insert_option, parse, partial_checksum, verify_tcp,
};

/// Parses `data` as a frame; if it is a segment, rewrites it in all ways and reads it again.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    let len = data.len() as u32;
    let partial = partial_checksum(data, len);
    for cut in [14, 40, data.len() / 2] {
        let head = &data[..data.len().min(cut)];
        let _ = (parse(head, len), partial_checksum(head, len));
    }
    let Ok(seg) = parse(data, len) else {
        return;
    };
    assert_eq!(partial, seg.partial());
    check_layout(data, &seg);
    check_edits(data, &seg);
    check_insert(data, &seg);
    check_template(data, &seg);
    check_completion(data, &seg);
}

fn check_layout(data: &[u8], seg: &Segment) {
    let at = seg.at;
    assert!(at.ip >= 14 && at.tcp >= at.ip + 20 && at.payload >= at.tcp + 20);
    assert!(end(seg) <= data.len());
    assert_eq!(at.timestamps != 0, seg.options.timestamps.is_some());
    assert_eq!(at.sack != 0, !seg.options.sack.is_empty());
    if seg.checksum == ChecksumState::Full {
        assert_eq!(verify_tcp(data, seg), residue(data, seg) == 0);
    }
    let headers = &data[..usize::from(at.payload)];
    let from_headers = parse(headers, data.len() as u32).expect("all headers are there");
    assert_same(&from_headers, seg);
    assert!(parse(&headers[..headers.len() - 1], data.len() as u32).is_err());
}

/// Applies an edit and reads the frame again.
fn step(
    frame: &mut [u8],
    want: &mut Segment,
    edit: impl FnOnce(&mut Editor<'_>, &mut Segment) -> bool,
) {
    let sums = (residue(frame, want), ip_residue(frame, want));
    let field = tcp_checksum(frame, want);
    let before = *want;
    if !edit(&mut Editor::new(frame, &before), want) {
        assert_eq!(before, *want);
    }
    let got = parse(frame, frame.len() as u32).expect("an edited segment is a segment");
    assert_same(&got, want);
    assert_eq!(sums.1, ip_residue(frame, want));
    match want.checksum {
        ChecksumState::Full => assert_eq!(sums.0, residue(frame, want)),
        ChecksumState::Partial => assert_eq!(field, tcp_checksum(frame, want)),
    }
}

fn check_edits(data: &[u8], seg: &Segment) {
    let mut frame = data.to_vec();
    let mut want = *seg;
    step(&mut frame, &mut want, |e, s| {
        s.window = s.window.wrapping_mul(3).wrapping_add(1);
        e.set_window(s.window);
        true
    });
    step(&mut frame, &mut want, |e, s| {
        s.ack = s.ack.wrapping_mul(5).wrapping_add(77_777);
        e.set_ack(s.ack);
        true
    });
    step(&mut frame, &mut want, |e, s| {
        s.flags = Flags(s.flags.0 ^ 0x1d5);
        e.set_flags(s.flags);
        true
    });
    step(&mut frame, &mut want, |e, s| {
        s.ecn = if s.ecn == Ecn::Ce { Ecn::Ect1 } else { Ecn::Ce };
        e.set_ecn(s.ecn);
        true
    });
    step(&mut frame, &mut want, |e, s| {
        let ts = Timestamps {
            val: s.ack,
            ecr: s.seq.wrapping_add(9),
        };
        e.set_timestamps(ts);
        s.options.timestamps = s.options.timestamps.map(|_| ts);
        s.options.timestamps.is_some()
    });
    step(&mut frame, &mut want, |e, s| {
        s.options.mss = s.options.mss.map(|mss| mss ^ 0x1234);
        e.set_mss(s.options.mss.unwrap_or(1))
    });
    step(&mut frame, &mut want, |e, s| {
        let kept = e.keep_sack((s.seq, s.ack));
        assert_eq!(kept, !s.options.sack.is_empty());
        if kept {
            s.options.sack = one_block((s.seq, s.ack));
        }
        kept
    });
    step(&mut frame, &mut want, |e, s| {
        e.blank_sack();
        assert!(!e.keep_sack((1, 2)));
        s.options.sack = SackBlocks::default();
        s.at.sack = 0;
        true
    });
    assert_eq!(
        frame[usize::from(seg.at.payload)..],
        data[usize::from(seg.at.payload)..]
    );
}

fn check_insert(data: &[u8], seg: &Segment) {
    let mut buf = data.to_vec();
    buf.resize(data.len() + 8, 0xee);
    let option = [173, 5, data[0], 0, 0xff];
    let (payload, end) = (usize::from(seg.at.payload), end(seg));
    let ip_len_at = usize::from(seg.at.ip) + if seg.at.v6 { 4 } else { 2 };
    let ip_len = usize::from(word(data, ip_len_at));
    let room = payload - usize::from(seg.at.tcp) + 8 <= 60 && ip_len + 8 <= 65_535;
    let Some(len) = insert_option(&mut buf, data.len(), seg, &option) else {
        assert!(!room);
        assert_eq!(buf[..data.len()], *data);
        return;
    };
    assert!(room);
    assert_eq!(len, end + 8);
    let frame = &buf[..len];
    let got = parse(frame, len as u32).expect("a segment with one more option is a segment");
    let mut want = *seg;
    want.at.payload += 8;
    want.options.unknown = true;
    assert_same(&got, &want);
    assert_eq!(frame[payload + 8..], data[payload..end]);
    assert_eq!(ip_residue(frame, &got), ip_residue(data, seg));
    match seg.checksum {
        ChecksumState::Full => assert_eq!(residue(frame, &got), residue(data, seg)),
        ChecksumState::Partial => assert!(got.checksum == seg.checksum || verify_tcp(frame, &got)),
    }
}

fn check_template(data: &[u8], seg: &Segment) {
    let template = Template::of(data, seg);
    assert!(size_of_val(&template) <= 72);
    let fields = AckFields {
        seq: seg.seq,
        ack: seg.ack,
        flags: Flags::ACK,
        window: seg.window,
        timestamps: seg.options.timestamps,
        sack: seg.options.sack,
    };
    let mut buf = [0x55; 128];
    let len = template
        .write_ack(&mut buf, &fields)
        .expect("128 bytes are enough");
    assert_eq!(len, template.ack_len(&fields));
    assert_eq!(template.write_ack(&mut buf[..len - 1], &fields), None);
    let ack = parse(&buf[..len], len as u32).expect("an ACK is a segment");
    assert_eq!((ack.key, ack.seq, ack.ack), (seg.key, seg.seq, seg.ack));
    assert_eq!(
        (ack.window, ack.flags, ack.ecn),
        (seg.window, Flags::ACK, Ecn::NotEct)
    );
    assert_eq!(ack.options.timestamps, seg.options.timestamps);
    assert_eq!(
        ack.options.sack.iter().next(),
        seg.options.sack.iter().next()
    );
    assert_eq!((ack.payload_len, ack.checksum), (0, ChecksumState::Full));
    assert_eq!(
        (residue(&buf[..len], &ack), ip_residue(&buf[..len], &ack)),
        (0, 0)
    );
}

fn check_completion(data: &[u8], seg: &Segment) {
    if let Some((start, offset)) = seg.partial() {
        let mut frame = data[..end(seg)].to_vec();
        complete_checksum(&mut frame, usize::from(start), usize::from(offset));
        let got = parse(&frame, frame.len() as u32).expect("a completed segment is a segment");
        assert_eq!(got.checksum, ChecksumState::Full);
        assert!(verify_tcp(&frame, &got));
    }
}

/// Equal but for the state of the checksum, which is another by coincidence.
fn assert_same(got: &Segment, want: &Segment) {
    let checksum = want.checksum;
    assert_eq!(Segment { checksum, ..*got }, *want);
}

fn one_block(block: (u32, u32)) -> SackBlocks {
    let mut sack = SackBlocks {
        count: 1,
        ..SackBlocks::default()
    };
    sack.blocks[0] = block;
    sack
}

fn end(seg: &Segment) -> usize {
    usize::from(seg.at.payload) + seg.payload_len as usize
}

fn word(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn tcp_checksum(frame: &[u8], seg: &Segment) -> u16 {
    word(frame, usize::from(seg.at.tcp) + 16)
}

/// The plain definition: words modulo 2^16 - 1.
fn ones(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

/// How far the TCP checksum is from right.
pub fn residue(frame: &[u8], seg: &Segment) -> u64 {
    let ip = usize::from(seg.at.ip);
    let addresses = if seg.at.v6 {
        ip + 8..ip + 40
    } else {
        ip + 12..ip + 20
    };
    let tcp = &frame[usize::from(seg.at.tcp)..end(seg)];
    (ones(&frame[addresses]) + 6 + tcp.len() as u64 + ones(tcp)) % 0xffff
}

/// How far the IPv4 header checksum is from right; 0 for IPv6.
pub fn ip_residue(frame: &[u8], seg: &Segment) -> u64 {
    if seg.at.v6 {
        return 0;
    }
    let ip = usize::from(seg.at.ip);
    let header_len = usize::from(frame[ip] & 0xf) * 4;
    ones(&frame[ip..ip + header_len]) % 0xffff
}
