//! The engine against what no packet script can say: its timers, its memory, frames of other kinds,
//! and arbitrary sequences of packets.

mod admission;
mod beginnings;
mod check;
mod effort;
mod ends;
mod frames;
mod guesses;
mod handback;
mod inside;
mod non_tcp;
mod parties;
mod replay;
mod rules;
mod scarcity;
mod under_way;
