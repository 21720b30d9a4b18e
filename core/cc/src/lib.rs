//! Congestion control algorithms: one file each, without any knowledge of packets.
//!
//! An algorithm receives events in bytes and nanoseconds, and answers with a [`Control`]. It reads no clock and allocates
//! nothing. Its only randomness is a seed that it is given. Its state is plain data that you can copy, show and compare.
//! What is known of the path is in [`Path`], outside the algorithm, so a running flow can move to another algorithm.
//!
//! To add an algorithm, write a file with one of these: a [`Law`] for the window (the algorithm is then
//! `Windowed<ThatLaw>`), or a type that implements [`CongestionControl`] itself. `algorithms/mod.rs` names it in two lines.
//! CONTRIBUTING.md has an example.
#![forbid(unsafe_code)]

#[macro_use]
mod algorithms;
mod about;
mod beginning;
mod catalog;
mod controller;
mod estimates;
mod event;
mod export;
pub mod host;
mod marked_share;
#[cfg(test)]
mod marking_link;
mod parameter;
mod path;
pub mod plugin;
mod rate_sampler;
mod registry;
mod rounds;
mod rtt_round;
mod scale;
#[cfg(test)]
mod scripted;
mod seeded;
mod settings;
mod settings_text;
mod spare;
mod warm;
mod window;
mod windowed_filter;

pub use about::{About, Signals};
pub use algorithms::*;
pub use beginning::Beginning;
pub use catalog::{Catalog, PLUGINS_MAX};
pub use controller::{Controller, Failed};
pub use estimates::{Estimates, Steps};
pub use event::{AckEvent, CongestionEvent, Control, Phase, RateSample, SendEvent, Signal};
pub use export::{ImportError, SettingsByName};
pub use host::Host;
pub use parameter::{
    NoParameters, Parameter, Parameters, Preset, Profile, Range, Thousandths, Value,
};
pub use path::{Path, Recent};
pub use rate_sampler::{Newest, RateSampler, RateSnapshot};
pub use registry::{Algorithm, AlgorithmId, UnknownAlgorithm};
pub use scale::{bytes_over, mul_div, rate_over};
pub use seeded::Seeded;
pub use settings::{Settings, WrongSetting};
pub use settings_text::WrongText;
pub use spare::Spare;
pub use window::additive_increase::AdditiveIncrease;
pub use window::prr::Prr;
pub use window::slow_start::{Growth, HyStart, HyStartPlusPlus, SlowStart, SlowStartRule};
pub use window::windowed::{Cause, Law, Windowed};
pub use window::{INITIAL_WINDOW_SEGMENTS, MAX_CWND_BYTES, Window};
pub use windowed_filter::{WindowedFilter, WindowedMax, WindowedMin};

/// A point in time, or a span of it, in nanoseconds. The origin is the caller's.
pub type Nanos = u64;

/// Bytes per second.
pub type ByteRate = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;
/// One millisecond in [`Nanos`].
pub const MILLISECOND: Nanos = 1_000_000;

/// What every algorithm implements. All windows are in bytes, all times in nanoseconds.
///
/// The caller keeps `path` up to date before each call. Calls that concern one ACK come in the
/// order `on_congestion` (if this ACK opened a recovery episode), `on_ack`, `on_recovery_exit` (if
/// it closed one). An ACK that closes one episode and opens the next is told as `on_recovery_exit`,
/// `on_congestion`, `on_ack`, all with the same `now`.
pub trait CongestionControl: Clone + core::fmt::Debug {
    /// What an operator can set.
    type Parameters: Parameters;
    /// What it says of itself.
    const ABOUT: About;

    /// A new instance for a flow that comes to it so. With nothing measured (`path.max_bw == 0`) it starts in slow start.
    fn new(beginning: &Beginning<'_>, parameters: &Self::Parameters) -> Self;

    /// The state was handed over by another process: takes what its format lacks of the parameters, which are younger.
    fn complete(&mut self, _parameters: &Self::Parameters) {}

    /// Data left for the network.
    fn on_sent(&mut self, _event: &SendEvent, _path: &Path) {}

    /// An ACK that delivered, or marked lost, at least one byte, or carried an RTT sample.
    fn on_ack(&mut self, event: &AckEvent, path: &Path);

    /// The first loss of a window of data, or the first ECN mark: at most once per window.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &Path);

    /// Everything that was outstanding at `on_congestion` has been delivered.
    fn on_recovery_exit(&mut self, _now: Nanos, _path: &Path) {}

    /// The retransmission timer fired: all that is outstanding is taken for lost.
    fn on_rto(&mut self, now: Nanos, path: &Path);

    /// The last `on_congestion` or `on_rto` was a mistake (RFC 3522, RFC 5682, RFC 9438 §4.9).
    fn on_spurious(&mut self, _now: Nanos, _path: &Path) {}

    /// Sending resumes after `idle` nanoseconds with nothing in flight.
    fn on_idle_restart(&mut self, _now: Nanos, _idle: Nanos, _path: &Path) {}

    /// In start-up the sender has sent more than the path carries for a round trip: the pipe is full. One that paces an
    /// algorithm below what it asks for finds that out, and the algorithm cannot.
    fn on_pipe_full(&mut self, _now: Nanos, _path: &Path) {}

    /// What may be in flight and how fast it may leave.
    fn control(&self) -> Control;

    /// Whether the caller spreads the reduction over a recovery episode with PRR (RFC 9937).
    /// True for the algorithms whose law is a window; false for those that set their own.
    fn uses_prr(&self) -> bool {
        true
    }
}
