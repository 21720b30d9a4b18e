//! Of which connections packets are taken.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use windlass_engine::{Pool, Side};
use windlass_io::{Driver, DriverConfig, Follows, Prefer, monotonic_ns};
use windlass_wire::FlowKey;

use crate::MIB;
use crate::lab::{A, B, Forwarder, Lab, config, exchange};

/// Long enough for the forwarder to have done what it was told.
const SETTLED: Duration = Duration::from_millis(50);

fn following(follows: Follows) -> DriverConfig {
    DriverConfig {
        follows: Some(follows),
        ..config(Prefer::Auto)
    }
}

fn follow(box_: &Forwarder, client: &TcpStream, number: Option<u32>) {
    let key = FlowKey {
        src: A.into(),
        dst: B.into(),
        src_port: client.local_addr().expect("bound").port(),
        dst_port: 5000,
        ..FlowKey::default()
    };
    box_.order(move |_, drivers| drivers[0].follow(&key, number));
    std::thread::sleep(SETTLED);
}

#[test]
fn only_what_is_followed_is_taken_and_syns() {
    let Some(lab) = Lab::new(1500) else { return };
    let follows = Follows {
        flows: 1,
        ..Follows::default()
    };
    let Some(box_) = Forwarder::start(&lab, following(follows), 1) else {
        return;
    };
    let (client, server) = lab.connect(5000);
    exchange(&client, &server, MIB);
    let before = box_.counters();
    assert_eq!(before.taken, 1, "the SYN");
    assert!(before.passed_not_followed > 700, "{before:?}");

    follow(&box_, &client, Some(5));
    exchange(&client, &server, MIB);
    let followed = box_.counters();
    assert!(followed.taken > 700, "{followed:?}");
    assert_eq!(followed.passed_not_followed, before.passed_not_followed);

    // There is room for one.
    let (second, server_of_second) = lab.connect(5001);
    follow(&box_, &second, Some(6));
    let stats = box_.order(|_, drivers| drivers[0].stats());
    assert_eq!(stats.frames.not_followed, 1);
    exchange(&second, &server_of_second, MIB);

    follow(&box_, &client, None);
    let before = box_.counters();
    exchange(&client, &server, MIB);
    let after = box_.stop().counters;
    assert_eq!(after.taken, before.taken, "both directions pass");
    assert!(after.passed_not_followed > before.passed_not_followed + 700);
}

/// A worker that is late learns when packets came.
#[test]
fn packets_say_when_they_came() {
    for prefer in [Prefer::Native, Prefer::Generic] {
        let Some(lab) = Lab::new(1500) else { return };
        let Some(box_) = Forwarder::start(&lab, config(prefer), 1) else {
            return;
        };
        let (client, _server) = lab.connect(5000);
        let late = box_.order(move |_, drivers| {
            let before = monotonic_ns();
            (&client).write_all(b"hello").expect("written");
            std::thread::sleep(SETTLED);
            let mut packets = Vec::new();
            let driver = &mut drivers[0];
            driver
                .receive(Side::Outside, 1, &mut packets)
                .expect("receive");
            let now = monotonic_ns();
            let at = driver.arrived_at(packets[0], now).expect("it is told");
            driver.free(packets[0]);
            (at - before, now - at)
        });
        let settled = SETTLED.as_nanos() as u64;
        assert!(
            late.0 < settled / 2,
            "came soon after it was sent: {late:?}"
        );
        assert!(late.1 > settled / 2, "{late:?}");
        box_.stop();
    }
}

/// The connections of a few missed packets are known.
#[test]
fn what_is_missed_has_a_number() {
    let Some(lab) = Lab::new(1500) else { return };
    let follows = Follows {
        flows: 10,
        ..Follows::default()
    };
    let Some(box_) = Forwarder::start(&lab, following(follows), 1) else {
        return;
    };
    let (client, server) = lab.connect(5000);
    follow(&box_, &client, Some(5));
    exchange(&client, &server, MIB);
    // Nobody reads meanwhile: the first wait in the ring, unanswered, and those after the patience pass.
    client.set_nodelay(true).expect("an option");
    let numbers = box_.order(move |_, drivers| {
        let before = drivers[0].missed();
        for _ in 0..6 {
            (&client).write_all(b"hello").expect("written");
            std::thread::sleep(SETTLED * 2);
        }
        drivers[0].missed_since(before)
    });
    let numbers = numbers.expect("they are few");
    assert!(
        !numbers.is_empty() && numbers.iter().all(|&n| n == 5),
        "{numbers:?}"
    );
    box_.stop();
}

