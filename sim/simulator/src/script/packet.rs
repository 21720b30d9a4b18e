//! Packets of a script: built, compared, and printed in the script's own words.

use windlass_engine::Side;
use windlass_wire::{
    Ecn, Flags, FlowKey, FrameSpec, OptionWriter, PeerOption, Segment, TcpOptions, Timestamps,
    parse, verify_tcp,
};

use super::line::Script;
use crate::names::server_key;
use crate::tcp::Content;

/// One TCP option of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TcpOption {
    Mss(u16),
    SackPermitted,
    WindowScale(u8),
    /// `None`: any value.
    Timestamps(Option<u32>, Option<u32>),
    Sack(Vec<(u32, u32)>),
    Nop,
    Raw(Vec<u8>),
    /// What a box says to another.
    Peer(PeerOption),
}

/// A packet to be put in, or expected. `None` is anything.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Packet {
    pub flags: Option<Flags>,
    /// Start and length.
    pub seq: Option<(u32, u32)>,
    pub ack: Option<u32>,
    pub window: Option<u16>,
    pub ecn: Option<Ecn>,
    pub port: Option<u16>,
    pub options: Option<Vec<TcpOption>>,
    /// Other options may be there too.
    pub more_options: bool,
}

fn content(side: Side) -> Content {
    Content::new(0x5c + side.index() as u64)
}

impl Script {
    fn key(&self, from: Side, client_port: u16) -> FlowKey {
        let key = server_key(self.v6, client_port);
        match from {
            Side::Inside => key,
            Side::Outside => key.reversed(),
        }
    }

    fn isn(&self, side: Side) -> u32 {
        self.isn[side.index()]
    }

    /// The frame that `packet` describes, sent by `from`.
    pub fn build(&self, from: Side, packet: &Packet) -> Vec<u8> {
        let (start, len) = packet.seq.unwrap_or((1, 0));
        let other = self.isn(from.other());
        let mut payload = Vec::new();
        if len > 0 {
            let offset = u64::from(start).saturating_sub(1);
            content(from).append(offset, len as usize, &mut payload);
        }
        let options = packet.options.as_deref().unwrap_or(&[]);
        FrameSpec {
            key: self.key(from, packet.port.unwrap_or(super::parse::CLIENT_PORT)),
            seq: self.isn(from).wrapping_add(start),
            ack: packet.ack.map_or(0, |n| other.wrapping_add(n)),
            flags: packet.flags.unwrap_or(Flags::ACK),
            window: packet.window.unwrap_or(u16::MAX),
            ecn: packet.ecn.unwrap_or_default(),
            options: encode(options, self.isn(from), other),
            payload,
            ..FrameSpec::default()
        }
        .build()
    }

    /// Compares a frame that came out toward `to` with what was expected: the first difference.
    pub fn difference(&self, to: Side, expected: &Packet, frame: &[u8]) -> Option<String> {
        let seg = match parse(frame, frame.len() as u32) {
            Ok(seg) => seg,
            Err(why) => return Some(format!("not a TCP segment: {why:?}")),
        };
        let port = expected.port.unwrap_or(super::parse::CLIENT_PORT);
        if seg.key != self.key(to.other(), port) {
            return Some(format!("its addresses are {}", seg.key));
        }
        let came = self.describe_parts(to, &seg, frame);
        let unlike_flags = |want: Flags| seg.flags.without(Flags::PSH) != want.without(Flags::PSH);
        if expected.flags.is_some_and(unlike_flags) {
            return Some("flags differ".into());
        }
        if expected.seq.is_some_and(|want| Some(want) != came.seq) {
            return Some("sequence numbers differ".into());
        }
        if expected.ack.is_some_and(|want| Some(want) != came.ack) {
            return Some("ack differs".into());
        }
        if expected.window.is_some_and(|want| want != seg.window) {
            return Some("win differs".into());
        }
        if expected.ecn.is_some_and(|want| want != seg.ecn) {
            return Some(format!("ecn is {:?}", seg.ecn));
        }
        if let Some(want) = &expected.options
            && !same_options(
                want,
                expected.more_options,
                came.options.unwrap_or_default(),
            )
        {
            return Some("options differ".into());
        }
        self.damage(to, &seg, frame)
    }

