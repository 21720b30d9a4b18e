//! The rules that never bend, checked at the box's two doors on every frame of every run.

mod words;

use std::collections::BTreeSet;

use windlass_engine::Side;
use windlass_wire::{ChecksumState, Flags, FlowKey, Segment, verify_tcp};

use crate::ranges::Ranges;
use crate::tcp::Content;
use words::Words;

/// Violations that are written down; the others are only counted.
const MAX_REPORTED: usize = 20;

/// What one end has said, as it came into the box.
#[derive(Debug, Default)]
struct Said {
    isn: Option<u32>,
    shift: Option<u8>,
    /// End of all data sent, FIN included.
    end: i64,
    fin_at: Option<i64>,
    reset: bool,
    ack: i64,
    edge: i64,
    /// The largest window, bytes.
    max_window: i64,
    received: Ranges,
    ts_val: Option<u32>,
    /// Acknowledgements that came late or moved the edge left by themselves, as (ack, window).
    left_moves: BTreeSet<(u32, u16)>,
    /// TSvals that came after newer ones.
    late_ts: BTreeSet<u32>,
}

/// What one end has been shown of the other.
#[derive(Debug, Default)]
struct Shown {
    ack: i64,
    edge: i64,
    ts_val: Option<u32>,
}

/// One connection, watched from both doors of the box.
#[derive(Debug)]
pub struct Monitor {
    /// By side: the key that its frames must have, and what it sends.
    keys: [FlowKey; 2],
    content: [Content; 2],
    said: [Said; 2],
    words: [Words; 2],
    shown: [Shown; 2],
    violations: Vec<String>,
    count: u64,
}

impl Monitor {
    /// `key`: the inside's address first. `content`: what the inside and the outside send.
    pub fn new(key: FlowKey, content: [Content; 2]) -> Self {
        Monitor {
            keys: [key, key.reversed()],
            content,
            said: Default::default(),
            words: Default::default(),
            shown: Default::default(),
            violations: Vec::new(),
            count: 0,
        }
    }

