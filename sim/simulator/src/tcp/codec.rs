//! Between an end point's own terms and bytes.

use windlass_cc::{MILLISECOND, Nanos};
use windlass_wire::{Ecn, Flags, FlowKey, FrameSpec, OptionWriter, Timestamps};

use super::config::EndConfig;

/// Everything of a segment but its payload.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
    pub window: u16,
    pub ecn: Ecn,
    pub options: Vec<u8>,
}

impl Header {
    /// The frame with this header.
    pub fn frame(self, key: FlowKey, payload: Vec<u8>) -> Vec<u8> {
        FrameSpec {
            key,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window: self.window,
            ecn: self.ecn,
            options: self.options,
            payload,
            ..FrameSpec::default()
        }
        .build()
    }
}

/// The TS clock, 1 ms per tick, at `now`.
pub(super) fn ts_clock(config: &EndConfig, now: Nanos) -> u32 {
    config
        .timestamp_origin_ms
        .wrapping_add((now / MILLISECOND) as u32)
}

/// Which options a SYN carries: a SYN all that the end point can do, a SYN-ACK what was agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct SynOptions {
    pub mss: u16,
    pub sack: bool,
    pub timestamps: Option<Timestamps>,
    pub window_scale: Option<u8>,
}

impl SynOptions {
    pub fn encode(self) -> Vec<u8> {
        let mut options = OptionWriter::new().mss(self.mss);
        if self.sack {
            options = options.sack_permitted();
        }
        if let Some(ts) = self.timestamps {
            options = options.timestamps(ts);
        }
        if let Some(shift) = self.window_scale {
            options = options.nop().window_scale(shift);
        }
        options.into()
    }
}

/// Options of a segment that is no SYN.
pub(super) fn encode_options(timestamps: Option<Timestamps>, sack: &[(u32, u32)]) -> Vec<u8> {
    let mut options = OptionWriter::new();
    if let Some(ts) = timestamps {
        options = options.nop().nop().timestamps(ts);
    }
    if !sack.is_empty() {
        options = options.nop().nop().sack(sack);
    }
    options.into()
}

/// SACK blocks that fit beside `used` bytes of options and payload in a segment of `mss` bytes.
pub(super) fn sack_room(mss: u32, used: u32, timestamps: bool) -> usize {
    let most = if timestamps { 3 } else { 4 };
    let room = mss.saturating_sub(used).saturating_sub(4) / 8;
    (room as usize).min(most)
}
