//! UDP at a constant rate, on and off.

use windlass_cc::{Nanos, SECOND};

use crate::network_spec::CrossTraffic;

/// When a flow of cross traffic sends.
pub(crate) struct Generator {
    traffic: CrossTraffic,
    /// Start of the period under way.
    on_since: Option<Nanos>,
    /// Packets sent in it.
    sent: u64,
}

impl Generator {
    /// One that has not been started.
    pub fn new(traffic: &CrossTraffic) -> Self {
        Generator {
            traffic: traffic.clone(),
            on_since: None,
            sent: 0,
        }
    }

    /// The run begins.
    pub fn start(&mut self, now: Nanos) {
        let sends = self.traffic.rate_bits_per_s > 0 && self.traffic.packet_bytes > 0;
        self.on_since = sends.then(|| now + self.traffic.start);
        self.sent = 0;
    }

    /// When the next packet is due.
    pub fn next_at(&self) -> Option<Nanos> {
        let since = self.on_since?;
        let at = self.offset(self.sent);
        Some(since + at)
    }

    /// The packet that is due: its bottleneck and its size, bytes.
    pub fn emit(&mut self) -> (usize, u32) {
        self.sent += 1;
        let on = self.traffic.on;
        if on > 0 && self.offset(self.sent) >= on {
            self.sent = 0;
            let period = on + self.traffic.off;
            self.on_since = self.on_since.map(|since| since + period);
        }
        (self.traffic.bottleneck, self.traffic.packet_bytes)
    }

    /// From the start of the period to the packet with this number, ns; no rounding adds up.
    fn offset(&self, packet: u64) -> Nanos {
        let bits = 8 * u128::from(packet) * u128::from(self.traffic.packet_bytes);
        (bits * u128::from(SECOND) / u128::from(self.traffic.rate_bits_per_s)) as Nanos
    }
}
