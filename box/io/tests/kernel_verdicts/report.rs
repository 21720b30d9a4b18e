//! What was found, by kind.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::fate::Fate;
use super::generate::Generated;
use super::setup::State;

/// How often, and the first of them.
type Kinds = BTreeMap<String, (u32, String)>;

/// What a state has shown.
#[derive(Default)]
pub struct Report {
    pub segments: u32,
    pub connections: u32,
    /// Other traffic lost a packet at the same time.
    pub disturbed: u32,
    taken: u32,
    reasons: BTreeMap<String, u32>,
    /// The kernel refuses, the engine believes.
    violations: Kinds,
    /// The kernel takes, the engine does not believe.
    disbelieved: Kinds,
    /// Ordinary segments that one of them does not take.
    ordinary: Kinds,
    unclear: Kinds,
}

impl Report {
    pub fn add(&mut self, segment: &Generated, fate: &Fate, believed: bool) {
        self.segments += 1;
        let mut odd = segment.odd.join(", ");
        if odd.is_empty() {
            odd.push_str("nothing odd");
        }
        let note = |kinds: &mut Kinds, kind: String| {
            let first = (0, segment.about.clone());
            kinds.entry(kind).or_insert(first).0 += 1;
        };
        let reason = match fate {
            Fate::Taken => "taken",
            Fate::AckLost => "taken, but for its ACK",
            Fate::PayloadLost(reason) | Fate::Refused(reason) | Fate::Unclear(reason) => reason,
        };
        *self.reasons.entry(reason.to_owned()).or_default() += 1;
        match fate {
            Fate::Refused(reason) if believed => {
                note(&mut self.violations, format!("{reason}: {odd}"))
            }
            Fate::Refused(_) => {}
            Fate::Unclear(why) => note(&mut self.unclear, format!("{why}: {odd}")),
            Fate::Taken | Fate::AckLost | Fate::PayloadLost(_) => {
                self.taken += 1;
                if !believed {
                    note(&mut self.disbelieved, odd.clone());
                }
            }
        }
        if segment.odd.is_empty() && (!believed || fate.refusal().is_some()) {
            note(
                &mut self.ordinary,
                format!("{fate:?}, believed: {believed}"),
            );
        }
    }

    /// All of it, as a text; what is wrong comes with the first segment of its kind.
    pub fn text(&self, state: State) -> String {
        let mut text = format!(
            "{state:?}: {} segments on {} connections, {} taken by the kernel, {} disturbed\n  {:?}\n",
            self.segments, self.connections, self.taken, self.disturbed, self.reasons
        );
        let parts = [
            (
                "VIOLATION: the kernel drops, the engine believes",
                &self.violations,
            ),
            (
                "the kernel takes, the engine does not believe",
                &self.disbelieved,
            ),
            ("WRONG: an ordinary segment", &self.ordinary),
            ("WRONG: no telling what the kernel did", &self.unclear),
        ];
        for (what, kinds) in parts {
            let all: u32 = kinds.values().map(|(count, _)| count).sum();
            if all > 0 {
                let _ = writeln!(text, "  {what}: {all} times, {} kinds", kinds.len());
            }
            write_kinds(&mut text, kinds);
        }
        text
    }

    pub fn is_right(&self) -> bool {
        self.violations.is_empty() && self.ordinary.is_empty() && self.unclear.is_empty()
    }
}

/// Those with the fewest odd fields first, by reason; more are seldom of use.
fn write_kinds(text: &mut String, kinds: &Kinds) {
    let reason = |kind: &str| kind.split(':').next().unwrap_or_default().to_owned();
    let mut sorted: Vec<_> = kinds.iter().collect();
    sorted.sort_by_key(|(kind, (count, _))| {
        (reason(kind), kind.matches(',').count(), u32::MAX - count)
    });
    let (mut last, mut shown) = (String::new(), 0);
    for (kind, (count, first)) in sorted {
        shown = if reason(kind) == last { shown + 1 } else { 0 };
        last = reason(kind);
        if shown < KINDS_SHOWN {
            let _ = writeln!(text, "    {count:5} {kind}");
        }
        if shown == 0 {
            let _ = writeln!(text, "          {first}");
        }
    }
}

const KINDS_SHOWN: usize = 12;
