//! The flow engine. Sans-IO: packets come in as handles, time as an argument, decisions go out.
//!
//! [`Engine::on_packet`] takes a packet, [`Engine::on_timer`] the time; both add what is to be sent
//! to a list. `conn` knows handshakes and the two directions of a connection, `flow` everything
//! about one direction of data, `peer` what two boxes tell each other over the ends' heads, `forecast` what
//! enforcing would make of a flow that is only watched.
#![forbid(unsafe_code)]

mod admission;
mod conn;
mod context;
mod counters;
mod decide;
mod engine;
mod flow;
mod forecast;
mod limits;
mod peer;
mod port;
mod seq;
mod tenants;
mod wheel;

pub use counters::{Counters, PassReason};
pub use decide::{
    Arm, Choice, Comparison, Decide, Feedback, LivePath, Mode, Redundancy, Switching, Transfer,
    Verdict,
};
pub use engine::Engine;
pub use flow::{FlowFigures, FlowInfo, HeldBack, LimitedBy, Watched};
pub use forecast::{Forecast, PathModel, Unpredicted, time_to_carry};
pub use limits::Limits;
pub use port::{Pkt, Pool, Room, Side, Tx, TxChecksum};
pub use tenants::{Tenant, TenantId, TenantInfo};
pub use windlass_cc::{AlgorithmId, Nanos};
