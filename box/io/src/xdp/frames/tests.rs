use proptest::prelude::*;

use super::*;

const FRAME: u32 = 2048;
const SEED: u32 = 0xabcd_ef12;

fn frames(count: u32) -> Frames {
    Frames::new(count, FRAME, SEED).expect("memory")
}

/// A packet of `lens` as the kernel would hand it over.
fn received(frames: &mut Frames, lens: &[u32]) -> Pkt {
    let parts: Vec<Part> = lens
        .iter()
        .map(|&len| Part {
            addr: frames.lend().expect("a free frame") + 256,
            len,
        })
        .collect();
    frames.adopt(parts.into_iter()).expect("not empty")
}

#[test]
fn alloc_is_zeroed_and_bounded() {
    let mut f = frames(1);
    let p = f.alloc(100).expect("free");
    f.head_mut(p).fill(7);
    assert!(f.alloc(1).is_none());
    f.free(p);
    assert!(f.alloc(FRAME - HEADROOM_BYTES + 1).is_none());
    let p = f.alloc(FRAME - HEADROOM_BYTES).expect("free");
    assert!(f.head(p).iter().all(|&b| b == 0));
    assert_eq!(f.len(p), FRAME - HEADROOM_BYTES);
}

#[test]
fn when_a_packet_came_stands_in_front_of_it() {
    let mut f = frames(32);
    let p = received(&mut f, &[100]);
    assert_eq!(f.arrived_at(p, 5000), None, "nothing is told");
    let tell = |f: &mut Frames, mark: u64, at: u64| {
        let place = Part {
            addr: f.parts(p).next().expect("a part").addr - 16,
            len: 16,
        };
        f.bytes_mut(place)[..8].copy_from_slice(&mark.to_ne_bytes());
        f.bytes_mut(place)[8..].copy_from_slice(&at.to_ne_bytes());
    };
    let mark = u64::from(SEED) << 32 | u64::from(SEED);
    tell(&mut f, mark, 4000);
    assert_eq!(f.arrived_at(p, 5000), Some(4000));
    assert_eq!(f.arrived_at(p, 3999), None, "it has not come yet");
    assert_eq!(f.arrived_at(p, 4000 + ARRIVAL_MAX_AGE_NS), None);
    tell(&mut f, mark + 1, 4000);
    assert_eq!(f.arrived_at(p, 5000), None, "somebody else's");
}

#[test]
fn resize_keeps_bytes_and_zeroes_what_it_adds() {
    let mut f = frames(32);
    let p = received(&mut f, &[1514]);
    f.head_mut(p).fill(9);
    assert!(f.resize(p, 60));
    assert!(f.resize(p, 124));
    assert_eq!((f.head(p)[59], f.head(p)[60], f.head(p).len()), (9, 0, 124));
    assert!(f.resize(p, FRAME - 256));
    assert!(!f.resize(p, FRAME - 255));
    let chain = received(&mut f, &[1792, 100]);
    assert!(!f.resize(chain, 50));
    assert_eq!(f.len(chain), 1892);
}

#[test]
fn a_chain_is_freed_as_one() {
    let mut f = frames(32);
    let p = received(&mut f, &[1792, 1792, 10]);
    assert_eq!((f.held_count(), f.free_count()), (3, 29));
    assert_eq!(f.head(p).len(), 1792);
    assert_eq!(
        f.parts(p).map(|p| p.len).collect::<Vec<_>>(),
        [1792, 1792, 10]
    );
    let q = f.share(p);
    f.free(p);
    assert_eq!(f.held_count(), 3);
    f.free(q);
    assert_eq!((f.held_count(), f.free_count()), (0, 32));
}

#[test]
fn every_descriptor_in_flight_holds_a_reference() {
    let mut f = frames(32);
    let p = received(&mut f, &[1792, 10]);
    let addrs: Vec<u64> = f.parts(p).map(|p| p.addr).collect();
    // Held for retransmission and transmitted twice at once.
    for _ in 0..2 {
        let tx = f.share(p);
        f.reference_descriptors(tx, 2);
    }
    f.complete(addrs[0]);
    f.complete(addrs[0]);
    f.complete(addrs[1]);
    f.free(p);
    assert_eq!(f.held_count(), 2, "one completion is still due");
    f.complete(addrs[1]);
    assert_eq!((f.held_count(), f.free_count()), (0, 32));
}

#[test]
fn a_copy_is_independent() {
    let mut f = frames(32);
    let p = received(&mut f, &[1792, 10]);
    f.head_mut(p).fill(1);
    let c = f.copy(p).expect("room");
    f.head_mut(c)[0] = 2;
    assert_eq!((f.head(p)[0], f.head(c)[0], f.head(c)[1]), (1, 2, 1));
    assert_eq!(f.parts(c).map(|p| p.len).collect::<Vec<_>>(), [1792, 10]);
    f.free(p);
    assert_eq!((f.len(c), f.held_count()), (1802, 2));
}

