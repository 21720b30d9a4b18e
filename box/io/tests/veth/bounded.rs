//! Whose packets without TCP are taken.

use std::net::UdpSocket;
use std::time::Duration;

use windlass_engine::{Bounds, Senders};
use windlass_io::{Driver, DriverConfig, Follows, Prefer};

use crate::lab::{A, B, Forwarder, Lab, config};

const DATAGRAMS: usize = 50;

/// They arrive as they were sent, those that the network card was to put a checksum into too.
#[test]
fn datagrams_of_bounded_senders_are_taken_and_arrive() {
    for prefer in [Prefer::Native, Prefer::Generic] {
        let Some(lab) = Lab::new(1500) else { return };
        let config = DriverConfig {
            follows: Some(Follows::default()),
            ..config(prefer)
        };
        let Some(box_) = Forwarder::start(&lab, config, 1) else {
            return;
        };
        let receiver = lab.within("b", || UdpSocket::bind((B, 6000))).expect("b");
        let sender = lab.within("a", || UdpSocket::bind((A, 6000))).expect("a");
        let limit = Some(Duration::from_secs(10));
        receiver.set_read_timeout(limit).expect("an option");
        let taken_of_all = || {
            let before = box_.counters().taken;
            for number in 0..DATAGRAMS {
                let sent = vec![number as u8; 1 + 29 * number];
                sender.send_to(&sent, (B, 6000)).expect("sent");
                let mut got = [0; 2000];
                let len = receiver.recv(&mut got).expect("it arrives");
                assert_eq!(got[..len], sent[..]);
            }
            (box_.counters().taken - before) as usize
        };
        assert_eq!(taken_of_all(), 0);
        let bound = |bits: Option<u32>| {
            let senders = bits.map(|bits| {
                let (first, bits) = (A.into(), 96 + bits);
                let bounds = Bounds {
                    non_tcp: true,
                    unknown_tcp: false,
                };
                (Senders { first, bits }, bounds)
            });
            box_.order(move |_, drivers| drivers[0].bound(senders.as_slice()));
        };
        bound(Some(32));
        assert_eq!(taken_of_all(), DATAGRAMS);
        let before = box_.counters().taken;
        assert!(lab.ping());
        assert_eq!(box_.counters().taken, before, "ICMP goes by");
        let stats = box_.order(|_, drivers| drivers[0].stats());
        assert_eq!(stats.frames.not_bounded, 0);
        bound(None);
        assert_eq!(taken_of_all(), 0);
        box_.stop();
    }
}
