//! Sequences of packets through the engine: nothing is forged, changed or leaked.
//!
//! `cargo +nightly fuzz run engine_packets /tmp/found fuzz/corpus/engine_packets` keeps what it finds
//! out of the committed seeds.
#![no_main]

#[path = "../../sim/simulator/tests/check_engine/check/mod.rs"]
mod check;
#[path = "../../sim/simulator/tests/check_engine/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
