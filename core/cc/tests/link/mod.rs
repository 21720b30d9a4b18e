//! One flow over one bottleneck in virtual time: a rate, a round trip, a drop-tail queue and random
//! loss. Every packet is acknowledged; a packet is lost when one sent three later has been
//! delivered. What is lost is sent again first, and a recovery episode ends, as TCP's does, when all
//! that was outstanding at its start has been delivered, if need be by a retransmission.
#![allow(dead_code)] // Each test file uses a part of it.

pub mod codel;

use std::collections::VecDeque;

use windlass_cc::{
    AckEvent, CongestionEvent, Control, Controller, MILLISECOND, Nanos, Path, Phase, RateSample,
    SECOND, SendEvent, Settings, Signal,
};

pub const MSS: u64 = 1448;
const REORDER_PACKETS: u64 = 3;

#[derive(Clone, Copy)]
pub struct Link {
    pub rate: u64,
    pub rtt: Nanos,
    pub queue: u64,
    pub loss_per_million: u64,
    /// Rate of the source behind the sender in bytes per second; 0: never short of data.
    pub supply: u64,
}

struct Packet {
    number: u64,
    sent: Nanos,
    first_sent: Nanos,
    delivered_time: Nanos,
    delivered: u64,
    lost: u64,
    tx_in_flight: u64,
    app_limited: bool,
    /// It repairs a loss of the open recovery episode.
    repair: bool,
    /// Arrival of its ACK; `None` if the link drops it.
    ack: Option<Nanos>,
}

/// What one ACK left behind.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    pub now: Nanos,
    pub control: Control,
    pub inflight: u64,
    pub rtt: Nanos,
}

pub struct Flow {
    pub link: Link,
    pub controller: Controller,
    pub path: Path,
    pub now: Nanos,
    outstanding: VecDeque<Packet>,
    next_number: u64,
    link_free: Nanos,
    next_send: Nanos,
    delivered_time: Nanos,
    first_sent: Nanos,
    app_limited: u64,
    recover: Option<u64>,
    /// Losses of the episode that have not been delivered, and those not sent again.
    unrepaired: u64,
    to_repair: u64,
    cwnd_limited: bool,
    limited_until: u64,
    random: u64,
    sent_bytes: u64,
    pub drops: u64,
    /// Manages the queue, which is a plain one without it.
    pub codel: Option<codel::CoDel>,
}

impl Flow {
    pub fn new(settings: impl Into<Settings>, link: Link, seed: u64) -> Self {
        let path = Path::new(MSS as u32);
        Flow {
            link,
            controller: Controller::new(settings, &path, seed),
            path,
            now: SECOND,
            outstanding: VecDeque::new(),
            next_number: 0,
            link_free: 0,
            next_send: SECOND,
            delivered_time: SECOND,
            first_sent: SECOND,
            app_limited: 0,
            recover: None,
            unrepaired: 0,
            to_repair: 0,
            cwnd_limited: false,
            limited_until: 0,
            random: seed | 1,
            sent_bytes: 0,
            drops: 0,
            codel: None,
        }
    }

    pub fn bdp(&self) -> u64 {
        (u128::from(self.link.rate) * u128::from(self.link.rtt) / u128::from(SECOND)) as u64
    }

    /// Another rate, for what waits in the queue too.
    pub fn set_rate(&mut self, rate: u64) {
        let (now, rtt, old) = (self.now, self.link.rtt, self.link.rate);
        let slower = |at: Nanos| {
            let wait = u128::from(at.saturating_sub(now)) * u128::from(old) / u128::from(rate);
            at.min(now) + wait as u64
        };
        for ack in self.outstanding.iter_mut().filter_map(|p| p.ack.as_mut()) {
            *ack = slower(ack.saturating_sub(rtt)) + rtt;
        }
        self.link_free = slower(self.link_free);
        self.link.rate = rate;
    }