    /// What was violated, in words; at most the first twenty.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// How many violations there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn violated(&mut self, now: u64, to: Side, what: String) {
        self.count += 1;
        if self.violations.len() < MAX_REPORTED {
            let ms = now as f64 / 1e6;
            self.violations
                .push(format!("{ms:.3} ms, toward the {to:?}: {what}"));
        }
    }

    /// A frame of this connection enters the box from `from`.
    pub fn into_box(&mut self, from: Side, segment: &Segment) {
        self.words[from.index()].note(segment);
        let other_isn = self.said[from.other().index()].isn;
        let scaled = self.said.iter().all(|s| s.shift.is_some());
        let said = &mut self.said[from.index()];
        let syn = segment.flags.has(Flags::SYN);
        if syn {
            said.isn = Some(segment.seq);
            said.shift = segment.options.window_scale.map(|shift| shift.min(14));
        }
        said.reset |= segment.flags.has(Flags::RST);
        if let Some(isn) = said.isn
            && !syn
        {
            let end = offset(isn, segment.seq, said.end) + i64::from(segment.seq_len());
            said.end = said.end.max(end);
            if segment.flags.has(Flags::FIN) {
                said.fin_at = Some(end - 1);
            }
        }
        said.note_timestamp(segment);
        if syn && !segment.flags.has(Flags::ACK) {
            said.edge = said.edge.max(i64::from(segment.window));
            said.max_window = said.max_window.max(i64::from(segment.window));
        }
        if let Some(isn) = other_isn
            && segment.flags.has(Flags::ACK)
        {
            let shift = if scaled && !syn { said.shift } else { None };
            said.note_ack(isn, segment, shift.unwrap_or(0));
        }
    }

    /// A frame leaves the box toward `to`.
    pub fn out_of_box(&mut self, now: u64, to: Side, segment: &Segment, frame: &[u8]) {
        let from = to.other();
        let full = segment.checksum == ChecksumState::Full;
        if full && !verify_tcp(frame, segment) {
            self.violated(now, to, "wrong TCP checksum".into());
        }
        if segment.key != self.keys[from.index()] {
            let key = segment.key;
            self.violated(now, to, format!("addresses or ports changed: {key}"));
            return;
        }
        self.check_data(now, to, segment, frame);
        if self.is_dropped_by(to, segment) {
            return;
        }
        self.check_timestamp(now, to, segment);
        let [said, other] = [from, to].map(|side| &self.words[side.index()]);
        for fault in said.faults(other, segment) {
            self.violated(now, to, fault);
        }
        if segment.flags.has(Flags::ACK) {
            self.check_ack(now, to, segment);
        } else if segment.flags.has(Flags::SYN) {
            self.shown[to.index()].edge = i64::from(segment.window);
        }
    }

    /// The end at `to` takes nothing from a segment outside of its window, so nothing that such a
    /// segment says can be wrong (RFC 9293 §3.10.7.4).
    fn is_dropped_by(&self, to: Side, segment: &Segment) -> bool {
        let (said, expects) = (&self.said[to.other().index()], &self.said[to.index()]);
        let Some(isn) = said.isn.filter(|_| !segment.flags.has(Flags::SYN)) else {
            return false;
        };
        let start = offset(isn, segment.seq, said.end);
        let end = start + i64::from(segment.seq_len());
        end < expects.ack || start > expects.edge
    }

    /// Payload, sequence numbers and flags are the sender's own.
    fn check_data(&mut self, now: u64, to: Side, segment: &Segment, frame: &[u8]) {
        let content = self.content[to.other().index()];
        let said = &self.said[to.other().index()];
        let Some(isn) = said.isn else {
            return self.violated(now, to, "a segment before any SYN".into());
        };
        if segment.flags.has(Flags::SYN) {
            if segment.seq != isn {
                self.violated(now, to, format!("SYN with seq {}", segment.seq));
            }
            return;
        }
        let start = offset(isn, segment.seq, said.end);
        let end = start + i64::from(segment.seq_len());
        let mut wrong = Vec::new();
        if end > said.end {
            wrong.push(format!("seq up to {end}, the sender is at {}", said.end));
        }
        if segment.flags.has(Flags::FIN) && said.fin_at != Some(end - 1) {
            wrong.push(format!("FIN at {}, not {:?}", end - 1, said.fin_at));
        }
        if segment.flags.has(Flags::RST) && !said.reset {
            wrong.push("RST that the sender did not send".into());
        }
        let from = usize::from(segment.at.payload);
        let payload = frame.get(from..from + segment.payload_len as usize);
        match (payload, u64::try_from(start)) {
            (Some(bytes), Ok(start)) => {
                if let Some(at) = content.first_difference(start, bytes) {
                    wrong.push(format!("payload differs at offset {at}"));
                }
            }
            (Some([]), Err(_)) => {}
            _ => wrong.push(format!("payload at offset {start}")),
        }
        for what in wrong {
            self.violated(now, to, what);
        }
    }

    /// The end at `to` has been shown a newer acknowledgement.
    fn is_older(&self, to: Side, segment: &Segment) -> bool {
        let shown = self.shown[to.index()].ack;
        let isn = self.said[to.index()].isn;
        isn.is_some_and(|isn| offset(isn, segment.ack, shown) < shown)
    }

    fn check_timestamp(&mut self, now: u64, to: Side, segment: &Segment) {
        let Some(ts) = segment.options.timestamps else {
            return;
        };
        let late = self.said[to.other().index()].late_ts.contains(&ts.val);
        let shown = &mut self.shown[to.index()].ts_val;
        let before = shown.unwrap_or(ts.val);
        if (ts.val.wrapping_sub(before) as i32) < 0 {
            // A receiver that has its data sent again sees old TSvals; an ACK must never be old.
            if segment.seq_len() == 0 && !late {
                let what = format!("TSval {} after {before}", ts.val);
                let older = segment.flags.has(Flags::ACK) && self.is_older(to, segment);
                let suffix = if older { ", of an older ACK" } else { "" };
                self.violated(now, to, what + suffix);
            }
        } else {
            *shown = Some(ts.val);
        }
    }

    /// Cumulative and selective acknowledgements are the receiver's own; the edge moves right.
    fn check_ack(&mut self, now: u64, to: Side, segment: &Segment) {
        let Some(isn) = self.said[to.index()].isn else {
            return self.violated(now, to, "an ACK before any SYN".into());
        };
        let scaled = self.said.iter().all(|s| s.shift.is_some());
        let said = &self.said[to.other().index()];
        let syn = segment.flags.has(Flags::SYN);
        let shift = said.shift.filter(|_| scaled && !syn).unwrap_or(0);
        let ack = offset(isn, segment.ack, said.ack);
        let edge = ack + (i64::from(segment.window) << shift);
        let excused = said.left_moves.contains(&(segment.ack, segment.window));
        let mut wrong = Vec::new();
        if ack > said.ack {
            wrong.push(format!("ACK {ack}, the receiver is at {}", said.ack));
        }
        for (start, end) in segment.options.sack.iter() {
            let (start, end) = (offset(isn, start, ack), offset(isn, end, ack));
            if !said.received.covers(start, end) {
                wrong.push(format!("SACK {start}-{end}, which was never reported"));
            }
        }
        let reset = segment.flags.has(Flags::RST);
        // An edge that may not move left is rounded up to the unit of the scale, as Linux does it
        // (`tcp_select_window`); with each ACK that does not raise it, once more, and once for one that another has replaced. The
        // window does not become larger by it than one that the receiver has said.
        let shown = &mut self.shown[to.index()];
        let (exact, roundings) = (said.edge.max(shown.edge), 2 << shift);
        let rounded = edge < exact + roundings && edge <= said.edge + said.max_window;
        if edge > said.edge && !rounded && !reset {
            wrong.push(format!("edge {edge}, the receiver's is {}", said.edge));
        }
        // A sender takes no window from an ACK older than one it has seen (RFC 9293 §3.10.7.4).
        let current = ack >= shown.ack;
        if current && edge < shown.edge && !excused && !reset && !syn {
            wrong.push(format!("edge {edge} after {}", shown.edge));
        }
        shown.edge = shown.edge.max(edge);
        shown.ack = shown.ack.max(ack);
        for what in wrong {
            self.violated(now, to, what);
        }
    }
}

