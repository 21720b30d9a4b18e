//! `[link]`: what a bottleneck does, and how that changes.

use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::base::{lengths_ns, millis, seconds};
use super::recording::Recordings;
use crate::setup::{Bottleneck, Change, Direction, Loss, Mtu, Policer};

const RATE_MIN_MBIT: f64 = 0.01;
const RATE_MAX_MBIT: f64 = 100_000.0;
const RTT_MAX_MS: f64 = 10_000.0;
const SLOT_MAX_MS: f64 = 1_000.0;
const QUEUE_MAX_PACKETS: f64 = 1e6;
const LATEST_S: f64 = 86_400.0;

/// How much waits at most.
#[derive(Clone, Copy)]
enum Queue {
    Bdp(f64),
    Bytes(f64),
}

/// What a direction has for itself, and the other one has too.
#[derive(Clone, Copy, Default)]
struct Own {
    recording: Option<usize>,
    jitter_ms: f64,
    slots_ns: Option<(u64, u64)>,
    damage: f64,
}

/// A link in the units of the file.
#[derive(Clone, Copy)]
struct Link {
    /// A full-sized packet with its Ethernet header, bytes.
    packet_bytes: f64,
    rate_mbit: f64,
    rtt_ms: f64,
    down: Own,
    up: Own,
    loss: Loss,
    ack_loss: f64,
    jitter_reorders: bool,
    policer: Option<Policer>,
    reorder: f64,
    reorder_ms: f64,
    duplicate: f64,
    queue: Queue,
    queue_min_packets: f64,
    ecn_mark_bytes: Option<f64>,
    drops_not_ect: bool,
}

/// Reads a table without changes.
pub(super) fn read_steady(
    value: Value<'_>,
    table: &'static str,
    mtu: Mtu,
    recordings: &mut Recordings<'_>,
) -> Result<Bottleneck, Wrong> {
    let span = value.span();
    let bottleneck = read(value, table, mtu, recordings)?;
    match bottleneck.changes.is_empty() {
        true => Ok(bottleneck),
        false => {
            let what = format!("{table} does not change");
            Err(Wrong::new(span, what, "put change into [link]"))
        }
    }
}

/// Reads the table, changes included.
pub(super) fn read(
    value: Value<'_>,
    table: &'static str,
    mtu: Mtu,
    recordings: &mut Recordings<'_>,
) -> Result<Bottleneck, Wrong> {
    let mut section = value.section(table)?;
    let (rate, rtt) = (
        section.need("rate_mbit", "50")?,
        section.need("rtt_ms", "100")?,
    );
    let mut link = Link {
        packet_bytes: mtu.frame_bytes(),
        rate_mbit: read_rate(&rate)?,
        rtt_ms: read_rtt(&rtt)?,
        down: Own::default(),
        up: Own::default(),
        loss: Loss::None,
        ack_loss: 0.0,
        jitter_reorders: false,
        policer: None,
        reorder: 0.0,
        reorder_ms: 0.0,
        duplicate: 0.0,
        queue: Queue::Bdp(1.0),
        queue_min_packets: 100.0,
        ecn_mark_bytes: None,
        drops_not_ect: false,
    };
    let changes = section.take("change");
    let every = section.take("change_every_s");
    for (key, place) in [
        ("recorded", &mut link.down.recording),
        ("ack_recorded", &mut link.up.recording),
    ] {
        if let Some(value) = section.take(key) {
            *place = Some(recordings.add(&value)?);
        }
    }
    link.read(&mut section)?;
    section.finish()?;
    let (down, up) = link.directions();
    let changes = changes.map_or(Ok(Vec::new()), |value| read_changes(value, link))?;
    let repeat_ns = every.map_or(Ok(0), |value| read_every(&value, &changes))?;
    Ok(Bottleneck {
        down,
        up,
        changes,
        repeat_ns,
    })
}

/// After how long the changes come again: all of them have to fit in.
fn read_every(value: &Value<'_>, changes: &[Change]) -> Result<u64, Wrong> {
    let every = seconds(value.number(0.0..=LATEST_S, "s")?);
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        let what = "change_every_s without change repeats nothing";
        return Err(Wrong::new(value.span(), what, "write change too"));
    };
    if every <= last.at_ns - first.at_ns {
        let what = "the changes take longer than the time after which they come again";
        let help = "make change_every_s longer than the last at_s less the first";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(every)
}