    /// Runs for `span`, calling `see` after every ACK.
    pub fn run(&mut self, span: Nanos, mut see: impl FnMut(&Flow, Snapshot)) {
        let end = self.now + span;
        loop {
            self.send_what_may_leave();
            let ack = self.outstanding.iter().filter_map(|p| p.ack).next();
            let window_open = self.path.inflight + MSS <= self.controller.control().cwnd;
            let send = (window_open && self.link.supply == 0).then_some(self.next_send);
            let supplied = (window_open && self.link.supply > 0)
                .then(|| self.next_send.max(self.supply_time()));
            let timeout = self.outstanding.front().map(|p| p.sent + 2 * SECOND);
            let next = [ack, send, supplied, timeout].into_iter().flatten().min();
            let next = next.expect("something always happens next").max(self.now);
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next;
            if ack == Some(next) {
                let snapshot = self.acknowledge();
                see(self, snapshot);
            } else if timeout == Some(next) && ack.is_none() {
                self.time_out();
            }
        }
    }

    /// When the source will have made the next segment.
    fn supply_time(&self) -> Nanos {
        let bytes = u128::from((self.sent_bytes + MSS).saturating_sub(10 * MSS));
        SECOND + (bytes * u128::from(SECOND) / u128::from(self.link.supply)) as u64
    }

    fn send_what_may_leave(&mut self) {
        loop {
            let control = self.controller.control();
            if self.path.inflight + MSS > control.cwnd {
                self.cwnd_limited = true;
                self.limited_until = self.next_number;
                return;
            }
            if self.link.supply > 0 && self.supply_time() > self.now {
                self.app_limited = (self.path.delivered + self.path.inflight).max(1);
                return;
            }
            if self.next_send > self.now {
                return;
            }
            self.send(control);
        }
    }

    fn send(&mut self, control: Control) {
        if self.path.inflight == 0 {
            self.first_sent = self.now;
            self.delivered_time = self.now;
        }
        if let Some(rate) = control.pacing_rate {
            self.next_send = self.now.max(self.next_send) + MSS * SECOND / rate.max(1);
        }
        self.path.inflight += MSS;
        self.sent_bytes += MSS;
        let ack = self.transmit();
        self.outstanding.push_back(Packet {
            number: self.next_number,
            sent: self.now,
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.path.delivered,
            lost: self.path.lost,
            tx_in_flight: self.path.inflight,
            app_limited: self.app_limited > 0,
            repair: self.to_repair > 0,
            ack,
        });
        self.to_repair = self.to_repair.saturating_sub(1);
        self.next_number += 1;
        let event = SendEvent {
            now: self.now,
            bytes: MSS,
            inflight: self.path.inflight,
            retransmission: false,
            app_limited: self.app_limited > 0,
        };
        self.controller.on_sent(&event, &self.path);
    }

    fn transmit(&mut self) -> Option<Nanos> {
        let backlog = self.link_free.saturating_sub(self.now);
        let queued = (u128::from(backlog) * u128::from(self.link.rate) / u128::from(SECOND)) as u64;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let unlucky = (self.random >> 20) % 1_000_000 < self.link.loss_per_million;
        let managed = self.codel.as_mut();
        let unwanted = managed.is_some_and(|codel| codel.drops(self.now + backlog, backlog));
        if queued + MSS > self.link.queue || unlucky || unwanted {
            self.drops += 1;
            return None;
        }
        self.link_free = self.link_free.max(self.now) + MSS * SECOND / self.link.rate;
        Some(self.link_free + self.link.rtt)
    }

