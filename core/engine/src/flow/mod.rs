//! One flow: one direction of data of a connection, from its sender to its receiver.
//!
//! Its state has three parts with walls: the `scoreboard` (what was sent, delivered and lost), the `sender_view` (what the
//! sender has been shown), and the host of the algorithm (`windlass_cc::host`). What happens, in order:
//!
//! * `data` takes in what the sender sends; `gaps` are packets of it that were lost before they came here; `police` refuses what no
//!   sender may do.
//! * `ack` takes in what the receiver acknowledges; `repair` finds what is lost, and keeps the timers (`timeout` says how long).
//! * `send` decides what leaves, at whose pace (`pace`, and `train` while the pipe is not full); `copies` sends things twice.
//! * `acks` decides what the sender is shown of an ACK, `edge` how far it may send, and `own_acks` makes ACKs of the box.
//! * `hands` says in whose hands the flow is: `handback` gives it to its sender, `harm` for good, and `sight` goes on after a time
//!   out of sight.
//! * `change` takes up another policy, or another algorithm.
//! * `review` asks whether the algorithm is to be another one; `transfers` tells policy what came of it.
//! * `watch` and `watched` follow a sender that keeps its own congestion control.
//!
//! What these use: `distance` (how far away the ends are), `scale` (what a round trip makes of the constants), `limited_by` (what
//! the flow waits for), `usual_window` (how far a sender may be ahead of a window of few segments). `cold` is what packets seldom need, and `memory` bounds the size of all this. What others are told: `info`,
//! `standing`, `export`, `introduction`.

mod ack;
mod acks;
mod change;
mod cold;
mod copies;
mod data;
mod distance;
mod edge;
mod export;
mod gaps;
mod handback;
mod hands;
mod harm;
mod info;
mod introduction;
mod limited_by;
mod memory;
mod own_acks;
mod pace;
mod police;
mod repair;
mod review;
mod scale;
mod scoreboard;
mod send;
mod sender_view;
mod sight;
mod standing;
mod tail;
mod timeout;
mod train;
mod transfers;
mod usual_window;
mod watch;
mod watched;

use std::num::NonZeroU64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_cc::{Host, Nanos, Path, Spare};
use windlass_wire::Timestamps;

use crate::admission::Bucket;
use crate::context::Context;
use crate::decide::Generation;
use crate::maybe::Maybe;
use crate::{Mode, PassReason, Pool, Side, TenantId, Transfer, Verdict};

use cold::Cold;
use copies::Copies;
pub(crate) use copies::Sequel;
pub(crate) use data::AHEAD_MAX;
pub(crate) use export::FlowAlgorithm;
use hands::Hands;
pub use info::{FlowFigures, FlowInfo};
pub(crate) use introduction::FlowIntroduction;
pub use limited_by::LimitedBy;
use pace::Pacer;
use scoreboard::Scoreboard;
use sender_view::SenderView;
pub(crate) use tail::Tail;
use train::Train;
pub use watched::{HeldBack, Watched};

/// What the handshake settled for one direction of data.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Where the sender of the data is.
    pub sender: Side,
    /// Its initial sequence number.
    pub iss: u32,
    /// Window scale of the receiver's window, 0 if scaling was not agreed on.
    pub scale: u8,
    /// The receiver sends SACK blocks (to the box at least).
    pub receiver_sacks: bool,
    /// The sender agreed to SACK itself.
    pub sender_sacks: bool,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// Classic ECN was negotiated.
    pub ecn: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// First edge the sender was shown, as a stream offset.
    pub first_edge: u64,
    /// The receiver's initial sequence number.
    pub receiver_iss: u32,
    /// From the SYN of the receiver to the sender's answer: how far away the sender is from the box, µs; 0: unknown.
    pub near_us: u32,
    /// Seed for the algorithm.
    pub seed: u64,
    /// Who has begun the connection: the connection says so again when it is read back.
    #[serde(skip)]
    pub prefix: Bucket,
}

/// The header fields that the sender put into its latest packet, to be told again by held packets
/// that leave later (a retransmission of the sender would carry them too).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Latest {
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// `None`: it has sent none yet.
    pub stamps: Option<Timestamps>,
}