impl Said {
    fn note_timestamp(&mut self, segment: &Segment) {
        let Some(ts) = segment.options.timestamps else {
            return;
        };
        let newest = self.ts_val.unwrap_or(ts.val);
        if (ts.val.wrapping_sub(newest) as i32) < 0 {
            self.late_ts.insert(ts.val);
        } else {
            self.ts_val = Some(ts.val);
        }
    }

    fn note_ack(&mut self, isn: u32, segment: &Segment, shift: u8) {
        let ack = offset(isn, segment.ack, self.ack);
        let edge = ack + (i64::from(segment.window) << shift);
        if edge < self.edge || ack < self.ack {
            self.left_moves.insert((segment.ack, segment.window));
        }
        self.ack = self.ack.max(ack);
        self.edge = self.edge.max(edge);
        self.max_window = self.max_window.max(edge - ack);
        self.received.insert(i64::MIN, ack);
        for (start, end) in segment.options.sack.iter() {
            let (start, end) = (offset(isn, start, ack), offset(isn, end, ack));
            self.received.insert(start, end);
        }
    }
}

/// Place of sequence number `number` in the stream that begins behind `isn`: of all that have this
/// number, 4 GiB apart, the one that is nearest to `near`.
fn offset(isn: u32, number: u32, near: i64) -> i64 {
    let of_near = isn.wrapping_add(1).wrapping_add(near as u32);
    near + i64::from(number.wrapping_sub(of_near) as i32)
}

#[cfg(test)]
mod tests {
    use windlass_wire::{FrameSpec, OptionWriter, parse};

    use super::*;

    const ISN: u32 = 0xf000_0000;

    /// A frame from `side`: (seq, ack, payload) as offsets of the stream.
    fn frame(monitor: &Monitor, side: Side, seq: u64, ack: u64, bytes: usize) -> Vec<u8> {
        let mut payload = Vec::new();
        monitor.content[side.index()].append(seq, bytes, &mut payload);
        payload.truncate(bytes);
        FrameSpec {
            key: monitor.keys[side.index()],
            seq: ISN.wrapping_add(1).wrapping_add(seq as u32),
            ack: ISN.wrapping_add(1).wrapping_add(ack as u32),
            flags: Flags::ACK,
            window: 60_000,
            payload,
            ..FrameSpec::default()
        }
        .build()
    }

    fn syn(monitor: &Monitor, side: Side) -> Vec<u8> {
        FrameSpec {
            key: monitor.keys[side.index()],
            seq: ISN,
            flags: Flags::SYN,
            window: 60_000,
            options: OptionWriter::new().mss(1448).into(),
            ..FrameSpec::default()
        }
        .build()
    }

    fn into_box(monitor: &mut Monitor, from: Side, frame: &[u8]) {
        monitor.into_box(from, &parse(frame, frame.len() as u32).expect("TCP"));
    }

    fn out_of_box(monitor: &mut Monitor, to: Side, frame: &[u8]) {
        let segment = parse(frame, frame.len() as u32).expect("TCP");
        monitor.out_of_box(0, to, &segment, frame);
    }

    /// Told old from new however much there was before, and a lie is found there too.
    #[test]
    fn streams_of_many_gigabytes() {
        let content = [Content::new(1), Content::new(2)];
        let mut monitor = Monitor::new(crate::names::server_key(false, 40_000), content);
        for side in [Side::Inside, Side::Outside] {
            let syn = syn(&monitor, side);
            into_box(&mut monitor, side, &syn);
            out_of_box(&mut monitor, side.other(), &syn);
        }
        let step = 1_500_000_000;
        for seq in (0..7).map(|n| n * step) {
            let data = frame(&monitor, Side::Inside, seq, 0, 1000);
            into_box(&mut monitor, Side::Inside, &data);
            out_of_box(&mut monitor, Side::Outside, &data);
            let ack = frame(&monitor, Side::Outside, 0, seq + 1000, 0);
            into_box(&mut monitor, Side::Outside, &ack);
            out_of_box(&mut monitor, Side::Inside, &ack);
        }
        assert_eq!(monitor.violations(), [""; 0]);
        let end = 6 * step + 1000;
        let ack = frame(&monitor, Side::Outside, 0, end + 1, 0);
        out_of_box(&mut monitor, Side::Inside, &ack);
        let data = frame(&monitor, Side::Inside, end, 0, 10);
        out_of_box(&mut monitor, Side::Outside, &data);
        let said = monitor.violations().join("\n");
        assert!(
            said.contains(&format!("ACK {}, the receiver is at {end}", end + 1)),
            "{said}"
        );
        assert!(said.contains(&format!("seq up to {}", end + 10)), "{said}");
    }
}
