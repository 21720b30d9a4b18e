//! The box at the other end of a connection (AC/DC TCP: He et al., SIGCOMM 2016).
//!
//! Between two boxes the network's ECN marks work whatever the ends do. The box on the sender's side
//! makes its packets ECN-capable; the one on the receiver's side counts what arrives marked, takes
//! the marks away, and reports both counts on the ACKs that it passes (PACK), or where an ACK has no
//! room, in a packet of its own (FACK). The ends see neither marks nor reports.
//!
//! `handshake` is how two boxes find each other, `report` what they tell each other, `stamp` what is
//! done to a packet.

mod handshake;
mod report;
mod stamp;

use serde::{Deserialize, Serialize};
use windlass_wire::{Ecn, Flags, MarkedBytes, PeerOption, Segment, Template};

use crate::context::Context;
use crate::{Pkt, Pool, Side, seq};

use report::Silence;

/// How far two boxes have got with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Stage {
    /// Nobody has said anything.
    Silent,
    /// Our hello is out, on the SYN.
    Offered,
    /// A hello came on the SYN, and is answered on the SYN-ACK: whether that has arrived is open
    /// until the first report.
    Answered,
    /// Both know of each other.
    There,
    /// There is none, or it reports no more. Final.
    Gone,
}

/// The other box, as one connection knows it. The guest is inside, the other box outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Peer {
    stage: Stage,
    /// SYNs that have carried our hello.
    hellos: u8,
    /// The ends use ECN themselves: marks on data are theirs.
    ends_use_ecn: bool,
    /// TCP header and payload of a full packet, bytes.
    full_bytes: u32,
    /// What has arrived from outside, what of it the other box has been told, and what it has told.
    arrived: MarkedBytes,
    told: Option<MarkedBytes>,
    heard: MarkedBytes,
    /// The same, which no count of 32 bits can hold, and what the guest has sent.
    heard_bytes: u64,
    left_bytes: u64,
    /// Initial sequence numbers of the guest and of the other end: those who have not seen them can
    /// neither read reports nor make them.
    numbers: (u32, u32),
    silence: Silence,
    /// Newest acknowledgement that has left.
    shown_ack: Option<u32>,
    /// Headers of packets toward the other box.
    template: Option<Template>,
}

/// What came of a packet from outside.
pub(crate) struct Taken {
    /// It goes on, as this; `None`: it was meant for the box.
    pub segment: Option<Segment>,
    /// Payload of the guest's that has newly been reported as marked, bytes.
    pub marked: u64,
}

impl Peer {
    pub(crate) fn new() -> Peer {
        Peer {
            stage: Stage::Silent,
            hellos: 0,
            ends_use_ecn: false,
            full_bytes: 0,
            arrived: MarkedBytes::default(),
            told: None,
            heard: MarkedBytes::default(),
            heard_bytes: 0,
            left_bytes: 0,
            numbers: (0, 0),
            silence: Silence::default(),
            shown_ack: None,
            template: None,
        }
    }

    /// Marks are reported: the algorithm hears of them from here.
    pub(crate) fn is_there(&self) -> bool {
        self.stage == Stage::There
    }

    /// There has been another box. It may go on to say things, which must not reach a guest.
    pub(crate) fn was_there(&self) -> bool {
        self.told.is_some() || self.heard != MarkedBytes::default()
    }

    /// The handshake is known: whether the ends use ECN, the lesser of their segment sizes, and the
    /// initial sequence numbers of the guest and of the other end.
    pub(crate) fn settle(&mut self, ends_use_ecn: bool, mss: u16, numbers: (u32, u32)) {
        self.numbers = numbers;
        self.ends_use_ecn = ends_use_ecn;
        self.full_bytes = u32::from(mss) + 20;
    }

    /// The connection passes: nothing is added to its packets any more.
    pub(crate) fn stop(&mut self) {
        self.stage = Stage::Gone;
    }

