//! Reading the packets of a script.

use windlass_wire::{Ecn, Flags, MarkedBytes, PeerOption};

use super::packet::{Packet, TcpOption};
use super::parse::{Read, number};
use super::words::LETTERS;

/// The most packets that `by` makes of one line.
const MAX_PACKETS_PER_LINE: u32 = 10_000;

/// One packet, or as many as `by` cuts it into.
pub(super) fn packets(text: &str) -> Read<Vec<Packet>> {
    let mut packet = Packet::default();
    let mut text = text.to_string();
    if let Some(open) = text.find('<') {
        let close = text.find('>').ok_or("< without >")?;
        let list = text.get(open + 1..close).ok_or("> before <")?.to_string();
        text.replace_range(open..=close, " ");
        (packet.options, packet.more_options) = options(&list)?;
    }
    let mut words = text.split_whitespace();
    packet.flags = flags(words.next().ok_or("no packet")?)?;
    let mut by = None;
    while let Some(name) = words.next() {
        if name.contains(':') {
            packet.seq = Some(range(name)?);
            continue;
        }
        let value = words.next().ok_or(format!("{name:?} of what?"))?;
        match name {
            "ack" => packet.ack = Some(number(value)?),
            "win" => packet.window = Some(number(value)?),
            "port" => packet.port = Some(number(value)?),
            "by" => by = Some(number::<u32>(value)?.max(1)),
            "ecn" => packet.ecn = Some(ecn(value)?),
            _ => return Err(format!("{name:?} is not a part of a packet")),
        }
    }
    Ok(match (by, packet.seq) {
        (Some(by), Some((_, len))) if len.div_ceil(by) > MAX_PACKETS_PER_LINE => {
            return Err(format!("more than {MAX_PACKETS_PER_LINE} packets"));
        }
        (Some(by), Some((start, len))) => cut(&packet, start, len, by),
        _ => vec![packet],
    })
}

fn cut(packet: &Packet, start: u32, len: u32, by: u32) -> Vec<Packet> {
    (0..len)
        .step_by(by as usize)
        .map(|at| Packet {
            seq: Some((start.wrapping_add(at), by.min(len - at))),
            ..packet.clone()
        })
        .collect()
}

fn flags(text: &str) -> Read<Option<Flags>> {
    if text == "*" {
        return Ok(None);
    }
    let mut flags = Flags(0);
    for letter in text.chars() {
        let found = LETTERS.iter().find(|(l, _)| *l == letter);
        let (_, flag) = found.ok_or(format!("{letter:?} is not a flag"))?;
        flags = flags.with(*flag);
    }
    Ok(Some(flags))
}

fn range(text: &str) -> Read<(u32, u32)> {
    let bad = || format!("{text:?} is not start:end(length)");
    let (span, len) = text
        .strip_suffix(')')
        .and_then(|t| t.split_once('('))
        .ok_or_else(bad)?;
    let (start, end) = span.split_once(':').ok_or_else(bad)?;
    let (start, end, len): (u32, u32, u32) = (number(start)?, number(end)?, number(len)?);
    if end.wrapping_sub(start) != len {
        return Err(format!("{text:?}: that is not the length"));
    }
    Ok((start, len))
}

fn ecn(text: &str) -> Read<Ecn> {
    match text {
        "ce" => Ok(Ecn::Ce),
        "ect0" => Ok(Ecn::Ect0),
        "ect1" => Ok(Ecn::Ect1),
        "none" => Ok(Ecn::NotEct),
        _ => Err(format!("{text:?} is none of ce ect0 ect1 none")),
    }
}

fn options(list: &str) -> Read<(Option<Vec<TcpOption>>, bool)> {
    let mut found = Vec::new();
    let mut more = false;
    for item in list.split(',').map(str::trim).filter(|i| !i.is_empty()) {
        let words: Vec<&str> = item.split_whitespace().collect();
        found.push(match words[..] {
            ["..."] => {
                more = true;
                continue;
            }
            ["mss", n] => TcpOption::Mss(number(n)?),
            ["sackOK"] => TcpOption::SackPermitted,
            ["wscale", n] => TcpOption::WindowScale(number(n)?),
            ["TS", "val", val, "ecr", ecr] => TcpOption::Timestamps(any(val)?, any(ecr)?),
            ["sack", ref blocks @ ..] => {
                TcpOption::Sack(blocks.iter().map(|b| block(b)).collect::<Read<_>>()?)
            }
            ["nop"] => TcpOption::Nop,
            ["hello"] => TcpOption::Peer(PeerOption::Hello),
            ["pack", total, ce] => TcpOption::Peer(PeerOption::Report(counts(total, ce)?)),
            ["fack", total, ce] => TcpOption::Peer(PeerOption::ReportAlone(counts(total, ce)?)),
            ["raw", hex] => TcpOption::Raw(bytes(hex)?),
            _ => return Err(format!("unknown option {item:?}")),
        });
    }
    Ok((Some(found), more))
}

fn counts(total: &str, ce: &str) -> Read<MarkedBytes> {
    Ok(MarkedBytes {
        total: number(total)?,
        ce: number(ce)?,
    })
}

fn any(text: &str) -> Read<Option<u32>> {
    if text == "*" {
        return Ok(None);
    }
    number(text).map(Some)
}

fn block(text: &str) -> Read<(u32, u32)> {
    let (start, end) = text
        .split_once(':')
        .ok_or(format!("{text:?} is not a block start:end"))?;
    Ok((number(start)?, number(end)?))
}

fn bytes(hex: &str) -> Read<Vec<u8>> {
    let bad = || format!("{hex:?} is not hexadecimal");
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return Err(bad());
    }
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| bad()))
        .collect()
}
