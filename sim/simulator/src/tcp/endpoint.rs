//! One end of a connection: its state and its application. Frames in: `input.rs`; out: `output.rs`.

use windlass_cc::Nanos;
use windlass_wire::FlowKey;

use super::config::{App, Close, EndConfig, EndNow, EndStats};
use super::content::Content;
use super::receiver::Receiver;
use super::sender::{CaState, Sender};

/// Who begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Connects.
    Client,
    /// Listens.
    Server,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    Reset,
}

/// What both ends agreed on.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Agreed {
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// Shift of the windows that come in.
    pub peer_shift: u8,
    /// Window scaling is on.
    pub scaled: bool,
    /// The peer's MSS.
    pub mss: u16,
}

/// A frame to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// The frame, from Ethernet on.
    pub frame: Vec<u8>,
    /// It is ECN-capable.
    pub ect: bool,
}

/// The SYN, or SYN-ACK, that it sends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnSyn {
    pub sent_at: Nanos,
    pub tries: u32,
    /// TSvals of the first and of the last.
    pub stamps: (u32, u32),
    /// When it is to be sent.
    pub due: Option<Nanos>,
}

/// What its application writes.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    next: usize,
    at: Option<Nanos>,
    closed: bool,
}

/// One end of one connection.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) config: EndConfig,
    pub(super) key: FlowKey,
    pub(super) state: State,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) agreed: Agreed,
    /// The peer's initial sequence number.
    pub(super) irs: u32,
    pub(super) ts_recent: u32,
    pub(super) expected: Content,
    pub(super) syn: OwnSyn,
    pub(super) corrupt: Option<u64>,
    pub(super) last_data_at: Option<Nanos>,
    pub(super) content: Content,
    pub(super) app: App,
    pub(super) reset_due: bool,
    /// ACKs made before the data that changed what they would say: they leave first.
    pub(super) early_acks: Vec<Vec<u8>>,
    /// Its own application reset the connection.
    pub(super) aborted: bool,
    writes: Writes,
}

impl Endpoint {
    /// One end of the connection `key` (own address first). `content` is what it sends, `expected`
    /// what it must receive.
    pub fn new(
        role: Role,
        config: EndConfig,
        app: App,
        key: FlowKey,
        content: Content,
        expected: Content,
    ) -> Self {
        Endpoint {
            key,
            state: match role {
                Role::Client => State::Closed,
                Role::Server => State::Listen,
            },
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            agreed: Agreed::default(),
            irs: 0,
            ts_recent: 0,
            expected,
            syn: OwnSyn::default(),
            corrupt: None,
            last_data_at: None,
            content,
            app,
            reset_due: false,
            early_acks: Vec::new(),
            aborted: false,
            writes: Writes::default(),
            config,
        }
    }

    /// Connects.
    pub fn open(&mut self, now: Nanos) {
        self.state = State::SynSent;
        self.syn.due = Some(now);
    }

    /// Its own address and port first.
    pub fn key(&self) -> FlowKey {
        self.key
    }

    /// All was sent, acknowledged and received, FINs included; or the connection was reset.
    pub fn finished(&self) -> bool {
        self.state == State::Reset
            || self.writes.closed && self.sender.finished() && self.receiver.finished()
    }

    /// The connection was reset, or could not be opened.
    pub fn reset(&self) -> bool {
        self.state == State::Reset
    }

    /// The handshake is over.
    pub fn established(&self) -> bool {
        self.state == State::Established
    }

    /// Payload bytes received in order.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received()
    }

    /// Payload bytes that the peer has acknowledged (a FIN counts one).
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.una
    }

    /// Stream offset of the first wrong byte received.
    pub fn corrupt_at(&self) -> Option<u64> {
        self.corrupt
    }

    /// When the last new byte of payload arrived.
    pub fn last_data_at(&self) -> Option<Nanos> {
        self.last_data_at
    }

    /// Counts and the state of the congestion control.
    pub fn stats(&self) -> EndStats {
        EndStats {
            bytes_received: self.receiver.received(),
            hystart_exit: self.sender.cc.hystart_exit(),
            now: EndNow {
                srtt: self.sender.rtt.srtt,
                min_rtt: self.sender.rtt.min_rtt_or_zero(),
                pacing_rate: self.sender.shown_pacing_rate(),
                packets_in_flight: self.sender.packets_in_flight(),
                cwnd_packets: self.sender.window.cwnd,
                in_recovery: self.sender.recovery.state >= CaState::Cwr,
                ssthresh_packets: self.sender.window.ssthresh,
                ..self.sender.stats.now
            },
            ..self.sender.stats
        }
    }

    /// When [`Endpoint::on_timer`] is due.
    pub fn poll_at(&self) -> Option<Nanos> {
        match self.state {
            State::Closed | State::Listen | State::Reset => None,
            State::SynSent | State::SynReceived => self.syn.due,
            State::Established => {
                let timers = [
                    self.sender.poll_at(),
                    self.receiver.poll_at(),
                    self.writes.at,
                ];
                timers.into_iter().flatten().min()
            }
        }
    }

    /// The time named by [`Endpoint::poll_at`] has come.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.state == State::Established {
            self.sender.on_timer(now);
            self.receiver.on_timer(now, self.sender.rtt.srtt);
            self.run_app(now);
        }
    }

    /// The application does what it can.
    pub(super) fn run_app(&mut self, now: Nanos) {
        let received = self.receiver.received();
        while let Some(write) = self.app.writes.get(self.writes.next).copied() {
            if received < write.once_received_bytes {
                return self.maybe_abort(received);
            }
            let at = *self.writes.at.get_or_insert(now + write.pause);
            if at > now {
                return self.maybe_abort(received);
            }
            self.sender.write(write.bytes);
            self.writes.next += 1;
            self.writes.at = None;
        }
        let close = match self.app.close {
            Close::AfterWrites => true,
            Close::AfterPeer => self.receiver.finished(),
            Close::AfterReceived { bytes } => received >= bytes,
            Close::Reset { .. } => false,
        };
        if close && !self.writes.closed {
            self.writes.closed = true;
            self.sender.close();
        }
        self.maybe_abort(received);
    }

    fn maybe_abort(&mut self, received: u64) {
        if let Close::Reset {
            once_received_bytes,
        } = self.app.close
            && received >= once_received_bytes
        {
            self.aborted = true;
            self.reset_due = true;
        }
    }
}