    /// A packet from outside: what the other box has put in is taken out, and the marks are counted
    /// and cleared.
    pub(crate) fn arrives<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
    ) -> Taken {
        let said = PeerOption::read(ctx.pool.head(pkt), segment);
        let mut marked = 0;
        if let Some(PeerOption::Report(counts) | PeerOption::ReportAlone(counts)) = said {
            marked = self.hear(ctx.counters, counts);
        }
        if segment.flags.has(Flags::SYN) {
            self.meet(ctx.counters, segment, said == Some(PeerOption::Hello));
        } else if said.is_none() {
            self.note_silence(ctx.counters, segment);
        }
        let alone = matches!(said, Some(PeerOption::ReportAlone(_)));
        if alone && segment.payload_len == 0 {
            return Taken {
                segment: None,
                marked,
            };
        }
        let mut segment = stamp::without_option(ctx, segment, pkt);
        self.count(&segment);
        self.clear_marks(ctx, &mut segment, pkt);
        Taken {
            segment: Some(segment),
            marked,
        }
    }

    /// A packet that its end would drop: nothing of it is believed, but what boxes say must not reach
    /// a guest. Data that is `known` has arrived all the same, and is counted. `None`: it was meant
    /// for the box.
    pub(crate) fn cleanses<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
        known: bool,
    ) -> Option<Segment> {
        let said = PeerOption::read(ctx.pool.head(pkt), segment);
        if from == Side::Outside
            && matches!(said, Some(PeerOption::ReportAlone(_)))
            && segment.payload_len == 0
        {
            return None;
        }
        let mut segment = stamp::without_option(ctx, segment, pkt);
        if from == Side::Outside {
            if known {
                self.count(&segment);
            }
            self.clear_marks(ctx, &mut segment, pkt);
        }
        Some(segment)
    }

    /// Takes the network's mark away, if it is the boxes'.
    fn clear_marks<P: Pool>(&self, ctx: &mut Context<'_, P>, segment: &mut Segment, pkt: Pkt) {
        if segment.ecn != Ecn::NotEct && self.marks_are_ours(segment) {
            ctx.counters.marks_cleared += u64::from(segment.ecn == Ecn::Ce);
            stamp::set_ecn(ctx, segment, pkt, Ecn::NotEct);
        }
    }

    /// A packet of the guest on its way out: made ECN-capable, with what there is to report. `window`
    /// is what the other end is shown of the guest's; `None`: it reports nothing, because others have overtaken it.
    pub(crate) fn leaves<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        segment: &Segment,
        pkt: Pkt,
        window: Option<u16>,
    ) -> Segment {
        // A guest must not speak for its box.
        let mut segment = stamp::without_option(ctx, segment, pkt);
        self.left_bytes += u64::from(segment.payload_len);
        if segment.flags.has(Flags::RST) {
            return segment;
        }
        if segment.flags.has(Flags::SYN) {
            if !self.greet(ctx, &mut segment, pkt) {
                return segment;
            }
        } else if let Some(window) = window {
            self.report(ctx, &mut segment, pkt, window);
        }
        if segment.flags.has(Flags::ACK) {
            let newer = self
                .shown_ack
                .filter(|shown| seq::later(*shown, segment.ack));
            self.shown_ack = newer.or(Some(segment.ack));
        }
        if segment.ecn == Ecn::NotEct && self.may_mark(&segment) {
            ctx.counters.ect_set += 1;
            stamp::set_ecn(ctx, &mut segment, pkt, Ecn::Ect0);
        }
        segment
    }

    /// Whether the ECN field of such a packet is the boxes' to use. Where the ends use ECN, only
    /// packets without data are, which are never ECN-capable by themselves (RFC 3168 §6.1.4).
    fn marks_are_ours(&self, segment: &Segment) -> bool {
        let active = matches!(self.stage, Stage::Answered | Stage::There);
        active && (!self.ends_use_ecn || segment.payload_len == 0)
    }

    /// Whether the network may mark this one: somebody must be there to report it.
    fn may_mark(&self, segment: &Segment) -> bool {
        if segment.flags.has(Flags::SYN) {
            // An ECN-capable SYN would keep a Linux server from agreeing to ECN.
            return !segment.flags.has(Flags::ECE);
        }
        self.is_there() && self.marks_are_ours(segment)
    }

    fn gone(&mut self, counted: &mut u64) {
        *counted += 1;
        self.stage = Stage::Gone;
    }
}
