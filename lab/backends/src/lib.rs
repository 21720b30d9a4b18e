//! The laboratory: network namespaces, link emulation, guests, and the back ends that run experiments on them.
//!
//! [`backend`] runs any setup of an experiment in the simulator, in network namespaces or in a guest. The other modules
//! are its parts, and each works alone: [`topology`] and [`netns`] make the network, [`emulator`] is the link, and
//! [`windlass`] and [`switch`] are what can be in the path.
#![forbid(unsafe_code)]

pub mod backend;
pub mod cleanup;
pub mod command;
pub mod emulator;
pub mod load;
pub mod netns;
pub mod openvswitch;
pub mod programs;
pub mod switch;
pub mod topology;
mod trace;
pub mod windlass;
