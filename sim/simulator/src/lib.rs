//! A simulator in virtual time: links, TCP end points and packet scripts around the engine.
//!
//! A run depends only on its [`Scenario`] and its box. The same seed gives the same packets at the same nanoseconds on
//! every machine.
#![forbid(unsafe_code)]

pub mod adversary;
mod chances;
mod cross_traffic;
pub mod damage;
pub mod ends;
mod engine_box;
mod invariant;
mod judge;
pub mod link;
mod link_config;
pub mod names;
pub mod network;
pub mod network_spec;
mod node;
mod pool;
mod probes;
mod ranges;
mod rng;
mod scenario;
mod scenario_gen;
pub mod script;
pub mod stalls;
pub mod tcp;
mod timers;
mod too_big;
mod world;

pub use ends::Ends;
pub use engine_box::EngineBox;
pub use invariant::Monitor;
pub use node::{Middlebox, NoBox};
pub use pool::{HeapPool, MAX_FRAME_BYTES};
pub use rng::Rng;
pub use scenario::{Connection, ConnectionOutcome, Outcome, Scenario};
pub use windlass_cc::Nanos;
pub use windlass_engine::Side;
pub use world::{World, run};
