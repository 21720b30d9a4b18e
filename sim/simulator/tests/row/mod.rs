//! Two boxes one after the other on the same side.

use std::collections::VecDeque;

use windlass_engine::{FlowInfo, Nanos, Side};
use windlass_sim::{EngineBox, Middlebox};

/// The inner one is next to the sender.
pub struct Row {
    pub inner: EngineBox,
    pub outer: EngineBox,
    between: Vec<(Side, Vec<u8>)>,
}

impl Row {
    pub fn new(inner: EngineBox, outer: EngineBox) -> Row {
        Row {
            inner,
            outer,
            between: Vec::new(),
        }
    }

    /// What the inner one says to the outside goes to the outer one, and the other way round.
    fn settle(&mut self, now: Nanos, of_inner: bool, out: &mut Vec<(Side, Vec<u8>)>) {
        let said = self.between.drain(..);
        let mut waiting: VecDeque<_> = said.map(|(to, frame)| (of_inner, to, frame)).collect();
        while let Some((of_inner, to, frame)) = waiting.pop_front() {
            let (next, from, leaves) = match of_inner {
                true => (&mut self.outer, Side::Inside, Side::Inside),
                false => (&mut self.inner, Side::Outside, Side::Outside),
            };
            if to == leaves {
                out.push((to, frame));
                continue;
            }
            next.on_frame(now, from, frame, &mut self.between);
            let said = self.between.drain(..);
            waiting.extend(said.map(|(to, frame)| (!of_inner, to, frame)));
        }
    }
}

impl Middlebox for Row {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        let first = match from {
            Side::Inside => &mut self.inner,
            Side::Outside => &mut self.outer,
        };
        first.on_frame(now, from, frame, &mut self.between);
        self.settle(now, from == Side::Inside, out);
    }

    fn poll_at(&self) -> Option<Nanos> {
        let both = [self.inner.poll_at(), self.outer.poll_at()];
        both.into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        for of_inner in [true, false] {
            let one = match of_inner {
                true => &mut self.inner,
                false => &mut self.outer,
            };
            if one.poll_at().is_some_and(|at| at <= now) {
                one.on_timer(now, &mut self.between);
                self.settle(now, of_inner, out);
            }
        }
    }

    fn held_packets(&self) -> usize {
        self.inner.held_packets() + self.outer.held_packets()
    }

    /// Those of the outer one; those of the other one begin with `inner_`.
    fn counters(&self) -> Vec<(String, u64)> {
        let inner = self.inner.counters().into_iter();
        let inner = inner.map(|(name, value)| (format!("inner_{name}"), value));
        self.outer.counters().into_iter().chain(inner).collect()
    }

    fn flow_infos(&self) -> Vec<FlowInfo> {
        self.outer.flow_infos()
    }
}
