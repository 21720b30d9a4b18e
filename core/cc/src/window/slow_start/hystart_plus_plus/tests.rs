use super::*;

/// Runs whole rounds of `ACKS` ACKs of one segment, all with the same RTT.
struct Run {
    hystart: HyStartPlusPlus,
    path: Path,
}

const ACKS: u64 = 10;
const MSS: u64 = 1000;

impl Run {
    fn new() -> Self {
        Run {
            hystart: HyStartPlusPlus::default(),
            path: Path::new(MSS as u32),
        }
    }

    fn round(&mut self, rtt_ms: u64) -> Vec<Growth> {
        (0..ACKS).map(|_| self.ack(rtt_ms)).collect()
    }

    fn ack(&mut self, rtt_ms: u64) -> Growth {
        self.path.delivered += MSS;
        let event = AckEvent {
            delivered: MSS,
            acked: MSS,
            inflight_before: ACKS * MSS,
            inflight: ACKS * MSS,
            rtt: Some(rtt_ms * MILLISECOND),
            ..AckEvent::default()
        };
        self.hystart.on_ack(&event, &self.path)
    }
}

/// RFC 9406 §4.2: eight samples, and a rise by RTT/8 within 4..16 ms.
#[test]
fn enters_css_at_the_eighth_sample_of_a_round_that_rose_by_an_eighth() {
    let mut run = Run::new();
    assert!(run.round(100).iter().all(|g| *g == Growth::By(MSS)));
    for sample in 1..=7 {
        assert_eq!(run.ack(113), Growth::By(MSS), "sample {sample}");
    }
    assert_eq!(run.ack(113), Growth::By(MSS / 4));
}

#[test]
fn the_threshold_is_an_eighth_clamped_to_4_and_16_ms() {
    for (base, below, at) in [(8, 11, 12), (64, 71, 72), (400, 415, 416)] {
        let mut calm = Run::new();
        calm.round(base);
        calm.round(below);
        assert!(!calm.hystart.is_conservative(), "{base} -> {below}");
        let mut raised = Run::new();
        raised.round(base);
        raised.round(at);
        assert!(raised.hystart.is_conservative(), "{base} -> {at}");
    }
}

/// RFC 9406 §4.2: five rounds of CSS, of which the partial first one counts.
#[test]
fn leaves_after_five_css_rounds() {
    let mut run = Run::new();
    run.round(100);
    for round in 1..=4 {
        assert!(!run.round(120).contains(&Growth::Exit), "round {round}");
    }
    assert_eq!(run.round(120).last(), Some(&Growth::Exit));
    assert_eq!(run.ack(120), Growth::By(MSS), "only once in a flow's life");
}

#[test]
fn a_lower_rtt_takes_css_back() {
    let mut run = Run::new();
    run.round(100);
    run.round(120);
    assert!(run.hystart.is_conservative());
    run.round(101);
    assert!(!run.hystart.is_conservative());
}

#[test]
fn a_steady_rtt_never_leaves() {
    let mut run = Run::new();
    for _ in 0..200 {
        assert!(run.round(50).iter().all(|g| *g == Growth::By(MSS)));
    }
}
