//! What was decided, in words for whoever reads the packets.

use std::collections::HashMap;
use std::fmt::Write;

use windlass_engine::{Fate, Nanos, PassReason, Standing, Why};
use windlass_wire::{Flags, FlowKey, Segment};

use crate::entry::{Entry, What};

const BITS_PER_BYTE: u64 = 8;

/// An acknowledgement as it came.
#[derive(Clone, Copy)]
struct Ack {
    window: u16,
    sack: u8,
    ece: bool,
}

/// Remembers what came, to say of what leaves how it differs.
#[derive(Default)]
pub(crate) struct Describer {
    /// By flow and sequence number: when these data came.
    data: HashMap<(FlowKey, u32), Nanos>,
    /// By flow, sequence number and ACK.
    acks: HashMap<(FlowKey, u32, u32), Ack>,
}

impl Describer {
    /// The next packet.
    pub(crate) fn describe(&mut self, entry: &Entry) -> String {
        let segment = entry.segment();
        match &entry.what {
            What::Came {
                fate,
                reason,
                standing,
            } => {
                if let Some(segment) = &segment {
                    self.note(segment, entry.time);
                }
                came(*fate, *reason, standing.as_ref())
            }
            What::Left(why) => self.left(*why, segment.as_ref(), entry.time),
            What::Mark(_) => String::new(),
        }
    }

    fn note(&mut self, segment: &Segment, time: Nanos) {
        if segment.seq_len() > 0 {
            self.data.insert((segment.key, segment.seq), time);
        }
        if segment.flags.has(Flags::ACK) {
            let ack = Ack {
                window: segment.window,
                sack: segment.options.sack.count,
                ece: segment.flags.has(Flags::ECE),
            };
            self.acks
                .insert((segment.key, segment.seq, segment.ack), ack);
        }
    }

    fn left(&self, why: Why, segment: Option<&Segment>, time: Nanos) -> String {
        let mut text = format!("windlass: {}: {}", why.name(), sentence(why.help()));
        let Some(segment) = segment else { return text };
        let came = self.data.get(&(segment.key, segment.seq));
        if let Some(came) = came.filter(|_| segment.seq_len() > 0) {
            let waited = time.saturating_sub(*came) as f64 / 1e6;
            let _ = write!(text, "; {waited:.3} ms after it last came");
        }
        let key = (segment.key, segment.seq, segment.ack);
        if let Some(ack) = self.acks.get(&key) {
            if ack.window != segment.window {
                let _ = write!(text, "; window field {} -> {}", ack.window, segment.window);
            }
            let shown = segment.options.sack.count;
            if ack.sack != shown {
                let _ = write!(text, "; SACK blocks {} -> {shown}", ack.sack);
            }
            if ack.ece && !segment.flags.has(Flags::ECE) {
                text.push_str("; ECE hidden");
            }
        }
        text
    }
}

fn came(fate: Fate, reason: Option<PassReason>, standing: Option<&Standing>) -> String {
    let mut text = match reason {
        Some(reason) => format!(
            "windlass: passed ({}): {}",
            reason.name(),
            sentence(reason.help())
        ),
        None => format!("windlass: {}: {}", fate.name(), sentence(fate.help())),
    };
    if let Some(s) = standing {
        let ms = |us: u32| f64::from(us) / 1e3;
        let _ = write!(
            text,
            "; flow: {} cwnd:{} inflight:{} queued:{} srtt:{:.3}ms minrtt:{:.3}ms limited_by:{}",
            s.phase.name(),
            s.cwnd,
            s.inflight,
            s.queued,
            ms(s.srtt_us),
            ms(s.min_rtt_us),
            s.limited_by.name(),
        );
        if s.pacing_rate > 0 {
            let rate = s.pacing_rate.saturating_mul(BITS_PER_BYTE);
            let _ = write!(text, " pacing_rate:{rate}bit/s");
        }
    }
    text
}

/// Without its full stop.
fn sentence(help: &str) -> &str {
    help.trim().trim_end_matches('.')
}
