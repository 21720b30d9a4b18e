//! Two ends that do what ends do, and a third party that forges, damages and repeats: nobody is shown
//! what nobody has said.
//!
//! `cargo +nightly fuzz run three_parties /tmp/found fuzz/corpus/three_parties` keeps what it finds out of
//! the committed seeds.
#![no_main]

#[path = "../../pure/sim/tests/check_engine/parties/mod.rs"]
mod parties;
#[path = "../../pure/sim/tests/check_engine/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    parties::check(data);
});
