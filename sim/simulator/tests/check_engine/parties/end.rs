//! An end of the connection, as far as segments show it: what it has sent, what it expects, what it says.

use windlass_sim::Nanos;
use windlass_sim::tcp::Content;
use windlass_wire::{Ecn, Flags, FlowKey, FrameSpec, OptionWriter, Timestamps};

use super::action::Who;
use super::offer::{Agreed, Offer};

/// The first time-out of an end, and the longest.
const RTO: Nanos = 300_000_000;
const MAX_BACKOFF: u8 = 8;
/// An end gives up after so many time-outs in a row.
const MAX_TIMEOUTS: u8 = 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Listen,
    SynSent,
    SynReceived,
    Open,
    /// Reset, by itself or by the other.
    Over,
}

/// A segment as it was first sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub start: u32,
    pub len: u32,
    pub fin: bool,
}

#[derive(Debug)]
pub struct End {
    pub who: Who,
    pub key: FlowKey,
    pub offer: Offer,
    pub agreed: Agreed,
    pub state: State,
    pub iss: u32,
    pub others_iss: u32,
    /// What it sends, and what the other end sends.
    content: Content,
    pub others: Content,
    /// Frames that it has sent and that are not on their way yet.
    pub out: Vec<Vec<u8>>,
    pub una: u32,
    pub nxt: u32,
    /// The right edge that it has been shown, by which segment, and its largest window.
    pub edge: u32,
    pub window_by: (u32, u32),
    pub max_window: u32,
    pub sent: Vec<Sent>,
    pub finished: bool,
    /// It has used a number beyond the window: for a FIN, or to ask for room.
    pub went_beyond: bool,
    pub rto_at: Option<Nanos>,
    pub timeouts: u8,
    pub irs: u32,
    pub rcv_nxt: u32,
    pub rcv_edge: u32,
    /// What it has received beyond a hole, the newest first.
    pub ahead: Vec<(u32, u32)>,
    pub got_fin: Option<u32>,
    /// Segments not acknowledged yet, and the newest acknowledgement sent.
    pub unanswered: u8,
    pub ack_at: Option<Nanos>,
    pub last_acked: u32,
    /// Before that time it answers nothing that is empty and unacceptable.
    pub silent_until: Nanos,
    pub unread: u32,
    pub stopped: bool,
    pub ts_recent: u32,
    /// Marks are to be told, and have been heard of.
    pub tells_marks: bool,
    pub owes_cwr: bool,
    clock: u32,
    pub syn_tsvals: Option<(u32, u32)>,
    /// It has taken a segment that the other end has not sent.
    pub misled: bool,
}

