//! A link in s2n-quic's virtual time: a rate, a delay, a drop-tail queue, and what else befalls
//! packets.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use s2n_quic::provider::congestion_controller::Timestamp;
use s2n_quic::provider::io::testing::network::{Buffers, Packet};
use s2n_quic::provider::io::testing::{Network, spawn, time};
use s2n_quic_core::inet::ExplicitCongestionNotification;

/// The way there and back, each with a queue of its own.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bytes per second.
    pub rate: u64,
    /// One way.
    pub delay: Duration,
    /// Bytes that wait at most.
    pub queue: u64,
    /// One packet in so many is lost at random; 0: none.
    pub loss_one_in: u64,
    /// From so many bytes in the queue on, packets are marked (RFC 3168).
    pub mark_above: Option<u64>,
    /// Nothing arrives between these times, ns.
    pub outage: (u64, u64),
}

/// What went over the link toward the receiver, the larger direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets that came to the queue.
    pub packets: u64,
    /// Lost at random.
    pub lost: u64,
    /// Dropped from a full queue.
    pub dropped: u64,
    /// Marked.
    pub marked: u64,
    /// The most that waited, bytes.
    pub most_queued: u64,
    /// The most packets that came at one instant.
    pub longest_burst: u64,
}

#[derive(Debug, Default)]
struct Way {
    /// When the last packet accepted will have left, ns.
    busy_until: u64,
    last_arrival: u64,
    burst: u64,
    tally: Tally,
}

/// The link at work.
pub struct LinkNetwork {
    link: Link,
    origin: Option<Timestamp>,
    ways: HashMap<SocketAddr, Way>,
    busiest: Arc<Mutex<Tally>>,
}

impl LinkNetwork {
    /// And where its tally will stand.
    pub fn new(link: Link) -> (LinkNetwork, Arc<Mutex<Tally>>) {
        let busiest = Arc::new(Mutex::new(Tally::default()));
        let network = LinkNetwork {
            link,
            origin: None,
            ways: HashMap::new(),
            busiest: busiest.clone(),
        };
        (network, busiest)
    }
}

/// Whether the packet `number` of a way is one of those lost: the same for all runs.
fn is_unlucky(number: u64, one_in: u64) -> bool {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    one_in > 0 && (z ^ (z >> 31)).is_multiple_of(one_in)
}

impl Way {
    /// Takes a packet in: when it leaves, ns, or `None` if it does not; and whether it is marked.
    fn accept(&mut self, link: &Link, now: u64, len: u64) -> Option<(u64, bool)> {
        self.burst = if now == self.last_arrival {
            self.burst + 1
        } else {
            1
        };
        self.last_arrival = now;
        let tally = &mut self.tally;
        tally.packets += 1;
        tally.longest_burst = tally.longest_burst.max(self.burst);
        let waiting = self.busy_until.saturating_sub(now) * link.rate / 1_000_000_000;
        if waiting + len > link.queue {
            tally.dropped += 1;
            return None;
        }
        tally.most_queued = tally.most_queued.max(waiting + len);
        let marked = link.mark_above.is_some_and(|most| waiting > most);
        tally.marked += u64::from(marked);
        self.busy_until = self.busy_until.max(now) + len * 1_000_000_000 / link.rate;
        let out = (link.outage.0..link.outage.1).contains(&now);
        if out || is_unlucky(tally.packets, link.loss_one_in) {
            tally.lost += 1;
            return None;
        }
        Some((self.busy_until, marked))
    }
}

fn deliver(mut packet: Packet, wait: Duration, buffers: &Buffers) {
    packet.switch();
    let buffers = buffers.clone();
    spawn(async move {
        time::delay(wait).await;
        buffers.rx(*packet.path.local_address, |queue| queue.enqueue(packet));
    });
}

impl Network for LinkNetwork {
    fn execute(&mut self, buffers: &Buffers) -> usize {
        let origin = *self.origin.get_or_insert_with(time::now);
        let now = (time::now() - origin).as_nanos() as u64;
        let mut count = 0;
        buffers.drain_pending_transmissions(|mut packet| {
            count += 1;
            let from: SocketAddr = packet.path.local_address.0.into();
            let way = self.ways.entry(from).or_default();
            let accepted = way.accept(&self.link, now, packet.payload.len() as u64);
            if let Some((leaves, marked)) = accepted {
                if marked && packet.ecn.using_ecn() {
                    packet.ecn = ExplicitCongestionNotification::Ce;
                }
                let wait = Duration::from_nanos(leaves - now) + self.link.delay;
                deliver(packet, wait, buffers);
            }
            let tally = way.tally;
            let mut busiest = self.busiest.lock().expect("nothing panics with it");
            if tally.packets >= busiest.packets {
                *busiest = tally;
            }
            Ok(())
        });
        count
    }
}
