//! Data: what leaves has come, is the same, and nothing is kept back that was acknowledged.

use windlass_engine::Side;

use super::connection::{Event, Judge};
use super::finding::Rule;
use super::payload::{Compared, Data};
use super::ranges::{Range, Ranges};

/// The better of two comparisons of the same bytes: a sender may have sent them twice.
fn rank(compared: &Compared) -> u8 {
    match compared {
        Compared::SameBytes => 3,
        Compared::SameSums => 2,
        Compared::Unknown => 1,
        Compared::OtherSum | Compared::OtherByte(_) => 0,
    }
}

impl Judge {
    pub(super) fn check_data(&mut self, event: &Event<'_>, all: &[Event<'_>]) {
        let segment = event.segment;
        let len = i64::from(segment.seq_len());
        if len == 0 {
            return;
        }
        let way = &mut self.ways[event.from.index()];
        let from = way.place(segment.seq, false);
        let range = (from, from + len);
        way.left.add(range);
        let kept = way.came.has(range);
        self.note(Rule::Data, event, kept, || {
            format!(
                "bytes {from} to {} of the stream leave, and have not come",
                range.1
            )
        });
        if kept && segment.payload_len > 0 {
            self.check_payload(event, range, all);
        }
    }

    /// Compares with what came of the same bytes: with whole segments if there are any, else with parts.
    pub(super) fn check_payload(
        &mut self,
        event: &Event<'_>,
        (from, to): Range,
        all: &[Event<'_>],
    ) {
        let way = &self.ways[event.from.index()];
        let leaving = event.data();
        let whole = way.segments.get(&from).into_iter().flatten();
        let same = whole.map(|&index| &all[index]);
        let same = same.filter(|came| came.segment.payload_len == event.segment.payload_len);
        let compared = same
            .map(|came| came.data().compare(&leaving))
            .max_by_key(rank);
        let compared =
            compared.unwrap_or_else(|| self.compare_parts(&leaving, (from, to), event.from, all));
        let (number, time) = (event.captured.number, event.captured.time);
        self.carried.by_bytes += u64::from(compared == Compared::SameBytes);
        self.carried.by_sums += u64::from(compared == Compared::SameSums);
        let finding = self.finding(Rule::Payload);
        match compared {
            Compared::SameBytes | Compared::SameSums => finding.kept += 1,
            Compared::OtherByte(at) => {
                let what = format!("byte {} of the stream is another than the one that came", from + at as i64);
                finding.break_at(number, time, what);
            }
            Compared::OtherSum => {
                let what = format!("the payload at byte {from} has another sum than the one that came");
                finding.break_at(number, time, what);
            }
            Compared::Unknown => finding.cannot_tell(
                "the file has only headers, and the checksums say nothing (partial, or cut otherwise)",
            ),
        }
    }

    /// Bytes that came in other segments.
    fn compare_parts(
        &self,
        leaving: &Data<'_>,
        (from, to): Range,
        side: Side,
        all: &[Event<'_>],
    ) -> Compared {
        let way = &self.ways[side.index()];
        let bytes = leaving.bytes();
        if bytes.len() < leaving.segment.payload_len as usize {
            return Compared::Unknown;
        }
        let mut compared = Ranges::default();
        for (&start, indices) in way.segments.range(from - way.longest..to) {
            for &index in indices {
                let came = all[index].data().bytes();
                let end = start + came.len() as i64;
                let (a, b) = (start.max(from), end.min(to).min(from + bytes.len() as i64));
                let differs =
                    (a..b).find(|&at| bytes[(at - from) as usize] != came[(at - start) as usize]);
                if let Some(at) = differs {
                    return Compared::OtherByte((at - from) as usize);
                }
                compared.add((a, b));
            }
        }
        match compared.has((from, from + bytes.len() as i64)) {
            true => Compared::SameBytes,
            false => Compared::Unknown,
        }
    }

    /// What is acknowledged to the sender has left, as far as it came.
    pub(super) fn check_bytes(&mut self, event: &Event<'_>, ack: i64) {
        let way = &mut self.ways[event.from.other().index()];
        let begin = way.shown.ack.or(way.came.first()).unwrap_or(ack);
        if way.shown.ack.is_some_and(|shown| shown >= ack) {
            return;
        }
        way.shown.ack = Some(ack);
        let kept_back: Vec<_> = way.left.missing((begin, ack));
        let came = |range: &Range| way.came.missing(*range).first() != Some(range);
        let unseen = kept_back.iter().any(|range| !came(range));
        let lost = kept_back.iter().find(|range| came(range)).copied();
        if unseen {
            self.finding(Rule::Bytes)
                .cannot_tell("bytes were acknowledged that were not seen to come");
        }
        if lost.is_some() || !unseen {
            self.note(Rule::Bytes, event, lost.is_none(), || {
                let (from, to) = lost.unwrap_or_default();
                format!("bytes {from} to {to} of the stream came, are acknowledged to their sender, and have not left")
            });
        }
    }
}