impl End {
    pub fn new(who: Who, key: FlowKey, offer: Offer, [iss, others_iss]: [u32; 2]) -> End {
        let side = who as u64;
        End {
            who,
            key,
            offer,
            agreed: Agreed::default(),
            state: State::Listen,
            iss,
            others_iss,
            content: Content::new(side),
            others: Content::new(1 - side),
            out: Vec::new(),
            una: iss,
            nxt: iss,
            edge: iss,
            window_by: (0, 0),
            max_window: 0,
            sent: Vec::new(),
            finished: false,
            went_beyond: false,
            rto_at: None,
            timeouts: 0,
            irs: 0,
            rcv_nxt: 0,
            rcv_edge: 0,
            ahead: Vec::new(),
            got_fin: None,
            unanswered: 0,
            ack_at: None,
            last_acked: 0,
            silent_until: 0,
            unread: 0,
            stopped: false,
            ts_recent: 0,
            tells_marks: false,
            owes_cwr: false,
            clock: iss ^ 0x5555_0000,
            syn_tsvals: None,
            misled: false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Its timestamp clock: a tick a millisecond.
    pub fn tsval(&self, now: Nanos) -> u32 {
        self.clock.wrapping_add((now / 1_000_000) as u32)
    }

    /// Begins the connection.
    pub fn connect(&mut self, now: Nanos) {
        self.state = State::SynSent;
        self.say_syn(now);
    }

    /// A SYN or, once one has come, a SYN-ACK.
    pub fn say_syn(&mut self, now: Nanos) {
        let answers = self.state == State::SynReceived;
        let val = self.tsval(now);
        let stamps = Timestamps {
            val,
            ecr: self.ts_recent,
        };
        self.syn_tsvals = Some((self.syn_tsvals.map_or(val, |(first, _)| first), val));
        self.nxt = self.iss.wrapping_add(1);
        let spec = FrameSpec {
            key: self.key,
            seq: self.iss,
            ack: if answers { self.rcv_nxt } else { 0 },
            flags: self.offer.syn_flags(answers.then_some(&self.agreed)),
            window: self.offer.first_window(),
            options: self
                .offer
                .syn_options(answers.then_some(&self.agreed), stamps),
            ..FrameSpec::default()
        };
        if answers {
            self.last_acked = self.rcv_nxt;
            let window = u32::from(self.offer.first_window());
            self.rcv_edge = self.rcv_nxt.wrapping_add(window);
        }
        self.out.push(spec.build());
        self.arm(now);
    }

    /// Says something with the acknowledgement, window and timestamps of the moment.
    pub fn say(&mut self, now: Nanos, flags: Flags, seq: u32, payload: Vec<u8>) {
        let window = self.move_edge();
        let mut options = OptionWriter::new();
        if self.agreed.stamps {
            let stamps = Timestamps {
                val: self.tsval(now),
                ecr: self.ts_recent,
            };
            options = options.nop().nop().timestamps(stamps);
        }
        if self.agreed.sack && !self.ahead.is_empty() && payload.is_empty() {
            let most = if self.agreed.stamps { 3 } else { 4 };
            let blocks = &self.ahead[..self.ahead.len().min(most)];
            options = options.nop().nop().sack(blocks);
        }
        let mut flags = flags.with(Flags::ACK);
        if self.tells_marks {
            flags = flags.with(Flags::ECE);
        }
        let data = !payload.is_empty();
        if data && std::mem::take(&mut self.owes_cwr) {
            flags = flags.with(Flags::CWR);
        }
        let spec = FrameSpec {
            key: self.key,
            seq,
            ack: self.rcv_nxt,
            flags,
            window,
            ecn: if data && self.agreed.ecn {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            },
            options: options.into(),
            payload,
            ..FrameSpec::default()
        };
        self.out.push(spec.build());
        self.last_acked = self.rcv_nxt;
        (self.unanswered, self.ack_at) = (0, None);
    }

    /// The window field. The edge never moves left, so it is rounded up.
    fn move_edge(&mut self) -> u16 {
        let scale = self.agreed.own_scale;
        let room = self.offer.buffer.saturating_sub(self.unread);
        let wanted = self.rcv_nxt.wrapping_add(room);
        let edge = later_of(later_of(self.rcv_edge, wanted), self.rcv_nxt);
        let units = edge.wrapping_sub(self.rcv_nxt).div_ceil(1 << scale);
        let units = units.min(u32::from(u16::MAX));
        self.rcv_edge = later_of(self.rcv_edge, self.rcv_nxt.wrapping_add(units << scale));
        units as u16
    }

    pub fn acknowledge(&mut self, now: Nanos) {
        if self.is_open() {
            self.say(now, Flags::ACK, self.nxt, Vec::new());
        }
    }

    /// What it sends from number `start` on.
    pub fn bytes(&self, start: u32, len: u32) -> Vec<u8> {
        let offset = u64::from(start.wrapping_sub(self.iss).wrapping_sub(1));
        let mut bytes = Vec::new();
        self.content.append(offset, len as usize, &mut bytes);
        bytes
    }

    /// Whatever has been lost until now, it tries again.
    pub fn hope(&mut self, now: Nanos) {
        self.timeouts = 0;
        if self.una != self.nxt {
            self.arm(now);
        }
    }

    /// How far it has come, to be told.
    pub fn progress(&self) -> (State, u32, u32, u32) {
        (self.state, self.una, self.nxt, self.rcv_nxt)
    }

    /// Starts the retransmission timer anew.
    pub fn arm(&mut self, now: Nanos) {
        self.rto_at = Some(now + (RTO << self.timeouts.min(MAX_BACKOFF)));
    }

    pub fn poll_at(&self) -> Option<Nanos> {
        let at = self.rto_at.into_iter().chain(self.ack_at).min();
        at.filter(|_| self.state != State::Over)
    }

    pub fn on_timer(&mut self, now: Nanos) {
        if self.ack_at.is_some_and(|at| at <= now) {
            self.acknowledge(now);
        }
        if self.rto_at.is_none_or(|at| at > now) {
            return;
        }
        self.timeouts += 1;
        if self.timeouts > MAX_TIMEOUTS {
            self.rto_at = None;
            return;
        }
        self.arm(now);
        match self.state {
            State::SynSent | State::SynReceived => self.say_syn(now),
            _ => self.resend(now, 0, None),
        }
    }
}

/// The later one of two sequence numbers.
pub fn later_of(a: u32, b: u32) -> u32 {
    if (b.wrapping_sub(a) as i32) > 0 { b } else { a }
}

/// Whether number `a` is after `b`.
pub fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
