//! What a sender would gain: the algorithm that policy has for a flow that it only advises on, at
//! work on a model of the path that has been measured, with the same data to carry.
//!
//! The model knows the least round trip, the bottleneck's rate (as trains of ACKs have shown it), the
//! queue, and the packets that are lost without a queue. It knows nothing of other flows, so it says what
//! the path gives to this flow alone; and nothing of the box's own measures. How far it is from what
//! enforcing then brings: ARCHITECTURE.md, "Advice".

mod arrival;
mod model;

use windlass_cc::{Nanos, Settings, rate_over};

use crate::{FlowInfo, HeldBack, Mode, Watched};
pub use model::PathModel;

use model::Model;

/// Transfers of less than this say nothing: the first flight, acknowledged, segments.
const LEAST_SEGMENTS: u64 = 20;
/// Packets sent in the model at least, and at most; between them, windows of the path. What is left to
/// carry then is carried at the rate of the second half.
const TRANSMISSIONS: (u64, u64) = (16_384, 131_072);
const WINDOWS: u64 = 8;
/// A train names up to a sixth too much where ACKs were compressed: a flow that has got so near to it
/// has filled the path.
const TRAIN_EXCESS: u64 = 6;

/// Why nothing is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unpredicted {
    /// The application has had too little to send: another algorithm would have carried it no faster.
    Application,
    /// The receiver's window has held the sender back.
    Receiver,
    /// There has not been a transfer worth the name yet.
    TooEarly,
}

impl Unpredicted {
    /// In words.
    pub fn reason(self) -> &'static str {
        match self {
            Unpredicted::Application => "limited by the application",
            Unpredicted::Receiver => "limited by the receiver's window",
            Unpredicted::TooEarly => "too early to tell",
        }
    }
}

/// What enforcing would bring.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Forecast {
    /// On this path.
    pub path: PathModel,
    /// How long the data that the sender has carried in [`Watched::duration`] would have taken, ns.
    pub duration: Nanos,
    /// The bottleneck has not shown itself: it is taken to carry what the sender has got out of it, and
    /// the algorithm may get more.
    pub lower_bound: bool,
}

impl Forecast {
    /// For a flow of mode `advise`; `None` for any other, and one that passes untouched.
    pub fn of(info: &FlowInfo) -> Option<Result<Forecast, Unpredicted>> {
        let watched = info.watched.filter(|_| info.mode == Mode::Advise)?;
        Some(match watched.held_back_by {
            Some(HeldBack::Application) => Err(Unpredicted::Application),
            Some(HeldBack::Receiver) => Err(Unpredicted::Receiver),
            Some(HeldBack::Window) => Forecast::over(info, &watched).ok_or(Unpredicted::TooEarly),
            None => Err(Unpredicted::TooEarly),
        })
    }

    fn over(info: &FlowInfo, watched: &Watched) -> Option<Forecast> {
        let mss = info.figures.mss_bytes.max(1);
        let (delivery_rate, min_rtt) = (watched.delivery_rate, watched.min_rtt);
        let found = watched.bottleneck.unwrap_or(0);
        // Who has made the queue overflow has filled the path, too; what was dropped there makes a
        // train look longer than what came of it.
        let excess = match watched.overflowed {
            true => found / 2,
            false => found / TRAIN_EXCESS,
        };
        let rate = match delivery_rate >= found - excess {
            true => delivery_rate,
            false => found,
        };
        let known = rate > 0 && min_rtt > 0 && watched.duration > 0;
        if !known || watched.bytes < LEAST_SEGMENTS * mss {
            return None;
        }
        let seen = windlass_cc::bytes_over(rate, watched.queue_delay);
        let mut path = PathModel {
            rate,
            rtt: min_rtt,
            queue: seen.max(mss),
            loss_ratio: watched.loss_ratio,
            mss: mss as u32,
        };
        if !watched.overflowed {
            // How much more it would hold nobody knows: a bandwidth-delay product is usual.
            path.queue = path.queue.max(path.bdp());
        }
        let segments = watched.bytes.div_ceil(mss);
        Some(Forecast {
            path,
            duration: time_to_carry(info.settings, &path, segments, !watched.first),
            lower_bound: watched.bottleneck.is_none(),
        })
    }

    /// How many times as fast.
    pub fn speedup(&self, watched: &Watched) -> f64 {
        watched.duration as f64 / self.duration.max(1) as f64
    }

    /// Payload a second, bytes.
    pub fn goodput(&self, watched: &Watched) -> windlass_cc::ByteRate {
        rate_over(watched.bytes, self.duration)
    }
}

/// How long `settings` need for so many segments on `path`, ns. `known`: the flow has filled the path
/// before, else it begins from nothing. The same arguments give the same answer.
pub fn time_to_carry(settings: Settings, path: &PathModel, segments: u64, known: bool) -> Nanos {
    let windows = (path.bdp() + path.queue) / u64::from(path.mss.max(1)) * WINDOWS;
    let most = windows.clamp(TRANSMISSIONS.0, TRANSMISSIONS.1);
    let mut model = Model::new(settings, *path, segments, known, segments ^ path.rtt);
    let begun = model.now;
    let mut half = (model.now, 0);
    while !model.is_done() && model.transmissions < most {
        model.step();
        if model.transmissions <= most / 2 {
            half = (model.now, model.arrived);
        }
    }
    let rest = segments.saturating_sub(model.arrived);
    let (span, got) = (model.now - half.0, model.arrived - half.1);
    model.now - begun + windlass_cc::mul_div(rest, span, got)
}

#[cfg(test)]
mod tests;