    fn acknowledge(&mut self) -> Snapshot {
        let at = self
            .outstanding
            .iter()
            .position(|p| p.ack.is_some())
            .unwrap();
        let packet = self.outstanding.remove(at).unwrap();
        let inflight_before = self.path.inflight;
        self.path.inflight -= MSS;
        self.path.delivered += MSS;
        self.delivered_time = self.now;
        if self.app_limited > 0 && self.path.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let rtt = self.now - packet.sent;
        self.path.on_rtt(rtt);
        let (lost, ranges) = self.detect_losses(packet.number);
        let rate = self.sample(&packet);
        self.first_sent = packet.sent;
        if let Some(rate) = rate {
            self.path.max_bw = self.path.max_bw.max(rate.rate);
        }
        self.unrepaired -= u64::from(packet.repair);
        if lost > 0 && self.recover.is_none() {
            self.recover = Some(self.next_number);
            let event = CongestionEvent {
                now: self.now,
                signal: Signal::Loss,
                inflight_before,
                lost,
            };
            self.controller.on_congestion(&event, &self.path);
        }
        if packet.number > self.limited_until {
            self.cwnd_limited = false;
        }
        let event = AckEvent {
            now: self.now,
            acked: if lost == 0 && at == 0 { MSS } else { 0 },
            delivered: MSS,
            lost,
            inflight_before,
            inflight: self.path.inflight,
            rtt: Some(rtt),
            rate,
            ce_bytes: 0,
            cwnd_limited: self.cwnd_limited,
            in_recovery: self.recover.is_some(),
            lost_ranges: ranges,
        };
        self.controller.on_ack(&event, &self.path);
        let una = self
            .outstanding
            .front()
            .map_or(self.next_number, |p| p.number);
        if self
            .recover
            .is_some_and(|recover| una >= recover && self.unrepaired == 0)
        {
            self.recover = None;
            self.controller.on_recovery_exit(self.now, &self.path);
        }
        Snapshot {
            now: self.now,
            control: self.controller.control(),
            inflight: self.path.inflight,
            rtt,
        }
    }

    fn detect_losses(&mut self, newest: u64) -> (u64, u32) {
        let recover = self.recover.unwrap_or(self.next_number);
        let (mut lost, mut ranges, mut last) = (0, 0, None);
        while let Some(front) = self.outstanding.front() {
            if front.ack.is_some() || front.number + REORDER_PACKETS > newest {
                break;
            }
            ranges += u32::from(last != front.number.checked_sub(1) || last.is_none());
            last = Some(front.number);
            lost += MSS;
            self.to_repair += u64::from(front.number < recover || front.repair);
            self.unrepaired += u64::from(front.number < recover && !front.repair);
            self.outstanding.pop_front();
        }
        self.path.lost += lost;
        self.path.inflight -= lost;
        self.sent_bytes -= lost;
        (lost, ranges)
    }

    fn sample(&self, packet: &Packet) -> Option<RateSample> {
        let send = packet.sent - packet.first_sent;
        let ack = self.now - packet.delivered_time;
        let interval = send.max(ack);
        let delivered = self.path.delivered - packet.delivered;
        (interval >= self.path.min_rtt.min(MILLISECOND)).then(|| RateSample {
            delivered,
            interval,
            rate: (u128::from(delivered) * u128::from(SECOND) / u128::from(interval)) as u64,
            prior_delivered: packet.delivered,
            tx_in_flight: packet.tx_in_flight,
            lost: self.path.lost - packet.lost,
            app_limited: packet.app_limited,
        })
    }

    fn time_out(&mut self) {
        self.path.lost += self.path.inflight;
        self.sent_bytes -= self.path.inflight;
        self.path.inflight = 0;
        self.outstanding.clear();
        self.recover = None;
        (self.unrepaired, self.to_repair) = (0, 0);
        self.controller.on_rto(self.now, &self.path);
    }
}

/// Share of the link's capacity delivered in `span`, in thousandths.
pub fn utilisation(flow: &mut Flow, span: Nanos, mut see: impl FnMut(Snapshot)) -> u64 {
    let before = flow.path.delivered;
    flow.run(span, |_, snapshot| see(snapshot));
    let delivered = flow.path.delivered - before;
    let possible = u128::from(flow.link.rate) * u128::from(span) / u128::from(SECOND);
    (u128::from(delivered) * 1000 / possible) as u64
}

/// Runs until the phase is `phase`, at most for `limit`.
pub fn run_until(flow: &mut Flow, phase: Phase, limit: Nanos) -> Option<Snapshot> {
    let end = flow.now + limit;
    while flow.now < end {
        let mut found = None;
        flow.run(flow.link.rtt / 50, |_, snapshot| {
            if snapshot.control.phase == phase && found.is_none() {
                found = Some(snapshot);
            }
        });
        if found.is_some() {
            return found;
        }
    }
    None
}