/// SYNs beyond the rate go by the bridge: the connections come about all the same.
#[test]
fn syns_beyond_the_rate_go_by_the_bridge() {
    const CONNECTIONS: u64 = 100;
    for (in_all, of_prefix) in [(100, 0), (0, 100)] {
        let Some(lab) = Lab::new(1500) else { return };
        let follows = Follows {
            flows: 1000,
            syns_per_second: in_all,
            syns_per_second_per_prefix: of_prefix,
            ..Follows::default()
        };
        let Some(box_) = Forwarder::start(&lab, following(follows), 1) else {
            return;
        };
        let listener = lab.within("b", || TcpListener::bind((B, 5000)));
        let _listener = listener.expect("listen");
        let began = std::time::Instant::now();
        let streams = lab.within("a", || {
            let connect = |_| TcpStream::connect((B, 5000)).expect("connect");
            (0..CONNECTIONS).map(connect).collect::<Vec<_>>()
        });
        let took = began.elapsed();
        assert_eq!(streams.len() as u64, CONNECTIONS);
        let counters = box_.stop().counters;
        // A quarter of a second's at once, and what the rate allows meanwhile.
        let allowed = 26 + (took.as_secs_f64() * 100.0).ceil() as u64;
        assert!((25..=allowed).contains(&counters.taken), "{counters:?}");
        let all = counters.taken + counters.passed_syn_rate;
        assert!(all >= CONNECTIONS, "{counters:?}");
        assert!(counters.passed_syn_rate > 0, "{counters:?}, {took:?}");
    }
}

/// Packets of connections that nobody follows are shown to the worker at a limited rate, and go on in any case.
#[test]
fn strangers_are_shown_at_a_limited_rate() {
    for per_second in [0, 40] {
        let Some(lab) = Lab::new(1500) else { return };
        let follows = Follows {
            flows: 10,
            strangers_per_second: per_second,
            ..Follows::default()
        };
        let Some(box_) = Forwarder::start(&lab, following(follows), 1) else {
            return;
        };
        let (client, server) = lab.connect(5000);
        let began = std::time::Instant::now();
        exchange(&client, &server, MIB);
        let took = began.elapsed();
        let counters = box_.stop().counters;
        // A quarter of a second's at once, of each side, and what the rate allows meanwhile; the SYN, besides.
        let allowed = |rate: u32| {
            u64::from(rate) / 2 + 2 + (2.0 * took.as_secs_f64() * f64::from(rate)).ceil() as u64
        };
        assert!(counters.taken <= 1 + allowed(per_second), "{counters:?}");
        assert!(per_second == 0 || counters.taken > 10, "{counters:?}");
    }
}

#[test]
fn under_a_flood_a_tenth_of_the_syns_is_taken() {
    let Some(lab) = Lab::new(1500) else { return };
    let follows = Follows {
        flows: 1000,
        syns_per_second: 400,
        ..Follows::default()
    };
    let Some(box_) = Forwarder::start(&lab, following(follows), 1) else {
        return;
    };
    let listener = lab.within("b", || TcpListener::bind((B, 5000)));
    let _listener = listener.expect("listen");
    let taken_of_forty = |flood: bool| {
        box_.order(move |_, drivers| drivers[0].limit_syns(flood));
        let before = box_.counters().taken;
        let streams = lab.within("a", || {
            let connect = |_| TcpStream::connect((B, 5000)).expect("connect");
            (0..40).map(connect).collect::<Vec<_>>()
        });
        drop(streams);
        box_.counters().taken - before
    };
    assert_eq!(taken_of_forty(false), 40);
    let under_flood = taken_of_forty(true);
    assert!((10..40).contains(&under_flood), "{under_flood}");
    assert_eq!(taken_of_forty(false), 40);
    box_.stop();
}
