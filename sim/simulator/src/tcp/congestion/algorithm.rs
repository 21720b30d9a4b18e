//! Which congestion control a sender is to have.

use windlass_cc::{AlgorithmId, Settings};
use windlass_wire::Ecn;

use super::kernel::Law;

/// Which law the sender grows its window by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ServerAlgorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438, with or without HyStart.
    Cubic {
        /// Leave slow start on long ACK trains and on rising delay.
        hystart: bool,
    },
    /// Any algorithm of `windlass-cc`, however it is set; window and rate are what it says.
    Native(Settings),
}

impl ServerAlgorithm {
    /// It counts marks: its peer should echo each.
    pub fn counts_marks(&self) -> bool {
        let native = self.native();
        matches!(native, Some(AlgorithmId::Dctcp | AlgorithmId::Prague))
    }

    /// The codepoint of its data: L4S senders use ECT(1) (RFC 9331).
    pub(in crate::tcp) fn ect(&self) -> Ecn {
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

    /// That of the kernel's which it is, or begins as.
    pub(super) fn law(self) -> Law {
        match self {
            ServerAlgorithm::Cubic { hystart } => Law::Cubic { hystart },
            ServerAlgorithm::Reno | ServerAlgorithm::Native(_) => Law::Reno,
        }
    }
}
