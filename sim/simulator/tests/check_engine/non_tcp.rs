//! What tenants send without TCP counts against their limits.

use std::net::{Ipv4Addr, Ipv6Addr};

use windlass_engine::{Bounds, Decide, Senders, Side, Tenant, TenantId, Verdict};
use windlass_sim::Nanos;
use windlass_wire::{Addr, FlowKey};

use super::ends::{Bench, MS, SECOND, bbr};

const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const CAP: u64 = 1_000_000;
const BLUE: [u8; 4] = [192, 0, 2, 1];
const GREEN: [u8; 4] = [203, 0, 113, 1];
/// IP payload of a packet, bytes.
const PAYLOAD: usize = 1_000;
const FRAGMENT_HEADER: u8 = 44;

/// Blue has a limit that holds for everything, and green one that holds for TCP.
struct Tenants;

impl Decide for Tenants {
    fn classify(&self, _: &FlowKey, _: Side, _: Nanos) -> Option<Verdict> {
        Some(Verdict {
            tenant: Some(TenantId(0)),
            ..bbr()
        })
    }

    fn tenants(&self) -> Vec<Tenant> {
        let tenant = |name: &str, first: &[Addr], non_tcp| Tenant {
            name: name.to_owned(),
            cap: Some(CAP),
            senders: first
                .iter()
                .map(|&first| Senders { first, bits: 120 })
                .collect(),
            bounds: Bounds {
                non_tcp,
                unknown_tcp: false,
            },
        };
        let v4 = |addr: [u8; 4]| Addr::from(Ipv4Addr::from(addr));
        let v6 = Addr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0));
        vec![
            tenant("blue", &[v4([192, 0, 2, 0]), v6], true),
            tenant("green", &[v4([203, 0, 113, 0])], false),
        ]
    }
}

fn v4(src: [u8; 4], protocol: u8, offset: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    let len = (20 + PAYLOAD) as u16;
    frame.extend([0x45, 0]);
    frame.extend(len.to_be_bytes());
    frame.extend([0, 7]);
    frame.extend(offset.to_be_bytes());
    frame.extend([64, protocol, 0, 0]);
    frame.extend(src);
    frame.extend([198, 51, 100, 2]);
    frame.extend([0x11; PAYLOAD]);
    frame
}

fn v6(next: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((PAYLOAD as u16).to_be_bytes());
    frame.extend([next, 64]);
    frame.extend(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9).octets());
    frame.extend(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 9).octets());
    // Behind a fragment header stands the protocol that is carried.
    frame.extend([UDP, 0, 0, 1]);
    frame.extend([0x11; PAYLOAD - 4]);
    frame
}

/// Of ten packets a millisecond over a second, how many go on, a second.
fn go_on(frame: &[u8]) -> usize {
    let mut bench = Bench::new(Tenants);
    bench.pass(SECOND);
    for _ in 0..1000 {
        for _ in 0..10 {
            bench.put_frame(Side::Inside, frame);
        }
        bench.pass(MS);
    }
    let counters = bench.engine.counters();
    let dropped = counters.non_tcp_dropped as usize;
    assert_eq!(bench.out.len() + dropped, 10_000);
    assert!(
        bench
            .out
            .iter()
            .all(|(to, out, _)| *to == Side::Outside && out == frame)
    );
    let blue = bench.engine.tenants().next().expect("blue").clone();
    assert_eq!(blue.policed_packets as usize, dropped);
    assert_eq!(blue.policed_bytes as usize, dropped * PAYLOAD);
    assert_eq!(bench.pool.live(), 0, "what is dropped is freed");
    bench.out.len()
}

#[test]
fn what_is_sent_without_tcp_counts_against_the_limit() {
    let fits = CAP as usize / PAYLOAD;
    let limited = fits..fits + 20;
    for frame in [
        v4(BLUE, UDP, 0),
        v4(BLUE, 132, 0),
        // The first part of a datagram, another one, and a part of a TCP segment.
        v4(BLUE, UDP, 0x2000),
        v4(BLUE, UDP, 0x00b9),
        v4(BLUE, 6, 0x00b9),
        v6(UDP),
        v6(FRAGMENT_HEADER),
    ] {
        let count = go_on(&frame);
        assert!(limited.contains(&count), "{count}: {:02x?}", &frame[..40]);
    }
}

#[test]
fn other_senders_and_icmp_go_on() {
    for frame in [v4(BLUE, ICMP, 0), v6(ICMPV6), v4(GREEN, UDP, 0)] {
        assert_eq!(go_on(&frame), 10_000, "{:02x?}", &frame[..40]);
    }
}

#[test]
fn in_a_bypass_everything_goes_on() {
    let mut bench = Bench::new(Tenants);
    let (now, mut txs) = (bench.now, Vec::new());
    bench
        .engine
        .set_bypass(true, now, &mut bench.pool, &mut txs);
    for _ in 0..1000 {
        bench.put_frame(Side::Inside, &v4(BLUE, UDP, 0));
    }
    assert_eq!(bench.out.len(), 1000);
}

/// What TCP sends and what is sent without it have their turns in one line.
#[test]
fn a_segment_waits_behind_what_was_sent_without_tcp() {
    let data_after = |datagrams: usize| {
        let mut bench = Bench::new(Tenants);
        bench.handshake();
        bench.pass(SECOND);
        for _ in 0..datagrams {
            bench.put_frame(Side::Inside, &v4(BLUE, UDP, 0));
        }
        bench.out.clear();
        let began = bench.now;
        bench.server_data(1, 1);
        while bench.out.is_empty() {
            bench.pass(MS / 10);
            assert!(bench.now < began + SECOND);
        }
        bench.now - began
    };
    assert!(data_after(0) <= MS / 10);
    let waited = data_after(100);
    assert!((9 * MS..13 * MS).contains(&waited), "{waited} ns");
}
