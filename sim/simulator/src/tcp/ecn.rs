//! ECN at an end point: which codepoint data carries, and how each mark is echoed.

use windlass_cc::{AlgorithmId, Nanos};
use windlass_wire::Ecn;

use super::endpoint::Endpoint;
use super::server_cc::ServerAlgorithm;

impl ServerAlgorithm {
    /// It counts marks: its peer should echo each.
    pub fn counts_marks(&self) -> bool {
        let native = self.native();
        matches!(native, Some(AlgorithmId::Dctcp | AlgorithmId::Prague))
    }

    /// The codepoint of its data: L4S senders use ECT(1) (RFC 9331).
    pub(super) fn ect(&self) -> Ecn {
        match self.native() {
            Some(AlgorithmId::Prague) => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    fn native(&self) -> Option<AlgorithmId> {
        match self {
            ServerAlgorithm::Native(settings) => Some(settings.id()),
            ServerAlgorithm::Reno | ServerAlgorithm::Cubic { .. } => None,
        }
    }
}

impl Endpoint {
    /// RFC 8257 §3.2: data has arrived, marked or not, and has not been taken in yet. ACKs say
    /// whether the data that they are for was marked. At a change one leaves at once, and before it
    /// one for what has waited for its ACK, as that was.
    pub(super) fn echo_each(&mut self, now: Nanos, marked: bool) {
        if marked == self.receiver.echo_ce {
            return;
        }
        if self.receiver.ack_is_delayed() {
            self.early_ack = Some(self.ack_frame(now));
        }
        self.receiver.echo_ce = marked;
        self.receiver.demand_ack();
    }
}