/// The least TSval of held packets below an offset. Later ones are newer by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TsvalFloor {
    val: u32,
    until: NonZeroU64,
}

/// One direction of data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Flow {
    pub setup: Setup,
    /// Flows of one rule share it.
    #[serde(with = "crate::verdicts")]
    pub verdict: Arc<Verdict>,
    /// Of the policy in which the verdict's names mean something.
    generation: Generation,
    /// The algorithm, and what it is told.
    host: Host,
    /// What was sent, delivered and lost.
    board: Scoreboard,
    /// What the sender has been shown.
    view: SenderView,
    pacing: Pacing,
    timers: Timers,
    /// What the sender has said, for packets of it that leave later.
    words: Words,
    hands: Hands,
    /// `None` where trains of ACKs are of no use.
    train: Option<Box<Train>>,
    copies: Spare<Copies>,
    /// When the newest ACK came, at the earliest.
    pub acked_at: Nanos,
    /// Edge of the receiver's own window.
    receiver_edge: u64,
    /// What a packet seldom needs.
    cold: Box<Cold>,
}

/// When the flow's own timers are due.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timers {
    rto_at: Maybe,
    /// How often the time-out has been doubled.
    backoff: u32,
    /// Time-outs since something was acknowledged.
    #[serde(skip)]
    unanswered: u32,
    probe_at: Maybe,
    rack_at: Maybe,
    /// When the receiver's closed window is probed (RFC 9293 §3.8.6.1).
    persist_at: Maybe,
}

/// What limits the flow, and when its next packet may leave.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pacing {
    pacer: Pacer,
    /// Bytes per second at which packets leave; `None` before the first RTT sample: at once.
    rate: Maybe,
    limited_by: LimitedBy,
    /// When it is this flow's turn among those of its tenant.
    turn: Maybe,
    /// Packets that it may send in this turn after the next one.
    turn_left: u8,
    #[serde(skip)]
    usual_window: usual_window::UsualWindow,
    /// For so long the path has had nothing to carry because the box was late, µs. It is made up for.
    #[serde(skip)]
    behind_us: u32,
    last_sent_at: Nanos,
    /// Since when the sender has had room in the edge and not used it.
    idle_room_since: Maybe,
}

/// What the sender has said last, and what the box owes the receiver.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Words {
    latest: Latest,
    owed: Spare<Owed>,
}

/// What the box owes the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Owed {
    /// A packet held before `until` was received must not carry an older TSval than this: the
    /// receiver has seen it in place of an earlier one (PAWS).
    tsval_floor: Option<TsvalFloor>,
    /// The next packet says CWR.
    cwr_due: bool,
    /// The receiver has asked for CWR in the open reaction to marks.
    cwr_asked: bool,
}

impl Flow {
    pub(crate) fn new<P: Pool>(
        setup: Setup,
        mut verdict: Verdict,
        ctx: &mut Context<'_, P>,
        now: Nanos,
        handshake_rtt: Option<Nanos>,
    ) -> Self {
        verdict.algorithm = verdict.algorithm.newest();
        let watches = verdict.mode != Mode::Enforce;
        let mut path = Path::new(setup.mss);
        if let Some(rtt) = handshake_rtt {
            path.on_handshake_rtt(rtt, now);
        }
        Flow {
            host: Host::new(verdict.algorithm, path, setup.seed),
            board: Scoreboard::default(),
            view: SenderView::new(setup.first_edge, setup.receiver_iss.wrapping_add(1)),
            pacing: Pacing {
                rate: verdict.cap.into(),
                ..Pacing::default()
            },
            timers: Timers::default(),
            words: Words {
                latest: Latest {
                    seq: setup.iss,
                    ack: setup.receiver_iss.wrapping_add(1),
                    ..Latest::default()
                },
                ..Words::default()
            },
            hands: Hands::default(),
            train: Some(Box::default()),
            copies: Spare::default(),
            acked_at: now,
            receiver_edge: setup.first_edge,
            cold: Box::new(Cold::new(now, watches, handshake_rtt)),
            setup,
            verdict: ctx.verdicts.keep(verdict),
            generation: ctx.generation,
        }
    }

