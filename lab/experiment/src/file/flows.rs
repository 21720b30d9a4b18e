//! `[[flows]]`, `[[cross_traffic]]` and `[[probe]]`.

use core::ops::Range;

use windlass_cc::Catalog;
use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::base::{congestion_control, millis, seconds};
use super::short_name;
use crate::setup::{CrossTraffic, FlowGroup, Probe, Sizes, Transport};

const TRANSPORTS: [(&str, Transport); 2] = [("tcp", Transport::Tcp), ("quic", Transport::Quic)];
const COUNT_MAX: u64 = 100_000;
const BYTES_MAX: f64 = 1e12;
const LATEST_S: f64 = 86_400.0;
const PAUSE_MAX_MS: f64 = 3_600_000.0;
const WRITE_MAX_KB: f64 = 1e6;
const PROBE_MIN_MS: f64 = 0.01;
/// The least Ethernet frame, bytes.
const PROBE_BYTES: u32 = 64;

/// A group, and what of it is not the back end's to know.
pub(super) struct Group {
    pub group: FlowGroup,
    /// Whether the box may touch it.
    pub governed: bool,
    pub span: Range<usize>,
}

/// Reads `[[flows]]` between this many pairs.
pub(super) fn read(value: Value<'_>, pairs: u64, catalog: &Catalog) -> Result<Vec<Group>, Wrong> {
    let span = value.span();
    let mut groups: Vec<Group> = Vec::new();
    for value in value.list("[{ mb = 10 }]")? {
        let group = read_one(value, pairs, catalog)?;
        if groups.iter().any(|g| g.group.name == group.group.name) {
            let what = format!("two [[flows]] are called \"{}\"", group.group.name);
            return Err(Wrong::new(
                group.span,
                what,
                "give it a name = \"…\" of its own",
            ));
        }
        groups.push(group);
    }
    if groups.iter().all(|g| g.group.background) {
        let what = "all flows are in the background: the run would end before it began";
        let help = "leave background = true out of at least one of the [[flows]]";
        return Err(Wrong::new(span, what, help));
    }
    Ok(groups)
}

fn read_one(value: Value<'_>, pairs: u64, catalog: &Catalog) -> Result<Group, Wrong> {
    let mut section = value.section("[[flows]]")?;
    let span = section.span();
    let name = match section.take("name") {
        Some(name) => short_name(&name)?,
        None => "download".to_owned(),
    };
    let count = match section.take("count") {
        Some(value) => value.integer(1..=COUNT_MAX, "flows")? as u32,
        None => 1,
    };
    let bytes = read_bytes(&mut section)?;
    let (start_ns, interval_ns) = (
        time(&mut section, "start_s")?,
        time(&mut section, "interval_s")?,
    );
    let at_once = read_at_once(&mut section, interval_ns)?;
    let (write_bytes, pause_ns) = read_pauses(&mut section)?;
    let pair = match section.take("pair") {
        Some(value) => index(&value, pairs, "pair")?,
        None => 0,
    };
    let around = section.take("pairs").map(|value| {
        let most = pairs - pair as u64;
        value.integer(1..=most, "pairs, from that of pair on")
    });
    let around = around.transpose()?.unwrap_or(1) as usize;
    let sizes = section.take("sizes");
    let sizes = sizes.map(|v| v.word(&Sizes::ALL)).transpose()?;
    let control = section.take("congestion_control");
    let transport = read_transport(&mut section, at_once > 0, pause_ns > 0)?;
    let background = flag(&mut section, "background", false)?;
    let governed = flag(&mut section, "governed", true)?;
    section.finish()?;
    let group = FlowGroup {
        name,
        pair,
        pairs: around,
        count,
        bytes,
        sizes,
        start_ns,
        interval_ns,
        at_once,
        write_bytes,
        pause_ns,
        congestion_control: control
            .map(|v| congestion_control(&v, catalog))
            .transpose()?,
        transport,
        background,
    };
    Ok(Group {
        group,
        governed,
        span,
    })
}

/// What carries the transfers; over QUIC they neither begin `at_once` nor pause.
fn read_transport(
    section: &mut Section<'_>,
    at_once: bool,
    pauses: bool,
) -> Result<Transport, Wrong> {
    let Some(value) = section.take("transport") else {
        return Ok(Transport::default());
    };
    let transport = value.word(&TRANSPORTS)?;
    let (what, help) = match transport {
        Transport::Quic if at_once => (
            "transfers over QUIC begin at their times",
            "leave at_once out, or take transport = \"tcp\"",
        ),
        Transport::Quic if pauses => (
            "windlass send does not pause",
            "leave write_kb and pause_ms out, or take transport = \"tcp\"",
        ),
        _ => return Ok(transport),
    };
    Err(Wrong::new(value.span(), what, help))
}

