//! What of a flow is written apart from it, or named by it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_cc::{ByteRate, Catalog, Controller, SettingsByName};

use super::Flow;
use super::copies::Sequel;
use super::tail::Tail;
use crate::Pkt;
use crate::admission::Bucket;

/// The algorithm of a flow: how it is set, and its state.
#[derive(Serialize, Deserialize)]
pub(crate) struct FlowAlgorithm {
    settings: SettingsByName,
    state: Vec<u8>,
}

impl Flow {
    pub(crate) fn algorithm(&self) -> FlowAlgorithm {
        FlowAlgorithm {
            settings: self.verdict.algorithm.by_name(),
            state: self.host.controller().export(),
        }
    }

    /// Puts the algorithm back. False: its state cannot be read, and it, or the default if there is none of its name any
    /// more, begins anew with what is known of the path.
    pub(crate) fn restore(&mut self, algorithm: &FlowAlgorithm, catalog: &Catalog) -> bool {
        let settings = algorithm.settings.find(catalog);
        if let Some(settings) = settings {
            Arc::make_mut(&mut self.verdict).algorithm = settings;
        }
        match Controller::import(&algorithm.state, &self.verdict.algorithm, catalog) {
            Ok(controller) => {
                self.host.install(controller);
                settings.is_some()
            }
            Err(_) => {
                let seed = self.setup.seed ^ self.board.una();
                self.host.restart(self.verdict.algorithm, seed);
                false
            }
        }
    }

    /// What becomes of its copies: not in format 3.
    pub(crate) fn sequel(&self) -> Option<Sequel> {
        self.copies.get().map(|copies| copies.sequel().clone())
    }

    /// Puts it back.
    pub(crate) fn restore_sequel(&mut self, sequel: Sequel) {
        if sequel != Sequel::default() {
            self.copies.edit().restore_sequel(sequel);
        }
    }

    /// How far the copies of the end of a message are: not in format 5.
    pub(crate) fn tail(&self) -> Tail {
        self.copies
            .get()
            .map_or(Tail::default(), |copies| *copies.tail())
    }

    /// Puts it back.
    pub(crate) fn restore_tail(&mut self, tail: Tail) {
        if tail != Tail::default() {
            *self.copies.edit().tail_mut() = tail;
        }
    }

    /// What a short train of ACKs has said of the bottleneck, bytes per second; 0: nothing. Not in format 4.
    pub(crate) fn hint(&self) -> ByteRate {
        self.train.as_ref().map_or(0, |train| train.hint())
    }

    /// Puts it back.
    pub(crate) fn restore_hint(&mut self, hint: ByteRate) {
        if let Some(train) = &mut self.train {
            train.restore_hint(hint);
        }
    }

    /// Puts back what is not written: the prefix of whoever has begun the connection, and how many time-outs nothing has answered. On
    /// long paths these are as many as the time-out has been doubled; on short ones it may have been doubled more often.
    pub(crate) fn restore_unwritten(&mut self, prefix: Bucket) {
        self.setup.prefix = prefix;
        self.timers.unanswered = self.timers.backoff;
    }

    /// The packets that it holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = Pkt> + '_ {
        self.board
            .packets()
            .chain(self.view.pending().map(|ack| ack.pkt))
    }
}