    /// The box changes what this flow's ends see.
    pub(crate) fn enforcing(&self) -> bool {
        self.hands.pass.is_none() && self.verdict.mode == Mode::Enforce
    }

    /// The sender has nothing more to say: if everything has been acknowledged, its transfer has ended.
    pub(crate) fn end_transfer(&mut self) {
        if self.board.una() == self.board.nxt() {
            self.cold.transfers.end();
        }
    }

    /// Nothing more will be seen of a transfer that has not ended; `at`: since when.
    pub(crate) fn break_off_transfer(&mut self, at: Nanos) {
        self.cold.transfers.break_off(at, self.board.una());
    }

    /// A transfer that has ended, once, with whom it concerns. What the fallback of a plugin has carried says nothing of the
    /// plugin, but of the rule.
    pub(crate) fn take_transfer<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
    ) -> Option<(Verdict, Transfer)> {
        let transfer = self.cold.transfers.take()?;
        ctx.histograms.note_transfer(&transfer);
        let mut verdict = *self.verdict;
        if self.host.controller().failed().is_some() || !transfer.complete {
            verdict.arm = None;
        }
        let concerns = verdict.arm.is_some() || verdict.drawn.is_some();
        (concerns && self.generation == ctx.generation).then_some((verdict, transfer))
    }

    /// When the receiver last acknowledged anything.
    pub(crate) fn acked_at(&self) -> Nanos {
        self.acked_at
    }

    /// Whose flow it is, in the policy of this generation: a number that an older one gave means nothing there.
    pub(crate) fn tenant(&self, generation: Generation) -> Option<TenantId> {
        self.verdict
            .tenant
            .filter(|_| self.generation == generation)
    }

    /// It also repairs and hides: the flow is not in its sender's hands.
    fn in_charge(&self) -> bool {
        self.enforcing() && !self.hands.are_senders()
    }

    /// Everything the sender sent has been acknowledged.
    pub(crate) fn quiet(&self) -> bool {
        self.board.is_quiet()
    }

    /// True once it only passes packets.
    pub(crate) fn passing(&self) -> Option<PassReason> {
        self.hands.pass
    }

    /// Reads a word of each part that a packet will need.
    pub(crate) fn touch(&self) -> u64 {
        let control = self.host.control();
        let (delivered, lost) = self.host.counts();
        let parts = [
            control.cwnd,
            self.host.path().srtt,
            self.host.path().inflight,
            delivered,
            lost,
            self.pacing.pacer.next,
            self.view.touch(),
            self.board.touch(),
            self.receiver_edge,
            u64::from(self.setup.iss),
            self.setup.first_edge,
            self.pacing.last_sent_at,
            self.cold.began,
            u64::from(self.words.latest.ack),
            u64::from(self.verdict.headroom),
        ];
        parts.into_iter().fold(0, u64::wrapping_add)
    }

    /// The same for what has memory of its own: the newest and the oldest piece, the algorithm, the review.
    pub(crate) fn touch_parts(&self) -> u64 {
        let review = self.cold.review().map_or(0, |review| review.touch());
        self.board.touch_hold() ^ self.host.controller().touch() ^ review
    }

    /// When this flow wants to be called next.
    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        if self.hands.pass.is_some() {
            return None;
        }
        let least = Maybe::least([
            self.timers.rto_at,
            self.timers.probe_at,
            self.timers.rack_at,
            self.view.poll_at().into(),
            self.waits_until(),
        ]);
        least.get()
    }

    /// Time has passed.
    pub(crate) fn on_timer<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.hands.pass.is_some() {
            return;
        }
        self.on_repair_timers(ctx);
        self.on_ack_timer(ctx);
        self.pump(ctx);
    }

    /// Gives the memory of an idle flow back.
    pub(crate) fn shrink(&mut self) {
        if self.board.is_empty() {
            self.board.shrink();
            if let Some(copies) = self.copies.edit_known() {
                copies.shrink();
            }
        }
    }
}
