//! Somebody who sees nothing beside a box, and whose segments get no further: what else the box lets
//! out is what it lets out without him.
//!
//! Nothing of his reaches the ends or the links, so neither their answers (RFC 5961 §3 to §5) nor the
//! room that it takes can be the reason for a difference.

use windlass_cc::Nanos;
use windlass_engine::Side;
use windlass_wire::{Flags, Segment, parse};

use super::forging::Forger;
use super::identity::{Identity, identity};
use crate::node::Middlebox;
use crate::rng::Rng;

/// A box, and him.
pub struct Noise<M> {
    inner: M,
    /// Forged segments for each true one, and for each time that the box does something by itself.
    ratio: f64,
    rng: Rng,
    /// The newest true segment of each side.
    models: [Option<Segment>; 2],
    /// Sides whose end has left its handshake behind.
    open: [bool; 2],
    /// An end has said its last: some ends take another SYN from there on.
    over: bool,
    let_out: Vec<(Nanos, Side, Identity)>,
    changed: Option<String>,
}

impl<M: Middlebox> Noise<M> {
    /// Beside `inner`.
    pub fn new(inner: M, ratio: f64, seed: u64) -> Self {
        Noise {
            inner,
            ratio,
            rng: Rng::new(seed, 0x015e),
            models: [None; 2],
            open: [false; 2],
            over: false,
            let_out: Vec::new(),
            changed: None,
        }
    }

    /// What the box has let out besides, and when.
    pub fn let_out(&self) -> &[(Nanos, Side, Identity)] {
        &self.let_out
    }

    /// The first forged segment that did not leave at once, alone and as it came.
    pub fn changed(&self) -> Option<&str> {
        self.changed.as_deref()
    }

    fn note(&mut self, from: Side, frame: &[u8]) {
        let Ok(segment) = parse(frame, frame.len() as u32) else {
            return;
        };
        let syn = segment.flags.has(Flags::SYN);
        self.open[from.index()] |= !syn;
        self.over |= segment.flags.has(Flags::FIN) || segment.flags.has(Flags::RST);
        self.models[from.index()] = Some(segment);
    }

    fn write_down(&mut self, now: Nanos, out: &[(Side, Vec<u8>)]) {
        let frames = out.iter();
        let frames = frames.map(|(to, frame)| (now, *to, identity(frame, false)));
        self.let_out.extend(frames);
    }

    fn make_noise(&mut self, now: Nanos) {
        for from in [Side::Inside, Side::Outside] {
            let Some(model) = self.models[from.index()].filter(|_| self.rng.chance(self.ratio))
            else {
                continue;
            };
            let mut forger = Forger {
                open: self.open[from.other().index()] && !self.over,
                boxes: false,
                end: None,
                restarted: false,
                rng: &mut self.rng,
            };
            let frame = forger.blindly(&model);
            let mut out = Vec::new();
            self.inner.on_frame(now, from, frame.clone(), &mut out);
            if out != [(from.other(), frame)] && self.changed.is_none() {
                self.changed = Some(format!("{now} ns, from the {from:?}: {}", out.len()));
            }
        }
    }
}

impl<M: Middlebox> Middlebox for Noise<M> {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.note(from, &frame);
        let first = out.len();
        self.inner.on_frame(now, from, frame, out);
        self.write_down(now, &out[first..]);
        self.make_noise(now);
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.inner.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        let first = out.len();
        self.inner.on_timer(now, out);
        self.write_down(now, &out[first..]);
        self.make_noise(now);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}
