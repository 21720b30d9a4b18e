//! What an end is shown of what the other has said.

use windlass_engine::Nanos;
use windlass_wire::Flags;

use super::connection::{BEGAN_EARLIER, Event, Judge};
use super::finding::Rule;
use super::way::{before, edge};

/// So long after the beginning of a recording in mid-flow nothing waits in the box any more that came before it, ns.
const SETTLED_AFTER: Nanos = 1_000_000_000;

/// Units of the scale by which an edge may lie beyond the receiver's: one that must not move left is rounded up, as Linux does
/// it (`tcp_select_window`), once more with each ACK that does not raise it (docs/decisions/025-edge-rounding.md).
const ROUNDINGS: i64 = 8;

impl Judge {
    pub(super) fn check_ack(&mut self, event: &Event<'_>, ack: i64) {
        let way = &self.ways[event.from.other().index()];
        let (known, max) = (way.acks.contains(&ack), way.max_ack);
        // What two boxes say to each other has an old number, which says nothing to an end.
        let among_boxes = event.segment.at.peer != 0;
        let kept = known || (among_boxes && max.is_some_and(|max| ack <= max));
        // Even without the beginning: numbers only grow, and this one is beyond all that came.
        let ahead = max.is_some_and(|max| ack > max);
        let settled = event.captured.time >= self.began.saturating_add(SETTLED_AFTER);
        if ahead && settled && !self.is_whole() {
            let (number, time) = (event.captured.number, event.captured.time);
            let what = ahead_of(ack, max);
            return self.finding(Rule::Ack).break_at(number, time, what);
        }
        self.note(Rule::Ack, event, kept, || match ahead || max.is_none() {
            true => ahead_of(ack, max),
            false => format!(
                "it shows ACK {ack} (of the stream), a number that the receiver has not sent"
            ),
        });
    }

    pub(super) fn check_sack(&mut self, event: &Event<'_>, ack: i64) {
        let way = &self.ways[event.from.other().index()];
        let blocks: Vec<_> = way.blocks(event.segment).collect();
        for (from, to) in blocks {
            let way = &self.ways[event.from.other().index()];
            let reported = match way.max_ack {
                Some(max) if to <= max.max(ack) => true,
                Some(max) => way.sacked.has((from.max(max), to)),
                None => way.sacked.has((from, to)),
            };
            self.note(Rule::Sack, event, reported, || {
                format!(
                    "it shows bytes {from} to {to} as received, which the receiver has not reported"
                )
            });
        }
    }

    pub(super) fn check_edge(&mut self, event: &Event<'_>, ack: Option<i64>) {
        let segment = event.segment;
        let scale = self.scale_of(event.from);
        let Some(edge) = edge(segment, ack, scale) else {
            if ack.is_some() {
                for rule in [Rule::EdgeBeyond, Rule::EdgeLeft] {
                    self.finding(rule)
                        .cannot_tell("without both SYNs the scale of windows is not known");
                }
            }
            return;
        };
        // The field cannot say less than a unit of its scale (RFC 7323 §2.4).
        let unit = match segment.flags.has(Flags::SYN) {
            true => 1,
            false => 1 << scale.unwrap_or(0),
        };
        let way = &self.ways[event.from.other().index()];
        let offered = way.offered;
        let beyond = offered.is_none_or(|offered| edge > offered + ROUNDINGS * unit);
        self.note(Rule::EdgeBeyond, event, !beyond, || {
            let offered = offered.map_or("none".to_owned(), |offered| offered.to_string());
            format!("it shows the edge {edge}, and the receiver's furthest is {offered}")
        });
        self.check_edge_left(event, ack, edge, unit);
    }

    pub(super) fn check_edge_left(
        &mut self,
        event: &Event<'_>,
        ack: Option<i64>,
        edge: i64,
        unit: i64,
    ) {
        let way = &mut self.ways[event.from.other().index()];
        // From an older ACK a sender takes no window, nor from older data with the same one (RFC 9293 §3.10.7.4).
        let (seq, shown_ack) = (event.segment.seq, way.shown.ack);
        let newer = ack.zip(shown_ack).is_some_and(|(ack, shown)| ack > shown);
        let older = ack.zip(shown_ack).is_some_and(|(ack, shown)| ack < shown);
        let overtaken = way.shown.with.is_some_and(|newest| before(seq, newest));
        if older || (overtaken && !newer) {
            return;
        }
        way.shown.with = Some(seq);
        let shown = way.shown.edge;
        way.shown.edge = Some(shown.map_or(edge, |shown| shown.max(edge)));
        let left = shown.filter(|shown| edge + unit <= *shown);
        // If the receiver itself has moved its edge left by these very numbers, the box has passed that on.
        let unchanged = way
            .left_moves
            .contains(&(event.segment.ack, event.segment.window));
        self.note(Rule::EdgeLeft, event, left.is_none() || unchanged, || {
            let shown = left.unwrap_or(0);
            format!("it shows the edge {edge}, after {shown} has been shown")
        });
    }

    pub(super) fn check_stamps(&mut self, event: &Event<'_>) {
        let Some(stamps) = event.segment.options.timestamps else {
            return;
        };
        let whole = self.is_whole();
        let [mine, other] = [event.from, event.from.other()].map(|side| &self.ways[side.index()]);
        let earlier =
            |first: Option<u32>, value| !whole && first.is_none_or(|first| before(value, first));
        let own = mine.tsvals.contains(&stamps.val);
        let echoed = stamps.ecr == 0
            || !event.segment.flags.has(Flags::ACK)
            || other.tsvals.contains(&stamps.ecr)
            || mine.echoes.contains(&stamps.ecr);
        let early = (!own && earlier(mine.first_tsval, stamps.val))
            || (!echoed && earlier(other.first_tsval, stamps.ecr));
        let back = event.segment.payload_len == 0
            && other
                .shown
                .tsval
                .is_some_and(|shown| before(stamps.val, shown))
            && !mine.late_tsvals.contains(&stamps.val);
        let (number, time) = (event.captured.number, event.captured.time);
        if event.segment.payload_len == 0 {
            let other = &mut self.ways[event.from.other().index()];
            let shown = other.shown.tsval.filter(|shown| before(stamps.val, *shown));
            other.shown.tsval = Some(shown.unwrap_or(stamps.val));
        }
        let finding = self.finding(Rule::Timestamps);
        if early {
            finding.cannot_tell(BEGAN_EARLIER);
        } else if !own {
            finding.break_at(
                number,
                time,
                format!("TSval {}: its sender has not said so", stamps.val),
            );
        } else if !echoed {
            finding.break_at(
                number,
                time,
                format!("TSecr {}: nobody has said so", stamps.ecr),
            );
        } else if back {
            finding.break_at(
                number,
                time,
                format!("TSval {} is older than one shown before", stamps.val),
            );
        } else {
            finding.kept += 1;
        }
    }
}

fn ahead_of(ack: i64, max: Option<i64>) -> String {
    let max = max.map_or("has sent none".to_owned(), |max| {
        format!("has sent {max} at most")
    });
    format!("it shows ACK {ack} (of the stream), and the receiver {max}")
}
