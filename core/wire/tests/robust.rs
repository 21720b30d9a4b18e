//! No input makes the crate panic, or rewrite anything wrongly.

mod check;
mod specs;

use check::check;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use windlass_wire::{
    Editor, Layout, PeerOption, Template, insert_option, parse, remove_option, verify_tcp,
};

#[test]
fn fuzz_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire_parse");
    let mut segments = 0;
    for entry in std::fs::read_dir(corpus).expect("the corpus is part of the repository") {
        let data = std::fs::read(entry.unwrap().path()).unwrap();
        check(&data);
        segments += usize::from(parse(&data, data.len() as u32).is_ok());
    }
    assert!(segments >= 20, "only {segments} seeds are segments");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn arbitrary_bytes(data in vec(any::<u8>(), 0..160)) {
        check(&data);
    }

    #[test]
    fn valid_frames(spec in specs::spec(), padding in 0..30usize) {
        for mut frame in [spec.build(), spec.build_partial()] {
            frame.resize(frame.len() + padding, 0xa5);
            prop_assert!(parse(&frame, frame.len() as u32).is_ok());
            check(&frame);
        }
    }

    #[test]
    fn damaged_frames(
        spec in specs::spec(),
        damage in vec((0..110usize, any::<u8>()), 1..5),
        len in 0..400usize,
    ) {
        let mut frame = spec.build();
        for (at, byte) in damage {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        check(&frame);
        frame.truncate(len);
        check(&frame);
    }

    /// A layout that belongs to another frame is a mistake, but no reason to die.
    #[test]
    fn foreign_layouts(
        spec in specs::spec(),
        places in any::<(u16, u16, u16, u16, u16, u16)>(),
        near in any::<bool>(),
        payload_len: u32,
        len in 0..300usize,
    ) {
        let whole = spec.build();
        let mut seg = parse(&whole, whole.len() as u32).unwrap();
        let near = |place: u16| if near { place % 128 } else { place };
        seg.at = Layout {
            ip: near(places.0),
            tcp: near(places.1),
            payload: near(places.2),
            timestamps: near(places.3),
            sack: near(places.4),
            peer: near(places.5),
            v6: seg.at.v6,
        };
        seg.payload_len = payload_len % 70_000;
        let mut frame = whole.clone();
        frame.truncate(len);
        let mut editor = Editor::new(&mut frame, &seg);
        editor.set_window(1);
        editor.set_ack(2);
        editor.set_flags(spec.flags);
        editor.set_timestamps(Default::default());
        editor.set_ecn(spec.ecn);
        editor.keep_sack((1, 2));
        editor.blank_sack();
        editor.set_mss(3);
        verify_tcp(&frame, &seg);
        frame.resize(len + 40, 0);
        insert_option(&mut frame, len, &seg, &[4, 2]);
        PeerOption::read(&frame, &seg);
        remove_option(&mut frame, len, &seg, usize::from(seg.at.peer), 12);
        let mut buf = [0; 128];
        prop_assert!(Template::of(&frame, &seg).write_ack(&mut buf, &Default::default()).is_some());
    }
}
