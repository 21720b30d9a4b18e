//! Captures of boxes that keep the rules, and the same captures with damage: each rule is seen to fire.

mod captures;

use captures::{Frame, HEADERS, WHOLE, adverse, broken, lossy, lossy_of, verdict_of, verdict_with};
use windlass_record::verdict::{Outcome, Rule};
use windlass_sim::Side;
use windlass_wire::{Editor, Flags, Segment, Timestamps, parse};

fn read(frame: &Frame) -> Segment {
    parse(&frame.bytes, frame.bytes.len() as u32).expect("a segment")
}

/// The server is inside, and data goes from it.
fn is_data(frame: &Frame) -> bool {
    frame.leaves && frame.side == Side::Outside && read(frame).payload_len > 1000
}

fn is_ack(frame: &Frame) -> bool {
    let segment = read(frame);
    let special = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0);
    frame.leaves
        && frame.side == Side::Inside
        && segment.payload_len == 0
        && segment.flags.0 & special.0 == 0
}

/// The `n`th of a kind, and the number that a file gives it.
fn nth(frames: &[Frame], n: usize, is: impl Fn(&Frame) -> bool) -> (usize, u32) {
    let mut all = (0..frames.len()).filter(|&at| is(&frames[at]));
    let at = all.nth(n).expect("so many");
    (at, at as u32 + 1)
}

/// Overwrites a number of the TCP header, and leaves the checksum wrong: nobody looks at it here.
fn put(frame: &mut Frame, at: usize, value: &[u8]) {
    let tcp = usize::from(read(frame).at.tcp);
    frame.bytes[tcp + at..tcp + at + value.len()].copy_from_slice(value);
}

/// Of many checksums one looks partial by chance. Whoever completes the others has completed it, too.
#[test]
fn a_checksum_that_looks_partial_by_chance_stands_for_its_payload() {
    let mut frames = lossy();
    let data = |frame: &Frame| read(frame).payload_len > 500;
    let at = frames.iter().position(data).expect("data");
    let seq = read(&frames[at]).seq;
    let came = &frames[at];
    let looks = u16::from_be_bytes(checksum_of(&spec_of(came).build_partial()));
    let is = u16::from_be_bytes(checksum_of(&came.bytes));
    let payload = usize::from(read(came).at.payload);
    let word = u16::from_be_bytes([came.bytes[payload], came.bytes[payload + 1]]);
    // The checksum is the complement of the sum: what one gains the other loses (RFC 1071).
    let word = ((u32::from(word) + u32::from(is) + 0xffff - u32::from(looks)) % 0xffff) as u16;
    for frame in frames.iter_mut().filter(|frame| read(frame).seq == seq) {
        if read(frame).payload_len > 0 {
            let payload = usize::from(read(frame).at.payload);
            frame.bytes[payload..payload + 2].copy_from_slice(&word.to_be_bytes());
            let whole = checksum_of(&spec_of(frame).build());
            put(frame, CHECKSUM_AT, &whole);
        }
    }
    assert_eq!(checksum_of(&frames[at].bytes), looks.to_be_bytes());
    let verdict = verdict_of(&frames, HEADERS);
    assert_eq!(verdict.outcome(), Outcome::Kept, "{verdict}");
}

const ACK_AT: usize = 8;
const WINDOW_AT: usize = 14;
const CHECKSUM_AT: usize = 16;

#[test]
fn boxes_in_adverse_networks_are_found_to_keep_the_rules() {
    let (mut compared, mut untold) = ((0, 0), 0);
    for seed in 1..=120 {
        let frames = adverse(seed);
        for snap in [WHOLE, HEADERS] {
            let verdict = verdict_of(&frames, snap);
            assert!(!verdict.connections.is_empty(), "seed {seed}");
            let outcome = verdict.outcome();
            // With the headers alone, checksums stand for payloads, and partial ones say nothing.
            let cannot = snap == HEADERS && outcome == Outcome::Unknown;
            assert!(outcome == Outcome::Kept || cannot, "seed {seed}: {verdict}");
            untold += u32::from(cannot);
            for connection in &verdict.connections {
                compared.0 += connection.compared_by_bytes;
                compared.1 += connection.compared_by_sums;
            }
        }
    }
    assert!(compared.0 > 10_000 && compared.1 > 10_000, "{compared:?}");
    assert!(untold < 12, "{untold} of 120");
}

#[test]
fn a_capture_of_one_box_says_so_in_one_line() {
    let verdict = verdict_of(&lossy(), WHOLE);
    let text = verdict.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.contains(": ok; kept: data payload ack sack edge_beyond edge_left bytes"),
        "{text}"
    );
    let [connection] = &verdict.connections[..] else {
        panic!("{text}");
    };
    assert!(connection.whole && connection.compared_by_bytes > 200);
    // Loss was repaired, and windows were rewritten: there was something to judge.
    for rule in [Rule::Ack, Rule::EdgeLeft, Rule::EdgeBeyond, Rule::Bytes] {
        let finding = &connection.findings[rule as usize];
        assert!(finding.kept > 30, "{finding:?}");
    }
}

