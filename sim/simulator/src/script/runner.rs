//! Running a script.

use std::collections::VecDeque;

use windlass_engine::{Nanos, Side};

use super::error::ScriptError;
use super::line::{Action, Comparison, Expected, Line, Script};
use crate::node::Middlebox;

/// Timer calls at one time after which the box is calling for itself for ever.
const MAX_TIMERS_AT_ONE_TIME: u32 = 10_000;

pub(super) struct Runner<'a> {
    script: &'a Script,
    middlebox: &'a mut dyn Middlebox,
    now: Nanos,
    /// The time that `+` counts from.
    clock: Nanos,
    /// What has come out and was not yet expected, by side.
    came: [VecDeque<(Nanos, Vec<u8>)>; 2],
    /// Last frame put in, by side.
    put: [Vec<u8>; 2],
    out: Vec<(Side, Vec<u8>)>,
}

impl<'a> Runner<'a> {
    pub fn new(script: &'a Script, middlebox: &'a mut dyn Middlebox) -> Self {
        Runner {
            script,
            middlebox,
            now: 0,
            clock: 0,
            came: Default::default(),
            put: Default::default(),
            out: Vec::new(),
        }
    }

    pub fn run(mut self) -> Result<(), ScriptError> {
        for line in &self.script.lines {
            self.line(line).map_err(|what| ScriptError {
                line: line.number,
                text: line.text.clone(),
                what,
            })?;
        }
        let Some(last) = self.script.lines.last() else {
            return Ok(());
        };
        for side in [Side::Inside, Side::Outside] {
            if let Some((at, frame)) = self.came[side.index()].front() {
                let came = self.describe(side, *at, frame);
                return Err(ScriptError {
                    line: last.number,
                    text: last.text.clone(),
                    what: format!(
                        "expected: nothing more toward the {}\ncame: {came}",
                        name(side)
                    ),
                });
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) -> Result<(), String> {
        let base = if line.when.relative { self.clock } else { 0 };
        let (from, to) = (base + line.when.from, base + line.when.to);
        match &line.action {
            Action::Put(side, packet) => {
                if from < self.clock {
                    return Err("time goes back".into());
                }
                self.advance(from)?;
                self.clock = from;
                let frame = self.script.build(*side, packet);
                self.put[side.index()].clone_from(&frame);
                // An expectation may have looked ahead by its tolerance.
                let at = from.max(self.now);
                self.middlebox.on_frame(at, *side, frame, &mut self.out);
                self.collect(at);
                Ok(())
            }
            Action::Expect(side, expected) => self.expect(*side, expected, from, to),
            Action::Count(name, comparison, value) => {
                self.advance(from)?;
                self.clock = from.max(self.clock);
                self.count(name.as_deref(), *comparison, *value)
            }
        }
    }

    /// Runs the box's timers up to and including `until`.
    fn advance(&mut self, until: Nanos) -> Result<(), String> {
        let mut calls = 0;
        while let Some(at) = self.middlebox.poll_at().filter(|&at| at <= until) {
            calls = if at > self.now { 0 } else { calls + 1 };
            if calls > MAX_TIMERS_AT_ONE_TIME {
                return Err(format!(
                    "the box calls for itself for ever at {}",
                    seconds(at)
                ));
            }
            self.now = self.now.max(at);
            self.middlebox.on_timer(self.now, &mut self.out);
            self.collect(self.now);
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn collect(&mut self, at: Nanos) {
        for (side, frame) in self.out.drain(..) {
            self.came[side.index()].push_back((at, frame));
        }
    }

    fn expect(
        &mut self,
        side: Side,
        what: &Expected,
        from: Nanos,
        to: Nanos,
    ) -> Result<(), String> {
        match what {
            Expected::NothingFor(span) => {
                let end = to + span;
                self.advance(end)?;
                self.clock = end;
                match self.came[side.index()].front() {
                    None => Ok(()),
                    Some((at, frame)) => Err(format!(
                        "expected: nothing until {}\ncame: {}",
                        seconds(end),
                        self.describe(side, *at, frame)
                    )),
                }
            }
            Expected::Skip => {
                self.advance(to)?;
                self.clock = to;
                self.came[side.index()].clear();
                Ok(())
            }
            _ => self.expect_packet(side, what, from, to),
        }
    }

    fn expect_packet(
        &mut self,
        side: Side,
        what: &Expected,
        from: Nanos,
        to: Nanos,
    ) -> Result<(), String> {
        let tolerance = self.script.tolerance;
        let latest = to + tolerance;
        // Only as far as needed: what is put in next may have a time within the tolerance.
        while self.came[side.index()].is_empty() {
            match self.middlebox.poll_at().filter(|&at| at <= latest) {
                Some(at) => self.advance(at.max(self.now))?,
                None => break,
            }
        }
        let wanted = self.wanted(side, what, from, to);
        let Some((at, frame)) = self.came[side.index()].pop_front() else {
            return Err(format!(
                "expected: {wanted}\ncame: nothing until {}",
                seconds(latest)
            ));
        };
        let early = at + tolerance < from;
        let wrong = if early || at > latest {
            Some(if early { "it is early" } else { "it is late" }.to_string())
        } else {
            match what {
                Expected::Packet(packet) => self.script.difference(side, packet, &frame),
                Expected::Same => (frame != self.put[side.other().index()])
                    .then(|| "its bytes are not those that were put in".into()),
                _ => None,
            }
        };
        self.clock = if from == to { from } else { at };
        match wrong {
            None => Ok(()),
            Some(why) => Err(format!(
                "expected: {wanted}\ncame: {}\n{why}",
                self.describe(side, at, &frame)
            )),
        }
    }

    fn wanted(&self, side: Side, what: &Expected, from: Nanos, to: Nanos) -> String {
        let packet = match what {
            Expected::Packet(packet) => packet.to_string(),
            Expected::Same => {
                let put = &self.put[side.other().index()];
                format!("the bytes of {}", self.script.describe(side, put))
            }
            _ => "any packet".into(),
        };
        if from == to {
            format!("{packet} at {}", seconds(from))
        } else {
            format!("{packet} at {}..{}", seconds(from), seconds(to))
        }
    }

    fn count(&self, counter: Option<&str>, how: Comparison, want: u64) -> Result<(), String> {
        let Some(wanted) = counter else {
            let held = self.middlebox.held_packets() as u64;
            return how
                .holds(held, want)
                .then_some(())
                .ok_or(format!("expected: held {how:?} {want}\nis: {held}"));
        };
        let counters = self.middlebox.counters();
        let Some((_, value)) = counters.iter().find(|(name, _)| name == wanted) else {
            let names: Vec<_> = counters.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!("the box counts {}", names.join(", ")));
        };
        how.holds(*value, want)
            .then_some(())
            .ok_or(format!("expected: {wanted} {how:?} {want}\nis: {value}"))
    }

    fn describe(&self, side: Side, at: Nanos, frame: &[u8]) -> String {
        format!("{} at {}", self.script.describe(side, frame), seconds(at))
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Inside => "server",
        Side::Outside => "client",
    }
}

fn seconds(at: Nanos) -> String {
    format!("{:.6} s", at as f64 / 1e9)
}
