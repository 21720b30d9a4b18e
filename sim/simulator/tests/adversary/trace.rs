//! Every segment that a box gets and lets out, for whoever replays a seed: `WINDLASS_TRACE=1`.

use windlass_sim::adversary::{Operated, Operation};
use windlass_sim::{Middlebox, Nanos, Side};
use windlass_wire::{Flags, parse, verify_tcp};

/// A box whose every segment is printed.
pub struct Traced {
    pub inner: Box<dyn Operated>,
    pub name: &'static str,
}

impl Traced {
    fn print(&self, now: Nanos, arrow: &str, side: Side, frame: &[u8]) {
        let at = now as f64 / 1e6;
        let Ok(s) = parse(frame, frame.len() as u32) else {
            return println!("{at:12.3} {} {arrow} {side:?} no TCP", self.name);
        };
        let names = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
        ];
        let flags: String = names
            .iter()
            .filter_map(|(flag, name)| s.flags.has(*flag).then_some(*name))
            .collect();
        let ts = s.options.timestamps.map(|ts| (ts.val, ts.ecr));
        let sack: Vec<_> = s.options.sack.iter().collect();
        let bad = if verify_tcp(frame, &s) {
            ""
        } else {
            " damaged"
        };
        println!(
            "{at:12.3} {} {arrow} {side:?} {} {flags} {}+{} ack {} win {} ts {ts:?} sack {sack:?}{bad} {} bytes",
            self.name,
            s.key.src_port,
            s.seq,
            s.payload_len,
            s.ack,
            s.window,
            frame.len()
        );
    }

    /// What came of it: what the box counted, and what it let out.
    fn print_all(&self, now: Nanos, before: &[(String, u64)], out: &[(Side, Vec<u8>)]) {
        let counters = self.inner.counters();
        let changed = counters
            .iter()
            .zip(before)
            .filter(|(now, then)| now != then);
        let names: Vec<&str> = changed
            .map(|((name, _), _)| name.as_str())
            .filter(|name| !["packets", "ack_packets", "data_packets"].contains(name))
            .collect();
        if !names.is_empty() {
            println!("{:17} {}", "", names.join(" "));
        }
        for (side, frame) in out {
            self.print(now, "   >", *side, frame);
        }
    }
}

impl Operated for Traced {
    fn operate(&mut self, now: Nanos, operation: Operation, out: &mut Vec<(Side, Vec<u8>)>) {
        println!("{:12.3} {} {operation:?}", now as f64 / 1e6, self.name);
        let (first, before) = (out.len(), self.inner.counters());
        self.inner.operate(now, operation, out);
        self.print_all(now, &before, &out[first..]);
    }
}

impl Middlebox for Traced {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.print(now, "<", from, &frame);
        let (first, before) = (out.len(), self.inner.counters());
        self.inner.on_frame(now, from, frame, out);
        self.print_all(now, &before, &out[first..]);
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.inner.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        let (first, before) = (out.len(), self.inner.counters());
        self.inner.on_timer(now, out);
        self.print_all(now, &before, &out[first..]);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}