fn read_changes(value: Value<'_>, mut link: Link) -> Result<Vec<Change>, Wrong> {
    let mut changes: Vec<Change> = Vec::new();
    // A router does not resize its queue when the path behind it changes.
    link.queue = Queue::Bytes(link.queue_bytes() as f64);
    for value in value.list("[{ at_s = 5, rate_mbit = 20 }]")? {
        let mut section = value.section("[[link.change]]")?;
        let at = section.need("at_s", "5")?;
        let at_ns = seconds(at.number(0.0..=LATEST_S, "s")?);
        if changes.last().is_some_and(|last| last.at_ns >= at_ns) {
            let what = "this change is not later than the one before";
            return Err(Wrong::new(
                at.span(),
                what,
                "write the changes in order of time",
            ));
        }
        if let Some(value) = section.take("rate_mbit") {
            link.rate_mbit = read_rate(&value)?;
        }
        if let Some(value) = section.take("rtt_ms") {
            link.rtt_ms = read_rtt(&value)?;
        }
        link.read(&mut section)?;
        section.finish()?;
        let (down, up) = link.directions();
        changes.push(Change { at_ns, down, up });
    }
    Ok(changes)
}

fn read_rate(value: &Value<'_>) -> Result<f64, Wrong> {
    value.number(RATE_MIN_MBIT..=RATE_MAX_MBIT, "Mbit/s")
}

fn read_rtt(value: &Value<'_>) -> Result<f64, Wrong> {
    value.number(0.0..=RTT_MAX_MS, "ms")
}

/// Percent as a share.
fn share(value: &Value<'_>) -> Result<f64, Wrong> {
    Ok(value.number(0.0..=100.0, "percent")? / 100.0)
}

impl Link {
    /// Replaces what the table names, rate and RTT excepted.
    fn read(&mut self, section: &mut Section<'_>) -> Result<(), Wrong> {
        self.read_loss(section)?;
        self.read_queue(section)?;
        self.read_marks(section)?;
        for (key, place) in [
            ("ack_loss_percent", &mut self.ack_loss),
            ("damage_percent", &mut self.down.damage),
            ("ack_damage_percent", &mut self.up.damage),
            ("reorder_percent", &mut self.reorder),
            ("duplicate_percent", &mut self.duplicate),
        ] {
            if let Some(value) = section.take(key) {
                *place = share(&value)?;
            }
        }
        for (key, place) in [
            ("jitter_ms", &mut self.down.jitter_ms),
            ("ack_jitter_ms", &mut self.up.jitter_ms),
            ("reorder_ms", &mut self.reorder_ms),
        ] {
            if let Some(value) = section.take(key) {
                *place = value.number(0.0..=RTT_MAX_MS, "ms")?;
            }
        }
        for (key, place) in [
            ("slots_ms", &mut self.down.slots_ns),
            ("ack_slots_ms", &mut self.up.slots_ns),
        ] {
            if let Some(value) = section.take(key) {
                *place = slots(value)?;
            }
        }
        if let Some(value) = section.take("jitter_reorders") {
            self.jitter_reorders = value.boolean()?;
        }
        if let Some(value) = section.take("policer") {
            self.policer = Some(policer(value, self.packet_bytes)?);
        }
        if let Some(value) = section.take("drops_not_ect") {
            self.drops_not_ect = value.boolean()?;
        }
        if self.drops_not_ect && self.ecn_mark_bytes.is_none() {
            let what = "drops_not_ect without ecn_mark_packets or ecn_mark_kb changes nothing";
            let help = "write for example ecn_mark_packets = 20: from there on they are dropped";
            return Err(Wrong::new(section.span(), what, help));
        }
        if self.reorder > 0.0 && self.reorder_ms == 0.0 {
            let what = "reorder_percent without reorder_ms changes nothing";
            let help = "write for example reorder_ms = 10: so much later they arrive";
            return Err(Wrong::new(section.span(), what, help));
        }
        Ok(())
    }

    fn read_loss(&mut self, section: &mut Section<'_>) -> Result<(), Wrong> {
        let (independent, bursts) = (
            section.take("loss_percent"),
            section.take("gilbert_elliott"),
        );
        let ratio = independent.as_ref().map(share).transpose()?;
        match (ratio, bursts) {
            (Some(ratio), Some(bursts)) if ratio > 0.0 => {
                let what = "loss_percent and gilbert_elliott contradict each other";
                return Err(Wrong::new(
                    bursts.span(),
                    what,
                    "leave one of them out, or set loss_percent = 0",
                ));
            }
            (_, Some(bursts)) => self.loss = gilbert_elliott(bursts)?,
            (Some(0.0), None) => self.loss = Loss::None,
            (Some(ratio), None) => self.loss = Loss::Independent { ratio },
            (None, None) => {}
        }
        Ok(())
    }

    fn read_queue(&mut self, section: &mut Section<'_>) -> Result<(), Wrong> {
        let mut given = false;
        for (key, max, unit) in [
            ("queue_bdp", 1000.0, None),
            ("queue_packets", QUEUE_MAX_PACKETS, Some(self.packet_bytes)),
            ("queue_kb", QUEUE_MAX_PACKETS, Some(1000.0)),
        ] {
            let Some(value) = section.take(key) else {
                continue;
            };
            let size = value.number(0.0..=max, "")?;
            self.queue = match unit {
                None => Queue::Bdp(size),
                Some(bytes) => Queue::Bytes(size * bytes),
            };
            if core::mem::replace(&mut given, true) {
                let what = "the size of the queue is given twice";
                let help = "keep one of queue_bdp, queue_packets and queue_kb";
                return Err(Wrong::new(value.span(), what, help));
            }
        }
        if let Some(value) = section.take("queue_min_packets") {
            self.queue_min_packets = value.number(1.0..=QUEUE_MAX_PACKETS, "packets")?;
        }
        Ok(())
    }

