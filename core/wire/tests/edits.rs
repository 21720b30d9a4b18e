//! Rewriting a frame gives, byte for byte, the frame that would have been built so.

mod specs;

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_wire::{
    ChecksumState, Ecn, Editor, Flags, FrameSpec, MarkedBytes, PeerOption, Segment, Timestamps,
    insert_option, parse, remove_option,
};

#[derive(Clone, Copy, Debug)]
enum Edit {
    Window(u16),
    Ack(u32),
    Flags(u16),
    Timestamps(u32, u32),
    Ecn(Ecn),
    BlankSack,
    KeepSack(u32, u32),
    Mss(u16),
    Insert(u8),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        any::<u16>().prop_map(Edit::Window),
        any::<u32>().prop_map(Edit::Ack),
        (0..512u16).prop_map(Edit::Flags),
        any::<(u32, u32)>().prop_map(|(val, ecr)| Edit::Timestamps(val, ecr)),
        specs::ecn().prop_map(Edit::Ecn),
        Just(Edit::BlankSack),
        any::<(u32, u32)>().prop_map(|(left, right)| Edit::KeepSack(left, right)),
        any::<u16>().prop_map(Edit::Mss),
        (2..12u8).prop_map(Edit::Insert),
    ]
}

/// Offset and length of an option in `options`, by reading them the slow way.
fn find(options: &[u8], wanted: u8) -> Option<(usize, usize)> {
    let mut at = 0;
    while at < options.len() {
        let len = if options[at] == 1 {
            1
        } else {
            usize::from(options[at + 1])
        };
        if options[at] == wanted {
            return Some((at, len));
        }
        at += len;
    }
    None
}

/// What the edit means for the description of the frame.
fn apply_to_spec(edit: Edit, spec: &mut FrameSpec) {
    let options = &mut spec.options;
    options.resize(options.len().next_multiple_of(4), 1);
    match edit {
        Edit::Window(window) => spec.window = window,
        Edit::Ack(ack) => spec.ack = ack,
        Edit::Flags(flags) => spec.flags = Flags(flags),
        Edit::Ecn(ecn) => spec.ecn = ecn,
        Edit::Timestamps(val, ecr) => {
            if let Some((at, _)) = find(options, 8) {
                options[at + 2..at + 6].copy_from_slice(&val.to_be_bytes());
                options[at + 6..at + 10].copy_from_slice(&ecr.to_be_bytes());
            }
        }
        Edit::BlankSack => {
            if let Some((at, len)) = find(options, 5) {
                options[at..at + len].fill(1);
            }
        }
        Edit::KeepSack(left, right) => {
            if let Some((at, len)) = find(options, 5) {
                options[at..at + len].fill(1);
                options[at] = 5;
                options[at + 1] = 10;
                options[at + 2..at + 6].copy_from_slice(&left.to_be_bytes());
                options[at + 6..at + 10].copy_from_slice(&right.to_be_bytes());
            }
        }
        Edit::Mss(mss) => {
            if let Some((at, _)) = find(options, 2) {
                options[at + 2..at + 4].copy_from_slice(&mss.to_be_bytes());
            }
        }
        Edit::Insert(len) => {
            let option = unknown(len);
            let nops = (4 - option.len() % 4) % 4;
            if options.len() + nops + option.len() <= 40 {
                options.extend(std::iter::repeat_n(1, nops));
                options.extend(option);
            }
        }
    }
}

fn unknown(len: u8) -> Vec<u8> {
    let mut option = vec![173, len];
    option.extend((2..len).map(|i| i.wrapping_mul(91)));
    option
}