    /// What no expectation ever allows.
    fn damage(&self, to: Side, seg: &Segment, frame: &[u8]) -> Option<String> {
        if !verify_tcp(frame, seg) {
            return Some("the TCP checksum is wrong".into());
        }
        let at = usize::from(seg.at.payload);
        let payload = &frame[at..at + seg.payload_len as usize];
        let start = seg.seq.wrapping_sub(self.isn(to.other()));
        let offset = u64::from(start).saturating_sub(1);
        let wrong = content(to.other()).first_difference(offset, payload)?;
        Some(format!("the payload is wrong at byte {}", wrong + 1))
    }

    fn describe_parts(&self, to: Side, seg: &Segment, frame: &[u8]) -> Packet {
        let own = self.isn(to.other());
        let peer = self.isn(to);
        let said = PeerOption::read(frame, seg);
        Packet {
            flags: Some(seg.flags),
            seq: Some((seg.seq.wrapping_sub(own), seg.payload_len)),
            ack: seg
                .flags
                .has(Flags::ACK)
                .then(|| seg.ack.wrapping_sub(peer)),
            window: Some(seg.window),
            ecn: (seg.ecn != Ecn::NotEct).then_some(seg.ecn),
            port: None,
            options: Some(decode(
                &seg.options,
                said.map(|says| masked(says, own, peer)),
                peer,
            )),
            more_options: seg.options.unknown,
        }
    }

    /// A frame in the script's words.
    pub fn describe(&self, to: Side, frame: &[u8]) -> String {
        match parse(frame, frame.len() as u32) {
            Ok(seg) => self.describe_parts(to, &seg, frame).to_string(),
            Err(why) => format!("{} bytes, {why:?}", frame.len()),
        }
    }
}

/// Reports are written as what they mean.
fn masked(says: PeerOption, isn: u32, peer_isn: u32) -> PeerOption {
    match says {
        PeerOption::Hello => says,
        PeerOption::Report(counts) => PeerOption::Report(counts.masked(isn, peer_isn)),
        PeerOption::ReportAlone(counts) => PeerOption::ReportAlone(counts.masked(isn, peer_isn)),
    }
}

fn encode(options: &[TcpOption], isn: u32, peer_isn: u32) -> Vec<u8> {
    let mut writer = OptionWriter::new();
    for option in options {
        writer = match option {
            TcpOption::Mss(mss) => writer.mss(*mss),
            TcpOption::SackPermitted => writer.sack_permitted(),
            TcpOption::WindowScale(shift) => writer.window_scale(*shift),
            TcpOption::Timestamps(val, ecr) => writer.timestamps(Timestamps {
                val: val.unwrap_or(0),
                ecr: ecr.unwrap_or(0),
            }),
            TcpOption::Sack(blocks) => {
                let absolute = |n: u32| peer_isn.wrapping_add(n);
                let blocks: Vec<_> = blocks
                    .iter()
                    .map(|&(s, e)| (absolute(s), absolute(e)))
                    .collect();
                writer.sack(&blocks)
            }
            TcpOption::Nop => writer.nop(),
            TcpOption::Raw(bytes) => writer.raw(bytes),
            TcpOption::Peer(says) => {
                let (bytes, count) = masked(*says, isn, peer_isn).bytes();
                writer.raw(&bytes[..count])
            }
        };
    }
    writer.into()
}

fn decode(options: &TcpOptions, said: Option<PeerOption>, peer_isn: u32) -> Vec<TcpOption> {
    let mut list = Vec::new();
    list.extend(options.mss.map(TcpOption::Mss));
    if options.sack_permitted {
        list.push(TcpOption::SackPermitted);
    }
    let timestamps = options.timestamps;
    list.extend(timestamps.map(|ts| TcpOption::Timestamps(Some(ts.val), Some(ts.ecr))));
    list.extend(options.window_scale.map(TcpOption::WindowScale));
    let relative = |n: u32| n.wrapping_sub(peer_isn);
    let blocks = options.sack.iter().map(|(s, e)| (relative(s), relative(e)));
    if !options.sack.is_empty() {
        list.push(TcpOption::Sack(blocks.collect()));
    }
    list.extend(said.map(TcpOption::Peer));
    list
}

fn same_options(want: &[TcpOption], more: bool, came: Vec<TcpOption>) -> bool {
    let like = |want: &TcpOption, came: &TcpOption| match (want, came) {
        (TcpOption::Timestamps(val, ecr), TcpOption::Timestamps(v, e)) => {
            (val.is_none() || val == v) && (ecr.is_none() || ecr == e)
        }
        _ => want == came,
    };
    let want: Vec<_> = want.iter().filter(|o| **o != TcpOption::Nop).collect();
    let all_there = want.iter().all(|w| came.iter().any(|c| like(w, c)));
    all_there && (more || want.len() == came.len())
}
