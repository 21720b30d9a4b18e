//! The flow engine. It does no I/O: packets come in as handles, time is an argument, and decisions go out.
//!
//! [`Engine::on_packet`] takes a packet, and [`Engine::on_timer`] takes the time. Both add the packets to send to a list.
//! The modules:
//!
//! * `conn`: handshakes, and the two directions of a connection.
//! * `flow`: everything about one direction of data.
//! * `peer`: what two boxes tell each other, unseen by the ends.
//! * `forecast`: what enforcing would bring for a flow that Windlass only watches.
#![forbid(unsafe_code)]

mod admission;
mod conn;
mod context;
mod counters;
mod decide;
mod decision;
mod engine;
mod flow;
mod forecast;
mod histograms;
mod limits;
mod maybe;
mod notice;
mod peer;
mod port;
mod seq;
mod tenants;
mod verdicts;
mod wheel;

pub use conn::{Introduced, Introduction};
pub use counters::{Counters, PassReason};
pub use decide::{
    Arm, Choice, Comparison, Decide, Drawn, Edition, Feedback, LivePath, Mode, Redundancy,
    Switching, Transfer, Ungoverned, Verdict,
};
pub use decision::{Decision, Fate, Standing, Why};
pub use engine::{Carried, Engine, StateError};
pub use flow::{FlowFigures, FlowInfo, HeldBack, LimitedBy, Watched};
pub use forecast::{Forecast, PathModel, Unpredicted, time_to_carry};
pub use histograms::Histograms;
pub use limits::Limits;
pub use notice::{HandBack, Happened, Notice};
pub use port::{Pkt, Pool, Room, Side, Tx, TxChecksum};
pub use tenants::{Bounds, Senders, Tenant, TenantId, TenantInfo};
pub use windlass_cc::{AlgorithmId, Nanos, Phase};