fn apply_to_frame(edit: Edit, frame: &mut Vec<u8>, seg: &mut Segment) {
    let mut editor = Editor::new(frame, seg);
    match edit {
        Edit::Window(window) => editor.set_window(window),
        Edit::Ack(ack) => editor.set_ack(ack),
        Edit::Flags(flags) => editor.set_flags(Flags(flags)),
        Edit::Timestamps(val, ecr) => editor.set_timestamps(Timestamps { val, ecr }),
        Edit::Ecn(ecn) => editor.set_ecn(ecn),
        Edit::BlankSack => editor.blank_sack(),
        Edit::KeepSack(left, right) => {
            editor.keep_sack((left, right));
        }
        Edit::Mss(mss) => {
            editor.set_mss(mss);
        }
        Edit::Insert(option_len) => {
            let len = frame.len();
            frame.resize(len + 12, 0xcc);
            let new = insert_option(frame, len, seg, &unknown(option_len));
            frame.truncate(new.unwrap_or(len));
            // The state is known from before and must not be guessed anew.
            let checksum = seg.checksum;
            *seg = parse(frame, frame.len() as u32).unwrap();
            seg.checksum = checksum;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn rewriting_equals_rebuilding(spec in specs::spec(), edits in vec(edit(), 1..12)) {
        let mut want = spec.clone();
        let mut full = spec.build();
        let mut partial = spec.build_partial();
        let mut full_seg = parse(&full, full.len() as u32).unwrap();
        let mut partial_seg = parse(&partial, partial.len() as u32).unwrap();
        prop_assert_eq!(full_seg.checksum, ChecksumState::Full);
        // One in 65536 is right as it is, and then cannot be told apart.
        prop_assume!(partial_seg.checksum == ChecksumState::Partial);
        for edit in edits {
            apply_to_spec(edit, &mut want);
            apply_to_frame(edit, &mut full, &mut full_seg);
            apply_to_frame(edit, &mut partial, &mut partial_seg);
            prop_assert_eq!(&full, &want.build());
            prop_assert_eq!(&partial, &want.build_partial());
        }
    }
}

fn peer_option() -> impl Strategy<Value = PeerOption> {
    let counts = any::<(u32, u32)>().prop_map(|(total, ce)| MarkedBytes { total, ce });
    prop_oneof![
        Just(PeerOption::Hello),
        counts.clone().prop_map(PeerOption::Report),
        counts.prop_map(PeerOption::ReportAlone),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_a_box_says_is_taken_out_without_a_trace(
        spec in specs::spec(), says in peer_option(), partial in any::<bool>(),
    ) {
        let before = if partial { spec.build_partial() } else { spec.build() };
        let len = before.len();
        let seg = parse(&before, len as u32).unwrap();
        prop_assume!((seg.checksum == ChecksumState::Partial) == partial);
        let mut frame = before.clone();
        frame.resize(len + PeerOption::MAX_BYTES, 0);
        let (bytes, count) = says.bytes();
        let Some(longer) = insert_option(&mut frame, len, &seg, &bytes[..count]) else {
            prop_assert!(seg.at.payload as usize - seg.at.tcp as usize + count > 60);
            return Ok(());
        };
        prop_assert_eq!(longer, len + count);
        let mut with = parse(&frame[..longer], longer as u32).unwrap();
        with.checksum = seg.checksum;
        prop_assert_eq!(PeerOption::read(&frame, &with), Some(says));
        prop_assert_eq!(with.options, seg.options);
        let at = usize::from(with.at.peer);
        prop_assert_eq!(remove_option(&mut frame, longer, &with, at, count), Some(len));
        prop_assert_eq!(&frame[..len], &before);
    }
}

#[test]
fn only_what_is_within_the_options_can_be_removed() {
    let spec = FrameSpec {
        options: vec![1; 8],
        payload: b"hello".to_vec(),
        ..FrameSpec::default()
    };
    let mut frame = spec.build();
    let len = frame.len();
    let seg = parse(&frame, len as u32).unwrap();
    let tcp = usize::from(seg.at.tcp);
    for (at, option_len) in [(tcp + 16, 4), (tcp + 24, 8), (tcp + 20, 3)] {
        assert_eq!(remove_option(&mut frame, len, &seg, at, option_len), None);
    }
    assert_eq!(frame, spec.build());
}

#[test]
fn insertion_goes_before_the_end_of_options() {
    let spec = FrameSpec {
        options: vec![2, 4, 5, 180, 1, 0, 0, 0],
        payload: b"hello".to_vec(),
        ..FrameSpec::default()
    };
    let mut frame = spec.build();
    let len = frame.len();
    let seg = parse(&frame, len as u32).unwrap();
    frame.resize(len + 4, 0);
    assert_eq!(insert_option(&mut frame, len, &seg, &[4, 2]), Some(len + 4));
    let want = FrameSpec {
        options: vec![2, 4, 5, 180, 1, 1, 1, 4, 2, 0, 0, 0],
        ..spec
    };
    assert_eq!(frame, want.build());
}

#[test]
fn insertion_needs_room() {
    let spec = FrameSpec {
        options: vec![1; 40],
        ..FrameSpec::default()
    };
    let mut frame = spec.build();
    let len = frame.len();
    let seg = parse(&frame, len as u32).unwrap();
    frame.resize(len + 40, 0);
    assert_eq!(insert_option(&mut frame, len, &seg, &[4, 2]), None);

    let spec = FrameSpec::default();
    let mut frame = spec.build();
    let len = frame.len();
    let seg = parse(&frame, len as u32).unwrap();
    assert_eq!(
        insert_option(&mut frame, len, &seg, &[4, 2]),
        None,
        "no room in the buffer"
    );
    assert_eq!(frame, spec.build());
}

#[test]
fn padding_is_dropped_by_insertion() {
    let spec = FrameSpec::default();
    let mut frame = spec.build();
    frame.resize(60, 0);
    let seg = parse(&frame, 60).unwrap();
    assert_eq!(insert_option(&mut frame, 60, &seg, &[4, 2]), Some(58));
    let want = FrameSpec {
        options: vec![1, 1, 4, 2],
        ..spec
    };
    assert_eq!(frame[..58], want.build());
}

#[test]
fn an_odd_option_keeps_its_checksum() {
    // Timestamps at an odd offset.
    let spec = FrameSpec {
        options: vec![1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1],
        ..FrameSpec::default()
    };
    let mut frame = spec.build();
    let seg = parse(&frame, frame.len() as u32).unwrap();
    assert_eq!(seg.at.timestamps % 2, 1);
    let ts = Timestamps {
        val: 0xfedc_ba98,
        ecr: 0x0102_0304,
    };
    Editor::new(&mut frame, &seg).set_timestamps(ts);
    let want = FrameSpec {
        options: vec![1, 8, 10, 0xfe, 0xdc, 0xba, 0x98, 1, 2, 3, 4, 1],
        ..spec
    };
    assert_eq!(frame, want.build());
}