#[test]
fn a_forged_ack_is_found() {
    let mut frames = lossy();
    let (at, number) = nth(&frames, 40, is_ack);
    let ack = read(&frames[at]).ack;
    put(
        &mut frames[at],
        ACK_AT,
        &ack.wrapping_add(500_000).to_be_bytes(),
    );
    let found = broken(&verdict_of(&frames, HEADERS));
    assert!(found.contains(&("ack", vec![number])), "{found:?}");
    // A number below what the receiver has acknowledged, and which it never sent.
    let mut frames = lossy();
    let (at, number) = nth(&frames, 40, is_ack);
    let ack = read(&frames[at]).ack;
    put(&mut frames[at], ACK_AT, &ack.wrapping_sub(7).to_be_bytes());
    assert_eq!(
        broken(&verdict_of(&frames, HEADERS)),
        [("ack", vec![number])]
    );
}

#[test]
fn a_changed_byte_is_found() {
    let mut frames = lossy();
    let (at, number) = nth(&frames, 50, is_data);
    let payload = usize::from(read(&frames[at]).at.payload);
    frames[at].bytes[payload + 700] ^= 1;
    let verdict = verdict_of(&frames, WHOLE);
    assert_eq!(broken(&verdict), [("payload", vec![number])]);
    assert!(
        verdict
            .to_string()
            .contains("is another than the one that came")
    );
    // Of headers alone, nothing has changed; a box that changes payload has to change the checksum, too.
    assert_eq!(verdict_of(&frames, HEADERS).outcome(), Outcome::Kept);
    let checksum = read(&frames[at]).at.tcp as usize + CHECKSUM_AT;
    frames[at].bytes[checksum] ^= 1;
    assert_eq!(
        broken(&verdict_of(&frames, HEADERS)),
        [("payload", vec![number])]
    );
}

#[test]
fn a_lost_byte_is_found() {
    let mut frames = lossy();
    let (at, _) = nth(&frames, 50, is_data);
    let seq = read(&frames[at]).seq;
    frames.retain(|frame| !(is_data(frame) && read(frame).seq == seq));
    let found = broken(&verdict_of(&frames, HEADERS));
    let [("bytes", packets)] = &found[..] else {
        panic!("{found:?}");
    };
    // At the first acknowledgement that the server was shown of it.
    let beyond = |frame: &Frame| is_ack(frame) && read(frame).ack.wrapping_sub(seq) as i32 > 0;
    assert_eq!(packets[..], [nth(&frames, 0, beyond).1]);
}

#[test]
fn an_edge_that_moves_is_found() {
    let mut frames = lossy();
    let (at, number) = nth(&frames, 60, is_ack);
    put(&mut frames[at], WINDOW_AT, &1u16.to_be_bytes());
    assert_eq!(
        broken(&verdict_of(&frames, HEADERS)),
        [("edge_left", vec![number])]
    );
    let mut frames = lossy();
    let (at, number) = nth(&frames, 20, is_ack);
    put(&mut frames[at], WINDOW_AT, &u16::MAX.to_be_bytes());
    let found = broken(&verdict_of(&frames, HEADERS));
    assert!(found.contains(&("edge_beyond", vec![number])), "{found:?}");
}

#[test]
fn data_that_never_came_and_data_ahead_of_its_time_are_found() {
    let mut frames = lossy();
    let (at, _) = nth(&frames, 30, is_data);
    let mut early = frames[at].clone();
    early.time = frames[at / 2].time;
    frames.insert(at / 2, early);
    let (_, number) = (0, at as u32 / 2 + 1);
    let found = broken(&verdict_of(&frames, HEADERS));
    assert!(found.contains(&("data", vec![number])), "{found:?}");
}

#[test]
fn a_sack_block_that_nobody_sent_is_found() {
    let mut frames = lossy();
    // A real block that the box has not hidden, of other bytes.
    let (at, number) = nth(&frames, 30, is_ack);
    let segment = read(&frames[at]);
    let spec = windlass_wire::FrameSpec {
        key: segment.key,
        seq: segment.seq,
        ack: segment.ack,
        window: segment.window,
        options: windlass_wire::OptionWriter::new()
            .sack(&[(
                segment.ack.wrapping_add(1_000_000),
                segment.ack.wrapping_add(1_001_000),
            )])
            .into(),
        ..Default::default()
    };
    frames[at].bytes = spec.build();
    let found = broken(&verdict_of(&frames, HEADERS));
    assert_eq!(found, [("sack", vec![number])]);
}