#[test]
fn copy_takes_nothing_when_memory_is_short() {
    let mut f = frames(3);
    let p = received(&mut f, &[1792, 10]);
    assert!(f.copy(p).is_none());
    assert_eq!(f.free_count(), 1);
}

#[test]
fn reception_leaves_the_reserve_to_alloc() {
    let mut f = frames(64);
    let lent = std::iter::from_fn(|| f.lend()).count();
    assert_eq!(lent, 60);
    assert!((0..4).all(|_| f.alloc(60).is_some()));
    assert!(f.alloc(60).is_none());
}

#[test]
#[should_panic(expected = "not live")]
fn a_dead_handle_is_refused() {
    let mut f = frames(1);
    let p = f.alloc(60).expect("free");
    f.free(p);
    f.head(p);
}

#[derive(Clone, Debug)]
enum Step {
    Alloc(u32),
    Receive(u8),
    Share(usize),
    Free(usize),
    Copy(usize),
    Transmit(usize),
    Complete(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1u32..2100).prop_map(Step::Alloc),
        (1u8..5).prop_map(Step::Receive),
        any::<usize>().prop_map(Step::Share),
        any::<usize>().prop_map(Step::Free),
        any::<usize>().prop_map(Step::Copy),
        any::<usize>().prop_map(Step::Transmit),
        any::<usize>().prop_map(Step::Complete),
    ]
}

proptest! {
    /// Whatever happens, no frame is lost, none is used twice, and contents stay apart.
    #[test]
    fn no_frame_is_lost_or_used_twice(steps in prop::collection::vec(step(), 1..200)) {
        const COUNT: u32 = 32;
        let mut f = frames(COUNT);
        let mut references: Vec<(Pkt, u8)> = Vec::new();
        let mut in_flight: Vec<u64> = Vec::new();
        let mut mark = 0u8;
        for step in steps {
            let pick = |i: usize| references.get(i % references.len().max(1)).copied();
            match step {
                Step::Alloc(len) => {
                    if let Some(p) = f.alloc(len) {
                        mark = mark.wrapping_add(1);
                        f.head_mut(p)[0] = mark;
                        references.push((p, mark));
                    }
                }
                Step::Receive(parts) => {
                    if f.free_count() > f.shares().reserve + u32::from(parts) {
                        let p = received(&mut f, &vec![100; parts.into()]);
                        mark = mark.wrapping_add(1);
                        f.head_mut(p)[0] = mark;
                        references.push((p, mark));
                    }
                }
                Step::Share(i) => if let Some((p, m)) = pick(i) {
                    references.push((f.share(p), m));
                },
                Step::Free(i) => if let Some((p, m)) = pick(i) {
                    prop_assert_eq!(f.head(p)[0], m);
                    let at = i % references.len();
                    references.swap_remove(at);
                    f.free(p);
                },
                Step::Copy(i) => if let Some((p, m)) = pick(i) && let Some(c) = f.copy(p) {
                    references.push((c, m));
                },
                Step::Transmit(i) => if let Some((p, _)) = pick(i) {
                    let tx = f.share(p);
                    let parts: Vec<u64> = f.parts(tx).map(|p| p.addr).collect();
                    f.reference_descriptors(tx, parts.len() as u32);
                    in_flight.extend(parts);
                },
                Step::Complete(i) => if !in_flight.is_empty() {
                    let addr = in_flight.swap_remove(i % in_flight.len());
                    f.complete(addr);
                },
            }
            prop_assert_eq!(f.free_count() + f.held_count(), COUNT);
        }
        for (p, m) in references {
            prop_assert_eq!(f.head(p)[0], m);
            f.free(p);
        }
        for addr in in_flight {
            f.complete(addr);
        }
        prop_assert_eq!(f.free_count(), COUNT);
    }
}

/// A packet that the kernel has cut into several frames is verified whole.
#[test]
fn all_parts_are_verified() {
    let mut f = frames(8);
    let frame = windlass_wire::FrameSpec {
        payload: (0..3000u32).map(|i| (i * 7) as u8).collect(),
        ..windlass_wire::FrameSpec::default()
    }
    .build();
    let p = received(&mut f, &[1515, frame.len() as u32 - 1515]);
    let parts: Vec<Part> = f.parts(p).collect();
    let (first, second) = frame.split_at(1515);
    f.bytes_mut(parts[0]).copy_from_slice(first);
    f.bytes_mut(parts[1]).copy_from_slice(second);
    let segment = windlass_wire::parse(f.head(p), f.len(p)).expect("a segment");
    assert!(f.verify(p, &segment));
    f.bytes_mut(parts[1])[700] ^= 4;
    assert!(!f.verify(p, &segment));
}
