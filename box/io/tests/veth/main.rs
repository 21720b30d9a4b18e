//! Real TCP through the drivers, between network namespaces. Needs root; skipped without.

mod bounded;
mod fail_open;
mod follows;
mod lab;
mod refusals;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use windlass_engine::{Pkt, Pool, Room, Side, Tx, TxChecksum, Why};
use windlass_io::interface::{Interface, disable_segment_offloads, index};
use windlass_io::{Driver, Mode, Prefer, packet};

use lab::{A, B, Forwarder, Lab, config, exchange};

const MIB: usize = 1 << 20;

#[test]
fn tcp_arrives_intact_with_checksum_offload_and_the_rest_goes_by_the_bridge() {
    let Some(lab) = Lab::new(1500) else { return };
    let host = lab.within("a", || Interface::get("a0")).expect("a0");
    assert!(
        host.offloads.tx_checksum,
        "the hosts leave checksums to be completed"
    );
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Native), 1) else {
        return;
    };
    assert_eq!((box_.info.mode, box_.info.fail_open), (Mode::Native, true));
    assert!(lab.ping());
    lab.transfer(5000, 16 * MIB);
    let outcome = box_.stop();
    let least = (2 * 16 * MIB / 1448) as u64;
    assert!(outcome.counters.taken >= least, "{:?}", outcome.counters);
    assert!(outcome.counters.passed_not_tcp >= 4, "ping and ARP");
    let stats = outcome.stats[0];
    for side in [Side::Inside, Side::Outside] {
        let s = stats.sides[side.index()];
        assert_eq!(s.rx_packets, stats.sides[side.other().index()].tx_packets);
        assert!(s.rx_bytes > 16 * MIB as u64);
    }
    assert_eq!(stats.frames.frames_held, 0, "{stats:?}");
}

/// With an XDP program at its peer, a veth cannot change segmentation, which is off then.
#[test]
fn offloads_of_a_host_are_turned_off_while_the_box_runs() {
    let Some(lab) = Lab::new(1500) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Native), 1) else {
        return;
    };
    let left = lab.within("a", || disable_segment_offloads("a0"));
    let left = left.expect("what cannot be changed is left");
    assert!(!(left.tso || left.gso || left.gro), "{left:?}");
    box_.stop();
}

#[test]
fn jumbo_frames_are_chains() {
    let Some(lab) = Lab::new(9000) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Native), 1) else {
        return;
    };
    lab.transfer(5000, 16 * MIB);
    let outcome = box_.stop();
    assert_eq!(outcome.longest, 9014);
    assert_eq!(outcome.stats[0].frames.frames_held, 0);
}

#[test]
fn one_frame_may_be_in_the_ring_twice() {
    for mtu in [1500, 9000] {
        let Some(lab) = Lab::new(mtu) else { return };
        let Some(box_) = Forwarder::start(&lab, config(Prefer::Auto), 2) else {
            return;
        };
        lab.transfer(5000, 2 * MIB);
        let stats = box_.stop().stats[0];
        let [inside, outside] = stats.sides;
        assert_eq!(
            outside.tx_packets + outside.tx_dropped,
            2 * inside.rx_packets
        );
        assert_eq!(stats.frames.frames_held, 0, "{stats:?}");
    }
}

/// All that may be held is held: acknowledgements come in all the same, and so does data that is passed on.
#[test]
fn what_is_held_takes_no_frame_from_reception() {
    for frames in [8192, 65_536] {
        let Some(lab) = Lab::new(1500) else { return };
        let config = windlass_io::DriverConfig {
            frames,
            ..config(Prefer::Auto)
        };
        let may_hold = config.hold_frames();
        let Some(box_) = Forwarder::start(&lab, config, 1) else {
            return;
        };
        let held: Vec<Pkt> = box_.order(|_, drivers| {
            let driver = &mut drivers[0];
            let more = || (driver.room() != Room::None).then(|| driver.alloc(60));
            let held = std::iter::from_fn(more);
            held.map(|pkt| pkt.expect("a frame")).collect()
        });
        assert!(held.len() + 64 > may_hold as usize, "{}", held.len());
        lab.transfer(5000, 4 * MIB);
        let (room, stats) = box_.order(move |_, drivers| {
            let driver = &mut drivers[0];
            let seen = (driver.room(), driver.stats());
            held.into_iter().for_each(|pkt| driver.free(pkt));
            seen
        });
        assert_eq!(room, Room::None);
        assert_eq!(stats.frames.rx_starved, 0, "{stats:?}");
        for side in stats.sides {
            assert_eq!((side.rx_dropped, side.tx_dropped), (0, 0), "{stats:?}");
            assert!(side.rx_packets > (4 * MIB / 1448) as u64, "{stats:?}");
        }
        assert_eq!(box_.stop().stats[0].frames.frames_held, 0);
    }
}