#[test]
fn a_timestamp_that_nobody_sent_is_found() {
    let mut frames = lossy();
    let (at, number) = nth(&frames, 30, is_ack);
    let segment = read(&frames[at]);
    let stamps = segment.options.timestamps.expect("they have timestamps");
    let stamps = Timestamps {
        val: stamps.val.wrapping_add(1_000_000),
        ..stamps
    };
    Editor::new(&mut frames[at].bytes, &segment).set_timestamps(stamps);
    let found = broken(&verdict_of(&frames, HEADERS));
    let [("timestamps", packets)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(packets[0], number);
}

#[test]
fn a_changed_syn_and_a_reset_of_nobody_are_found() {
    let mut frames = lossy();
    let is_syn = |frame: &Frame| frame.leaves && read(frame).flags.has(Flags::SYN);
    let (at, number) = nth(&frames, 0, is_syn);
    let mss = frames[at]
        .bytes
        .windows(2)
        .position(|pair| pair == [2, 4])
        .expect("an MSS");
    frames[at].bytes[mss + 3] ^= 0x10;
    assert_eq!(
        broken(&verdict_of(&frames, HEADERS)),
        [("handshake", vec![number])]
    );
    let mut frames = lossy();
    let (at, number) = nth(&frames, 30, is_data);
    let tcp = usize::from(read(&frames[at]).at.tcp);
    frames[at].bytes[tcp + 13] |= 0x04;
    let found = broken(&verdict_of(&frames, HEADERS));
    assert!(found.contains(&("reset", vec![number])), "{found:?}");
}

#[test]
fn what_is_not_in_the_file_accuses_nobody() {
    let frames = lossy();
    // It begins in mid-flow.
    for part in [10, 5, 3, 2] {
        let verdict = verdict_of(&frames[frames.len() / part..], WHOLE);
        assert_eq!(verdict.outcome(), Outcome::Unknown, "{verdict}");
        assert_eq!(broken(&verdict), [], "{verdict}");
        let text = verdict.to_string();
        assert!(
            text.contains("cannot tell") && text.contains("without both SYNs"),
            "{text}"
        );
        assert!(text.contains("kept: "), "{text}");
    }
    // Packets are missing, and the file says so.
    let holes: Vec<Frame> = frames
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 13 != 7)
        .map(|(_, f)| f.clone())
        .collect();
    assert_ne!(
        broken(&verdict_of(&holes, WHOLE)),
        [],
        "silent holes look like forgeries"
    );
    let verdict = verdict_with(&holes, WHOLE, 9);
    assert_eq!(
        (verdict.outcome(), broken(&verdict)),
        (Outcome::Unknown, vec![]),
        "{verdict}"
    );
    assert!(
        verdict.to_string().contains("9 packets were not captured"),
        "{verdict}"
    );
    // One side alone.
    let inside: Vec<Frame> = frames
        .iter()
        .filter(|f| f.side == Side::Inside)
        .cloned()
        .collect();
    let verdict = verdict_of(&inside, WHOLE);
    assert_eq!(verdict.outcome(), Outcome::Unknown, "{verdict}");
    // Nothing at all.
    assert_eq!(verdict_of(&[], WHOLE).outcome(), Outcome::Unknown);
}

/// Once nothing can wait in the box any more that came before the file begins.
#[test]
fn a_forged_ack_is_found_in_mid_flow_too() {
    let frames = lossy_of(6_000_000);
    let mut frames = frames[frames.len() / 8..].to_vec();
    let acks = frames.iter().filter(|frame| is_ack(frame)).count();
    let (at, number) = nth(&frames, acks * 9 / 10, is_ack);
    let ack = read(&frames[at]).ack;
    put(
        &mut frames[at],
        ACK_AT,
        &ack.wrapping_add(1_000_000).to_be_bytes(),
    );
    assert!(
        frames[at].time > frames[0].time + 1_000_000_000,
        "too short"
    );
    assert_eq!(
        broken(&verdict_of(&frames, HEADERS)),
        [("ack", vec![number])]
    );
}

/// What a frame was made from.
fn spec_of(frame: &Frame) -> windlass_wire::FrameSpec {
    let segment = read(frame);
    let payload = usize::from(segment.at.payload);
    windlass_wire::FrameSpec {
        key: segment.key,
        seq: segment.seq,
        ack: segment.ack,
        flags: segment.flags,
        window: segment.window,
        payload: frame.bytes[payload..].to_vec(),
        options: frame.bytes[usize::from(segment.at.tcp) + 20..payload].to_vec(),
        ..Default::default()
    }
}

/// The checksum of a frame without options in its IP header.
fn checksum_of(bytes: &[u8]) -> [u8; 2] {
    let segment = windlass_wire::parse(bytes, bytes.len() as u32).expect("TCP");
    let at = usize::from(segment.at.tcp) + CHECKSUM_AT;
    [bytes[at], bytes[at + 1]]
}

#[test]
fn partial_checksums_prove_nothing_of_a_payload() {
    let mut frames = lossy();
    for frame in &mut frames {
        let segment = read(frame);
        if segment.payload_len > 0 {
            let spec = spec_of(frame);
            frame.bytes = spec.build_partial();
        }
    }
    let verdict = verdict_of(&frames, HEADERS);
    assert_eq!(
        (verdict.outcome(), broken(&verdict)),
        (Outcome::Unknown, vec![]),
        "{verdict}"
    );
    assert!(
        verdict.to_string().contains("payload cannot be told"),
        "{verdict}"
    );
    assert_eq!(verdict_of(&frames, WHOLE).outcome(), Outcome::Kept);
}
