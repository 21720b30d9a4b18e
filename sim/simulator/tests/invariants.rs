//! Boxes that bend a rule are caught, each by the check that is meant for it.

use windlass_sim::link::Loss;
use windlass_sim::{Middlebox, Nanos, Scenario, Side, run};
use windlass_wire::{Ecn, Editor, Flags, Segment, Timestamps, insert_option, parse};

/// Changes the n-th frame of one direction, with correct checksums.
struct Faulty<F> {
    toward: Side,
    at: u32,
    seen: u32,
    fault: F,
    held: usize,
}

impl<F: FnMut(&mut Vec<u8>, &Segment)> Middlebox for Faulty<F> {
    fn on_frame(
        &mut self,
        _now: Nanos,
        from: Side,
        mut frame: Vec<u8>,
        out: &mut Vec<(Side, Vec<u8>)>,
    ) {
        if from.other() == self.toward {
            self.seen += 1;
            if self.seen == self.at {
                let segment = parse(&frame, frame.len() as u32).expect("a TCP frame");
                (self.fault)(&mut frame, &segment);
            }
        }
        out.push((from.other(), frame));
    }

    fn poll_at(&self) -> Option<Nanos> {
        None
    }

    fn on_timer(&mut self, _now: Nanos, _out: &mut Vec<(Side, Vec<u8>)>) {}

    fn held_packets(&self) -> usize {
        self.held
    }
}

fn violations(
    toward: Side,
    at: u32,
    held: usize,
    fault: impl FnMut(&mut Vec<u8>, &Segment),
) -> String {
    let mut scenario = Scenario::download(300_000, 50.0, 20.0);
    scenario.down.loss = Loss::Bernoulli { ratio: 0.03 };
    let mut faulty = Faulty {
        toward,
        at,
        seen: 0,
        fault,
        held,
    };
    let outcome = run(&scenario, &mut faulty);
    assert_eq!(outcome.intact, outcome.violations.is_empty());
    outcome.violations.join("\n")
}

fn edited(toward: Side, edit: impl Fn(&mut Editor, &Segment)) -> String {
    violations(toward, 30, 0, |frame, segment| {
        edit(&mut Editor::new(frame, segment), segment);
    })
}

#[track_caller]
fn assert_says(violations: &str, what: &str) {
    assert!(
        violations.contains(what),
        "{what:?} is not in:\n{violations}"
    );
}

#[test]
fn an_innocent_box_is_not_accused() {
    assert_eq!(violations(Side::Inside, 30, 0, |_, _| {}), "");
}

#[test]
fn a_retracted_edge_is_caught() {
    let said = edited(Side::Inside, |e, s| e.set_window(s.window / 2));
    assert_says(&said, "toward the Inside: edge ");
    assert_says(&said, " after ");
}

#[test]
fn an_edge_beyond_the_receivers_is_caught() {
    let said = edited(Side::Inside, |e, s| {
        e.set_window(s.window.saturating_add(2000))
    });
    assert_says(&said, "the receiver's is ");
}

#[test]
fn a_forged_acknowledgement_is_caught() {
    let said = edited(Side::Inside, |e, s| e.set_ack(s.ack.wrapping_add(1)));
    assert_says(&said, "toward the Inside: ACK ");
}

#[test]
fn an_invented_sack_block_is_caught() {
    let mut done = false;
    let mut scenario = Scenario::download(300_000, 50.0, 20.0);
    scenario.down.loss = Loss::Bernoulli { ratio: 0.03 };
    let mut said = String::new();
    for at in 10..200 {
        if done {
            break;
        }
        said = violations(Side::Inside, at, 0, |frame, segment| {
            let Some((start, end)) = segment.options.sack.iter().next() else {
                return;
            };
            done = Editor::new(frame, segment).keep_sack((start, end.wrapping_add(1)));
        });
    }
    assert!(done, "no ACK carried SACK");
    assert_says(&said, "which was never reported");
}