/// What flows had queued leaves at once when they are let go of: more than a ring takes.
#[test]
fn a_burst_that_exceeds_the_ring_waits() {
    const PACKETS: usize = 8000;
    for prefer in [Prefer::Auto, Prefer::Packet] {
        let Some(lab) = Lab::new(1500) else { return };
        let config = windlass_io::DriverConfig {
            frames: 32_768,
            ..config(prefer)
        };
        let Some(box_) = Forwarder::start(&lab, config, 1) else {
            return;
        };
        box_.order(|_, drivers| {
            let driver = &mut drivers[0];
            let mut out: Vec<Tx> = (0..PACKETS)
                .map(|_| {
                    let pkt = driver.alloc(60).expect("a frame");
                    driver.head_mut(pkt).fill(0);
                    let (to, checksum) = (Side::Outside, TxChecksum::Done);
                    Tx {
                        pkt,
                        to,
                        checksum,
                        why: Why::Forwarded,
                    }
                })
                .collect();
            driver.transmit(&mut out).expect("transmit");
        });
        let outside = box_.stop().stats[0].sides[Side::Outside.index()];
        assert_eq!(outside.tx_dropped, 0, "{prefer:?}");
        assert!(outside.tx_packets >= PACKETS as u64, "{prefer:?}");
    }
}

#[test]
fn generic_mode_leaves_offload_segments_to_the_bridge() {
    let Some(lab) = Lab::new(1500) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Generic), 1) else {
        return;
    };
    assert_eq!(box_.info.mode, Mode::Generic);
    lab.transfer(5000, 4 * MIB);
    let before = box_.counters();
    assert!(before.passed_too_long > 0 && before.taken > 0, "{before:?}");
    for (end, name) in [("a", "a0"), ("b", "b0")] {
        assert!(lab.exec(end, &["ethtool", "-K", name, "tso", "off", "gso", "off"]));
    }
    lab.transfer(5001, 4 * MIB);
    let after = box_.stop().counters;
    assert_eq!(after.passed_too_long, before.passed_too_long);
    assert!(after.taken - before.taken > (8 * MIB / 1448) as u64);
}

#[test]
fn ungoverned_ports_and_bypass_go_by_the_bridge() {
    let Some(lab) = Lab::new(1500) else { return };
    let governed = windlass_io::DriverConfig {
        ports: vec![5000],
        ..config(Prefer::Auto)
    };
    let Some(box_) = Forwarder::start(&lab, governed, 1) else {
        return;
    };
    lab.transfer(6000, MIB);
    let counters = box_.counters();
    assert_eq!(counters.taken, 0);
    assert!(counters.passed_port > 700, "{counters:?}");
    lab.transfer(5000, MIB);
    box_.order(|session, _| session.set_bypass(true).expect("bypass"));
    // Counted now, for the transfer's last packets may still have come before.
    let taken = box_.counters().taken;
    assert!(taken > 700);

    lab.transfer(5000, MIB);
    assert!(box_.counters().passed_bypass > 700);
    assert_eq!(box_.stop().counters.taken, taken);
}

#[test]
fn the_box_itself_can_be_reached() {
    let Some(lab) = Lab::new(1500) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Auto), 1) else {
        return;
    };
    let own = SocketAddr::from(([10, 79, 0, 3], 22));
    lab.ip("m", &["addr", "add", "10.79.0.3/24", "dev", "windlass0"]);
    let listener = lab
        .within("m", move || TcpListener::bind(own))
        .expect("listen");
    let patience = Duration::from_secs(5);
    let client = lab.within("a", move || TcpStream::connect_timeout(&own, patience));
    let (server, _) = listener.accept().expect("accept");
    exchange(&client.expect("connect"), &server, MIB);
    let counters = box_.stop().counters;
    assert_eq!(counters.taken, 0);
    assert!(counters.passed_local > 0, "{counters:?}");
}

#[test]
fn every_queue_has_a_driver() {
    let Some(lab) = Lab::new(1500) else { return };
    for name in ["a1", "b1"] {
        if !lab.exec("m", &["ethtool", "-L", name, "rx", "2", "tx", "2"]) {
            eprintln!("skipped: one CPU, so veth has one queue");
            return;
        }
    }
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Auto), 1) else {
        return;
    };
    assert_eq!(box_.info.queues, 2);
    lab.transfer(5000, 2 * MIB);
    let outcome = box_.stop();
    assert_eq!(
        (outcome.stats.len(), outcome.counters.passed_no_socket),
        (2, 0)
    );
}

