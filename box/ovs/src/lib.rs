//! Windlass in Open vSwitch: it becomes a pair of ports of a bridge, and OpenFlow rules lead the traffic through it.
//!
//! [`Attach`] and [`Detach`] are lists of commands that an operator could type. [`Keeper`] watches over an attachment
//! while Windlass runs. docs/openvswitch.md describes it for operators.
#![forbid(unsafe_code)]

mod attach;
mod attachment;
mod check;
mod command;
mod database;
mod detach;
mod keeper;
mod lock;
mod monitor;
mod openflow;
mod rule;
mod rules;
mod rundir;
mod side;
mod traffic;
mod veth_pairs;

pub use attach::{Attach, Request};
pub use attachment::Attachment;
pub use command::Command;
pub use database::NoBridge;
pub use detach::Detach;
pub use keeper::{Event, Keeper};
pub use side::Side;
pub use traffic::{Traffic, TrafficError};
pub use veth_pairs::VethPairs;
