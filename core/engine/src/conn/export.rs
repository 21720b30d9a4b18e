//! What of a connection is written apart from it, or named by it.

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, Catalog};

use super::{Conn, Known};
use crate::Pkt;
use crate::flow::{Flow, FlowAlgorithm, Sequel, Tail};

/// The algorithms of its flows, by the side of the sender: only a catalog can read them back.
#[derive(Serialize, Deserialize)]
pub(crate) struct Algorithms([Option<FlowAlgorithm>; 2]);

/// What a connection has since format 3, written apart from it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Since3 {
    first_agreement: Option<[Known; 2]>,
}

/// What it has since format 4.
#[derive(Serialize, Deserialize)]
pub(crate) struct Since4 {
    copies: [Option<Sequel>; 2],
}

/// What it has since format 5.
#[derive(Serialize, Deserialize)]
pub(crate) struct Since5 {
    /// What a short train of ACKs has said of each flow's bottleneck, bytes per second; 0: nothing.
    hints: [ByteRate; 2],
}

/// What it has since format 6.
#[derive(Serialize, Deserialize)]
pub(crate) struct Since6 {
    tails: [Tail; 2],
}

impl Conn {
    /// What is not in format 5.
    pub(crate) fn since_6(&self) -> Since6 {
        let of =
            |flow: &Option<Box<Flow>>| flow.as_ref().map_or(Tail::default(), |flow| flow.tail());
        Since6 {
            tails: [of(&self.flows[0]), of(&self.flows[1])],
        }
    }

    /// Puts it back.
    pub(crate) fn restore_since_6(&mut self, since: Since6) {
        for (flow, tail) in self.flows.iter_mut().zip(since.tails) {
            if let Some(flow) = flow {
                flow.restore_tail(tail);
            }
        }
    }

    /// What is not in format 4.
    pub(crate) fn since_5(&self) -> Since5 {
        let of = |flow: &Option<Box<Flow>>| flow.as_ref().map_or(0, |flow| flow.hint());
        Since5 {
            hints: [of(&self.flows[0]), of(&self.flows[1])],
        }
    }

    /// Puts it back.
    pub(crate) fn restore_since_5(&mut self, since: Since5) {
        for (flow, hint) in self.flows.iter_mut().zip(since.hints) {
            if let Some(flow) = flow {
                flow.restore_hint(hint);
            }
        }
    }

    /// What is not in format 3.
    pub(crate) fn since_4(&self) -> Since4 {
        let of = |flow: &Option<Box<Flow>>| flow.as_ref()?.sequel();
        Since4 {
            copies: [of(&self.flows[0]), of(&self.flows[1])],
        }
    }

    /// Puts it back.
    pub(crate) fn restore_since_4(&mut self, since: Since4) {
        let flows = self.flows.iter_mut().zip(since.copies);
        for (flow, sequel) in flows {
            if let (Some(flow), Some(sequel)) = (flow, sequel) {
                flow.restore_sequel(sequel);
            }
        }
    }

    /// What is not in format 2.
    pub(crate) fn since_3(&self) -> Since3 {
        Since3 {
            first_agreement: self.sight.as_ref().and_then(|sight| sight.first()),
        }
    }

    /// Puts it back.
    pub(crate) fn restore_since_3(&mut self, since: Since3) {
        if let Some(sight) = &mut self.sight {
            sight.restore_first(since.first_agreement);
        }
    }

    /// The algorithms of its flows.
    pub(crate) fn algorithms(&self) -> Algorithms {
        let of = |flow: &Option<Box<Flow>>| flow.as_ref().map(|flow| flow.algorithm());
        Algorithms([of(&self.flows[0]), of(&self.flows[1])])
    }

    /// Puts them back. How many began anew.
    pub(crate) fn restore(&mut self, algorithms: &Algorithms, catalog: &Catalog) -> usize {
        let flows = self.flows.iter_mut().zip(&algorithms.0);
        flows
            .filter_map(|(flow, algorithm)| Some((flow.as_mut()?, algorithm.as_ref()?)))
            .map(|(flow, algorithm)| usize::from(!flow.restore(algorithm, catalog)))
            .sum()
    }

    /// Its flows are told again what is not written of them. How many packets they hold.
    pub(crate) fn restore_unwritten(&mut self) -> usize {
        let prefix = self.books.bucket;
        let flows = self.flows.iter_mut().flatten();
        flows
            .map(|flow| {
                flow.restore_unwritten(prefix);
                flow.held().count()
            })
            .sum()
    }

    /// The packets that it holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = Pkt> + '_ {
        let flows = self.flows.iter().flatten();
        let copy = self.syn_copy.as_ref().map(|copy| copy.pkt);
        flows.flat_map(|flow| flow.held()).chain(copy)
    }
}