    fn read_marks(&mut self, section: &mut Section<'_>) -> Result<(), Wrong> {
        let mut given = false;
        for (key, unit) in [
            ("ecn_mark_packets", self.packet_bytes),
            ("ecn_mark_kb", 1000.0),
        ] {
            let Some(value) = section.take(key) else {
                continue;
            };
            self.ecn_mark_bytes = Some(value.number(0.0..=QUEUE_MAX_PACKETS, "")? * unit);
            if core::mem::replace(&mut given, true) {
                let what = "where marks begin is given twice";
                let help = "keep one of ecn_mark_packets and ecn_mark_kb";
                return Err(Wrong::new(value.span(), what, help));
            }
        }
        Ok(())
    }

    fn queue_bytes(&self) -> u64 {
        let bytes = match self.queue {
            Queue::Bdp(products) => {
                let bdp = self.rate_mbit * 1e6 / 8.0 * self.rtt_ms / 1e3;
                (products * bdp).max(self.queue_min_packets * self.packet_bytes)
            }
            Queue::Bytes(bytes) => bytes,
        };
        // A queue without room for one packet would let nothing through.
        bytes.max(self.packet_bytes).round() as u64
    }

    /// Toward the clients, and back. The ACKs share rate, delay and queue; the rest is theirs.
    fn directions(&self) -> (Direction, Direction) {
        let mark = self.ecn_mark_bytes.map(|bytes| bytes.round() as u64);
        let down = Direction {
            rate_bits_per_s: (self.rate_mbit * 1e6).round() as u64,
            recording: self.down.recording,
            delay_ns: millis(self.rtt_ms) / 2,
            jitter_ns: millis(self.down.jitter_ms),
            jitter_reorders: self.jitter_reorders,
            slots_ns: self.down.slots_ns,
            policer: self.policer,
            loss: self.loss,
            reorder_ratio: self.reorder,
            reorder_extra_ns: millis(self.reorder_ms),
            duplicate_ratio: self.duplicate,
            damage_ratio: self.down.damage,
            queue_bytes: self.queue_bytes(),
            ecn_mark_bytes: mark,
            drops_not_ect: self.drops_not_ect,
        };
        let up = Direction {
            recording: self.up.recording,
            jitter_ns: millis(self.up.jitter_ms),
            slots_ns: self.up.slots_ns,
            policer: None,
            loss: match self.ack_loss {
                0.0 => Loss::None,
                ratio => Loss::Independent { ratio },
            },
            reorder_ratio: 0.0,
            reorder_extra_ns: 0,
            duplicate_ratio: 0.0,
            damage_ratio: self.up.damage,
            ..down
        };
        (down, up)
    }
}

/// `[3, 12]`: slots of 3 to 12 ms; `[0, 0]`: none.
fn slots(value: Value<'_>) -> Result<Option<(u64, u64)>, Wrong> {
    let span = value.span();
    let (least, most) = lengths_ns(value, "[3, 12]", SLOT_MAX_MS)?;
    if most > 0 && least == 0 {
        let what = "the shortest slot is without length";
        return Err(Wrong::new(span, what, "write for example [3, 12]"));
    }
    Ok((most > 0).then_some((least, most)))
}

fn policer(value: Value<'_>, packet_bytes: f64) -> Result<Policer, Wrong> {
    let mut section = value.section("policer")?;
    let rate_mbit = read_rate(&section.need("rate_mbit", "20")?)?;
    let burst = section.need("burst_kb", "64")?;
    let burst_kb = burst.number(packet_bytes / 1e3..=QUEUE_MAX_PACKETS, "kB")?;
    section.finish()?;
    Ok(Policer {
        rate_bits_per_s: (rate_mbit * 1e6).round() as u64,
        burst_bytes: (burst_kb * 1e3).round() as u64,
    })
}

fn gilbert_elliott(value: Value<'_>) -> Result<Loss, Wrong> {
    let mut section = value.section("gilbert_elliott")?;
    let good_to_bad = share(&section.need("good_to_bad_percent", "0.5")?)?;
    let bad_to_good = share(&section.need("bad_to_good_percent", "25")?)?;
    let or = |value: Option<Value<'_>>, default| value.map_or(Ok(default), |v| share(&v));
    let loss_good = or(section.take("loss_good_percent"), 0.0)?;
    let loss_bad = or(section.take("loss_bad_percent"), 1.0)?;
    section.finish()?;
    Ok(Loss::GilbertElliott {
        good_to_bad,
        bad_to_good,
        loss_good,
        loss_bad,
    })
}