#[test]
fn vlan_tags_stay() {
    let Some(lab) = Lab::new(1500) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Auto), 1) else {
        return;
    };
    let mac = |end: &'static str| {
        let name = format!("{end}0");
        lab.within(end, move || Interface::get(&name))
            .expect("interface")
            .mac
            .expect("mac")
    };
    let (from, to) = (mac("a"), mac("b"));
    let mut a = lab
        .within("a", || packet::Interface::open("a0"))
        .expect("a0");
    let mut b = lab
        .within("b", || packet::Interface::open("b0"))
        .expect("b0");
    for tags in [1, 2] {
        let mut frame = [to, from].concat();
        if tags == 2 {
            frame.extend([0x88, 0xa8, 0x00, 0x2a]);
        }
        frame.extend([0x81, 0x00, 0x60, 0x07]);
        frame.extend([0x08, 0x00]);
        let ip = etherparse::PacketBuilder::ipv4(A.octets(), B.octets(), 64).tcp(7, 5000, 1, 9);
        ip.write(&mut frame, &lab::pattern(100, tags))
            .expect("a vector");
        assert!(a.send(&frame).expect("send"));
        let deadline = Instant::now() + Duration::from_secs(2);
        let mut buffer = [0; 2048];
        loop {
            assert!(
                Instant::now() < deadline,
                "the frame with {tags} tags did not arrive"
            );
            match b.recv(&mut buffer).expect("receive") {
                Some(got) if buffer[..got.len] == frame[..] => break,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
    assert!(box_.stop().counters.taken >= 2);
}

#[test]
fn af_packet_forwards_offload_segments() {
    let Some(lab) = Lab::new(1500) else { return };
    let Some(box_) = Forwarder::start(&lab, config(Prefer::Packet), 1) else {
        return;
    };
    assert!(!box_.info.fail_open);
    assert!(lab.ping(), "the driver forwards everything");
    lab.transfer(5000, 8 * MIB);
    let outcome = box_.stop();
    assert!(outcome.longest > 1514, "TSO is on: {}", outcome.longest);
    let stats = outcome.stats[0];
    assert_eq!(
        (stats.sides[0].tx_dropped, stats.sides[1].tx_dropped),
        (0, 0)
    );
    assert_eq!(stats.frames.frames_held, 0);
}

#[test]
fn a_trunk_sees_every_interface_and_when_frames_came() {
    let Some(lab) = Lab::new(1500) else { return };
    let before = windlass_io::monotonic_ns();
    let (mut trunk, ports) = lab.within("m", || {
        let ports = ["a1", "b1"].map(|name| index(name).expect("an interface"));
        (packet::Trunk::open(1500).expect("a trunk"), ports)
    });
    // Nobody answers: these are ARP requests.
    for (end, target) in [("a", B), ("b", A)] {
        let target = target.to_string();
        assert!(!lab.exec(end, &["ping", "-q", "-c", "1", "-W", "1", &target]));
    }
    // However late it is read.
    let late = windlass_io::monotonic_ns();
    std::thread::sleep(Duration::from_millis(100));
    let (mut times, mut seen, mut last) = (Vec::new(), [0, 0], None);
    trunk.receive(usize::MAX, |taken| {
        assert_eq!(taken.bytes.len(), taken.len);
        times.push(taken.at);
        let port = ports.iter().position(|port| *port == taken.interface);
        seen[port.expect("one of the two")] += 1;
        last = Some((taken.bytes.to_vec(), taken.offload));
    });
    assert!(
        seen[0] > 0 && seen[1] > 0 && times.is_sorted(),
        "{seen:?}, {times:?}"
    );
    // The hosts' own IPv6 goes on meanwhile.
    let span = before..late;
    let in_time = times.iter().filter(|at| span.contains(at)).count();
    assert!(
        in_time >= 2 && span.contains(&times[0]),
        "{span:?}: {times:?}"
    );
    assert_eq!(trunk.take_dropped(), 0);
    let (frame, offload) = last.expect("a frame");
    assert!(trunk.send(ports[0], &frame, &offload).expect("sent"));
    assert!(trunk.send(ports[1] + 1000, &frame, &offload).is_err());
}

#[test]
fn a_trunk_that_is_kept_to_a_network_sees_nothing_for_others() {
    let Some(lab) = Lab::new(1500) else { return };
    let mut trunk = lab.within("m", || packet::Trunk::open(1500).expect("a trunk"));
    trunk.keep_to(A, 24).expect("a filter");
    let frame = |ethertype: [u8; 2], destination: [u8; 4]| {
        let mut frame = vec![0x02; 64];
        frame[12..14].copy_from_slice(&ethertype);
        frame[30..34].copy_from_slice(&destination);
        frame
    };
    let (ipv4, other) = ([8, 0], [0x12, 0x34]);
    let kept = [
        frame(ipv4, A.octets()),
        frame(ipv4, B.octets()),
        frame(other, [11, 1, 1, 1]),
    ];
    let frames = [&kept[..1], &[frame(ipv4, [10, 79, 1, 1])], &kept[1..]].concat();
    let sent = lab.within("a", move || {
        let mut out = packet::Injector::open("a0").expect("an interface");
        out.send(&frames).expect("sent")
    });
    assert_eq!(sent, 4);
    let mut seen = Vec::new();
    trunk.receive(usize::MAX, |taken| {
        // The hosts' own IPv6 goes on meanwhile.
        if taken.bytes[..12] == [0x02; 12] {
            seen.push(taken.bytes.to_vec());
        }
    });
    assert_eq!(seen, kept);
}