/// Most of a group that are under way together.
fn read_at_once(section: &mut Section<'_>, interval_ns: u64) -> Result<u32, Wrong> {
    let Some(value) = section.take("at_once") else {
        return Ok(0);
    };
    if interval_ns > 0 {
        let what = "at_once and interval_s contradict each other";
        let help = "with at_once the next one begins when another has ended: leave interval_s out";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(value.integer(1..=COUNT_MAX, "flows")? as u32)
}

fn read_bytes(section: &mut Section<'_>) -> Result<u64, Wrong> {
    let mut size = None;
    for (key, unit, bytes) in [
        ("mb", "MB", 1e6),
        ("kb", "kB", 1e3),
        ("bytes", "bytes", 1.0),
    ] {
        let Some(value) = section.take(key) else {
            continue;
        };
        let number = value.number(1.0 / bytes..=BYTES_MAX / bytes, unit)?;
        if size.replace((number * bytes).round() as u64).is_some() {
            let what = "the size is given twice";
            return Err(Wrong::new(
                value.span(),
                what,
                "keep one of mb, kb and bytes",
            ));
        }
    }
    size.ok_or_else(|| {
        let what = "[[flows]] has no size";
        Wrong::new(
            section.span(),
            what,
            "write for example mb = 10, or kb, or bytes",
        )
    })
}

fn read_pauses(section: &mut Section<'_>) -> Result<(u64, u64), Wrong> {
    match (section.take("write_kb"), section.take("pause_ms")) {
        (None, None) => Ok((0, 0)),
        (Some(write), Some(pause)) => {
            let write = write.number(0.001..=WRITE_MAX_KB, "kB")?;
            let pause = pause.number(0.0..=PAUSE_MAX_MS, "ms")?;
            Ok(((write * 1e3).round() as u64, millis(pause)))
        }
        (Some(one), None) | (None, Some(one)) => {
            let what = "write_kb and pause_ms go together";
            let help = "write both: after so many kB the server pauses so many ms";
            Err(Wrong::new(one.span(), what, help))
        }
    }
}

fn time(section: &mut Section<'_>, key: &'static str) -> Result<u64, Wrong> {
    match section.take(key) {
        Some(value) => Ok(seconds(value.number(0.0..=LATEST_S, "s")?)),
        None => Ok(0),
    }
}

fn flag(section: &mut Section<'_>, key: &'static str, default: bool) -> Result<bool, Wrong> {
    section
        .take(key)
        .map_or(Ok(default), |value| value.boolean())
}

fn index(value: &Value<'_>, count: u64, what: &str) -> Result<usize, Wrong> {
    let index = value.integer(0..=u64::from(u32::MAX), "")?;
    if index >= count {
        let wrong = format!("there is no {what} {index}");
        let help = format!("use 0 to {}, or let [topology] have more", count - 1);
        return Err(Wrong::new(value.span(), wrong, help));
    }
    Ok(index as usize)
}

/// Reads `[[probe]]` between this many pairs.
pub(super) fn probes(value: Value<'_>, pairs: u64) -> Result<Vec<Probe>, Wrong> {
    let mut all = Vec::new();
    for value in value.list("[{ interval_ms = 1 }]")? {
        let mut section = value.section("[[probe]]")?;
        let pair = match section.take("pair") {
            Some(value) => index(&value, pairs, "pair")?,
            None => 0,
        };
        let interval = section.need("interval_ms", "1")?;
        let interval = interval.number(PROBE_MIN_MS..=PAUSE_MAX_MS, "ms")?;
        section.finish()?;
        all.push(Probe {
            pair,
            interval_ns: millis(interval),
            packet_bytes: PROBE_BYTES,
        });
    }
    Ok(all)
}

/// Reads `[[cross_traffic]]` over this many bottlenecks.
pub(super) fn cross_traffic(
    value: Value<'_>,
    bottlenecks: u64,
) -> Result<Vec<CrossTraffic>, Wrong> {
    let mut all = Vec::new();
    for value in value.list("[{ rate_mbit = 5 }]")? {
        let mut section = value.section("[[cross_traffic]]")?;
        let rate = section.need("rate_mbit", "5")?;
        let rate = rate.number(0.001..=100_000.0, "Mbit/s")?;
        let packet_bytes = match section.take("packet_bytes") {
            Some(value) => value.integer(64..=1500, "bytes")? as u32,
            None => 1500,
        };
        let bottleneck = match section.take("bottleneck") {
            Some(value) => index(&value, bottlenecks, "bottleneck")?,
            None => 0,
        };
        let start_ns = time(&mut section, "start_s")?;
        let (on_ns, off_ns) = (time(&mut section, "on_s")?, time(&mut section, "off_s")?);
        if on_ns == 0 && off_ns > 0 {
            let what = "off_s without on_s: it would never be on";
            let help = "write on_s too, or leave off_s out for one that stays on";
            return Err(Wrong::new(section.span(), what, help));
        }
        section.finish()?;
        all.push(CrossTraffic {
            bottleneck,
            rate_bits_per_s: (rate * 1e6).round() as u64,
            packet_bytes,
            start_ns,
            on_ns,
            off_ns,
        });
    }
    Ok(all)
}
