//! What a table of frames is taken for, and mutations of them.

#[path = "../check/mod.rs"]
mod check;
mod table;

use table::{frames, mutations};

#[test]
fn every_frame_is_what_the_table_says() {
    let frames = frames();
    for frame in &frames {
        assert_eq!(frame.taken_for(), frame.verdict, "{}", frame.what);
    }
    let mut names: Vec<_> = frames.iter().map(|frame| frame.what).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), frames.len(), "each has a name of its own");
}

/// The flow by the headers alone is that of the segment, and nothing panics or is rewritten wrongly.
#[test]
fn mutations_of_them_are_read_in_one_way() {
    let mut flows = 0;
    for frame in mutations().take(20_000) {
        flows += usize::from(frame.taken_for().contains('>'));
        check::check(&frame.bytes);
    }
    assert!(flows > 3_000, "only {flows} are still of a flow");
}
