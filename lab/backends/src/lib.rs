//! Namespaces, link emulation, measured runs and reports.
//!
//! [`demo`] is the whole of it: a server, a box and a client in network namespaces, a link
//! emulator between box and client, repeated downloads, a table and a report. The other modules
//! are its parts, each of them usable alone: [`topology`] and [`netns`] make the network,
//! [`emulator`] is the link, [`server`] and [`client`] move the bytes, [`sample`] and
//! [`windlass`] watch and govern them, [`report`] tells. [`backend`] runs any setup that an
//! experiment unfolds into, `netns` by the same parts.
#![forbid(unsafe_code)]

pub mod backend;
pub mod client;
pub mod command;
pub mod demo;
pub mod emulator;
pub mod leftovers;
pub mod netns;
pub mod openvswitch;
pub mod payload;
pub mod programs;
pub mod report;
pub mod sample;
pub mod server;
pub mod switch;
pub mod topology;
pub mod trace;
pub mod windlass;
