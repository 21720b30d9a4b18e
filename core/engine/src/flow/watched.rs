//! What a sender that keeps its own congestion control has made of its path: what has held it back, and
//! which losses it has not caused itself. [`crate::Forecast`] begins with it.

use windlass_cc::{ByteRate, Nanos, Path};

use super::Flow;
use super::watch::Watch;

/// A queue stands when the RTT is nearer to its largest than to its least, and these are apart by more
/// than such a part of the least.
const QUEUE_RTT_PARTS: Nanos = 4;

/// A window of which such a part is left is full, by and large.
const WINDOW_PARTS: u64 = 16;

/// What keeps a sender from sending more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldBack {
    /// There is no more to send.
    Application,
    /// Its own congestion window.
    Window,
    /// The receiver's window.
    Receiver,
}

impl HeldBack {
    const ALL: [HeldBack; 3] = [HeldBack::Window, HeldBack::Receiver, HeldBack::Application];

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            HeldBack::Application => "application",
            HeldBack::Window => "window",
            HeldBack::Receiver => "receiver",
        }
    }
}

/// What a sender that keeps its own congestion control has made of its path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Watched {
    /// What has kept it from sending more for most of the transfer under way, or else of the last one;
    /// `None` before a round trip has shown it.
    pub held_back_by: Option<HeldBack>,
    /// Bytes of that transfer that have been acknowledged.
    pub bytes: u64,
    /// How long they took, ns.
    pub duration: Nanos,
    /// It is the first of the connection.
    pub first: bool,
    /// Largest recent delivery rate.
    pub delivery_rate: ByteRate,
    /// Smallest RTT, ns; 0 before the first sample.
    pub min_rtt: Nanos,
    /// Rate of the bottleneck, if trains of ACKs have shown it.
    pub bottleneck: Option<ByteRate>,
    /// Lost of sent while no queue stood, 0 to 1: what the sender itself did not cause.
    pub loss_ratio: f64,
    /// The longest wait in queues, ns.
    pub queue_delay: Nanos,
    /// Packets were lost while a queue stood: it holds no more than that.
    pub overflowed: bool,
}

impl Flow {
    /// Room in the receiver's window that a sender leaves although it is held back by it, bytes: what
    /// an ACK or two let go comes in several segments, of which only the last fills the window.
    pub(super) fn nearly_full(&self) -> u64 {
        let window = self.receiver_edge.saturating_sub(self.board.una());
        (window / WINDOW_PARTS).max(3 * u64::from(self.host.path().mss))
    }

    /// A transfer begins.
    pub(crate) fn watch_transfer(&mut self) {
        if let Some(watch) = self.cold.watch_mut() {
            watch.held_back = [0; 3];
            watch.round_began = 0;
        }
    }

    /// At the end of a round. Its first flight, and a round in which nothing new was sent and nothing
    /// repaired, say nothing.
    pub(super) fn note_what_held_back(&mut self, now: Nanos) {
        let Some(watch) = self.cold.watch_mut() else {
            return;
        };
        let Watch {
            fresh,
            answers,
            filling,
            ..
        } = *watch;
        let round_began = std::mem::replace(&mut watch.round_began, now);
        let by = match fresh {
            0 if self.host.episode().is_none() => return,
            0 => HeldBack::Window,
            _ if 2 * filling > fresh => HeldBack::Receiver,
            _ if 2 * answers > fresh => HeldBack::Window,
            _ => HeldBack::Application,
        };
        if round_began > 0 {
            let at = HeldBack::ALL.iter().position(|each| *each == by);
            watch.held_back[at.unwrap_or(0)] += now - round_began;
        }
    }

    /// Told apart: what is lost to a full queue, and what is lost whatever a sender does.
    pub(crate) fn watch_losses(&mut self, delivered: u64, lost: u64) {
        let Some(watch) = self.cold.watch_mut() else {
            return;
        };
        if queue_stands(self.host.path()) {
            watch.queue_lost += lost;
        } else {
            watch.calm_delivered += delivered;
            watch.calm_lost += lost;
        }
    }

    /// What is known of the sender, once there is an RTT.
    pub(super) fn watched(&self) -> Option<Watched> {
        if self.enforcing() || self.hands.pass.is_some() || self.host.path().srtt == 0 {
            return None;
        }
        let watch = self.cold.watch()?;
        let (begun, start) = self.cold.transfers.latest()?;
        let Watch {
            held_back,
            calm_delivered,
            calm_lost,
            ..
        } = *watch;
        let longest = held_back.iter().copied().max().unwrap_or(0);
        let by = held_back.iter().position(|span| *span == longest);
        let calm = (calm_delivered + calm_lost) as f64;
        let path = self.host.path();
        let least = path.min_rtt.min(path.max_rtt);
        Some(Watched {
            held_back_by: by.filter(|_| longest > 0).map(|at| HeldBack::ALL[at]),
            bytes: self.board.una().saturating_sub(start),
            duration: watch.acked_at.saturating_sub(begun),
            first: start <= 1,
            delivery_rate: path.max_bw,
            min_rtt: least,
            bottleneck: self.train.as_ref().and_then(|train| train.bottleneck()),
            loss_ratio: if calm > 0.0 {
                calm_lost as f64 / calm
            } else {
                0.0
            },
            queue_delay: path.max_rtt - least,
            overflowed: watch.queue_lost > 0,
        })
    }
}

fn queue_stands(path: &Path) -> bool {
    let least = path.min_rtt.min(path.max_rtt);
    let apart = path.max_rtt - least;
    apart > least / QUEUE_RTT_PARTS && path.latest_rtt > least + apart / 2
}
