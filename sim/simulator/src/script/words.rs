//! Packets in the script's own words.

use std::fmt;

use windlass_wire::{Flags, PeerOption};

use super::packet::{Packet, TcpOption};

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.flags.map_or("*".into(), letters))?;
        if let Some((start, len)) = self.seq {
            write!(f, " {start}:{}({len})", start.wrapping_add(len))?;
        }
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        if let Some(ecn) = self.ecn {
            write!(f, " ecn {}", format!("{ecn:?}").to_lowercase())?;
        }
        let Some(options) = &self.options else {
            return Ok(());
        };
        let mut words: Vec<String> = options.iter().map(TcpOption::to_string).collect();
        if self.more_options {
            words.push("...".into());
        }
        write!(f, " <{}>", words.join(","))
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: &Option<u32>| n.map_or("*".into(), |n| n.to_string());
        match self {
            TcpOption::Mss(mss) => write!(f, "mss {mss}"),
            TcpOption::SackPermitted => f.write_str("sackOK"),
            TcpOption::WindowScale(shift) => write!(f, "wscale {shift}"),
            TcpOption::Timestamps(val, ecr) => {
                write!(f, "TS val {} ecr {}", number(val), number(ecr))
            }
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(s, e)| write!(f, " {s}:{e}"))
            }
            TcpOption::Peer(PeerOption::Hello) => f.write_str("hello"),
            TcpOption::Peer(PeerOption::Report(c)) => write!(f, "pack {} {}", c.total, c.ce),
            TcpOption::Peer(PeerOption::ReportAlone(c)) => write!(f, "fack {} {}", c.total, c.ce),
            TcpOption::Nop => f.write_str("nop"),
            TcpOption::Raw(bytes) => {
                f.write_str("raw ")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
        }
    }
}

/// Flag letters, in the order that packetdrill prints them.
pub(super) const LETTERS: [(char, Flags); 8] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
    ('.', Flags::ACK),
];

fn letters(flags: Flags) -> String {
    let set = LETTERS.iter().filter(|(_, flag)| flags.has(*flag));
    set.map(|(letter, _)| *letter).collect()
}