#[test]
fn a_timestamp_that_goes_back_is_caught() {
    let said = edited(Side::Inside, |e, s| {
        let Timestamps { val, ecr } = s.options.timestamps.expect("agreed on");
        e.set_timestamps(Timestamps {
            val: val.wrapping_sub(5),
            ecr,
        });
    });
    assert_says(&said, "toward the Inside: TSval ");
}

#[test]
fn an_echo_of_nothing_is_caught() {
    let said = edited(Side::Inside, |e, s| {
        let Timestamps { val, ecr } = s.options.timestamps.expect("agreed on");
        e.set_timestamps(Timestamps {
            val,
            ecr: ecr.wrapping_add(100_000),
        });
    });
    assert_says(&said, "which was never echoed");
}

#[test]
fn marks_and_answers_to_marks_that_nobody_made_are_caught() {
    let said = edited(Side::Inside, |e, s| e.set_flags(s.flags.with(Flags::ECE)));
    assert_says(&said, "ECE that the receiver did not say");
    let said = edited(Side::Outside, |e, s| e.set_flags(s.flags.with(Flags::CWR)));
    assert_says(&said, "CWR to one who has told of no mark");
    let said = edited(Side::Outside, |e, _| e.set_ecn(Ecn::Ce));
    assert_says(&said, "a mark that nobody has made");
}

#[test]
fn other_options_are_caught() {
    let said = violations(Side::Outside, 1, 0, |frame, segment| {
        // The SYN-ACK's segment size (RFC 9293 §3.2: kind 2, length 4).
        let at = usize::from(segment.at.tcp) + 20;
        let mss = frame[at..].windows(2).position(|bytes| *bytes == [2, 4]);
        frame[at + mss.expect("it names one") + 3] ^= 4;
    });
    assert_says(&said, "a SYN with other options");
    let said = violations(Side::Outside, 30, 0, |frame, segment| {
        let signature = [
            19, 18, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
        ];
        let len = frame.len();
        frame.resize(len + 20, 0);
        insert_option(frame, len, segment, &signature).expect("there is room");
    });
    assert_says(&said, "an option that its sender did not use");
}

#[test]
fn a_forged_reset_is_caught() {
    let said = edited(Side::Outside, |e, s| e.set_flags(s.flags.with(Flags::RST)));
    assert_says(&said, "RST that the sender did not send");
}

#[test]
fn a_changed_byte_is_caught_at_the_box_and_at_the_end() {
    let said = violations(Side::Outside, 30, 0, |frame, segment| {
        frame[usize::from(segment.at.payload)] ^= 1;
    });
    assert_says(&said, "wrong TCP checksum");
    assert_says(&said, "payload differs at offset ");
    assert_says(&said, "the client received damaged frames");
}

#[test]
fn a_changed_port_or_address_is_caught() {
    let said = violations(Side::Outside, 30, 0, |frame, segment| {
        // The two ports of the TCP header: one up, one down keeps the checksum right.
        let at = usize::from(segment.at.tcp);
        frame[at] = frame[at].wrapping_add(1);
        frame[at + 2] = frame[at + 2].wrapping_sub(1);
    });
    assert_says(&said, "a frame of no connection");
    let said = violations(Side::Outside, 30, 0, |frame, segment| {
        // The last bytes of both addresses, likewise.
        let at = usize::from(segment.at.ip);
        frame[at + 15] += 1;
        frame[at + 19] -= 1;
    });
    assert_says(&said, "addresses or ports changed");
}

#[test]
fn a_leak_is_caught() {
    let said = violations(Side::Inside, 1, 3, |_, _| {});
    assert_eq!(said, "the box still holds 3 packets");
}

#[test]
#[should_panic(expected = "replay with Scenario")]
fn a_failure_says_how_to_replay_it() {
    let scenario = Scenario::download(300_000, 50.0, 20.0);
    let mut faulty = Faulty {
        toward: Side::Inside,
        at: 30,
        seen: 0,
        fault: |_: &mut Vec<u8>, _: &Segment| {},
        held: 1,
    };
    run(&scenario, &mut faulty).assert_intact(&scenario);
}
