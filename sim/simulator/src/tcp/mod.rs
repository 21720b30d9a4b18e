//! A TCP end point in virtual time: honest, small, and like Linux where a box in the middle could
//! tell the difference.

mod ack;
mod burst;
mod codec;
mod config;
mod congestion;
mod content;
mod ecn;
mod endpoint;
mod input;
mod mtu;
mod output;
mod receiver;
mod recovery;
mod reduction;
mod rtt;
mod sender;
mod sent;
mod tell;
mod timers;
mod usage;

pub use config::{
    App, Close, EndConfig, EndNow, EndStats, MarksSeen, ProbesSent, ReceiveBuffer, Refused, Write,
};
pub use congestion::{HystartCause, HystartExit, SSTHRESH_INFINITE, ServerAlgorithm};
pub use content::Content;
pub use endpoint::{Endpoint, Outgoing, Role};
