//! Two ends that do what ends do, and a third party that forges, damages and repeats: nobody is shown
//! what nobody has said.
//!
//! `cargo +nightly fuzz run three_parties /tmp/found fuzz/corpus/three_parties` keeps what it finds out of
//! the committed seeds.
#![no_main]

#[path = "../../sim/simulator/tests/check_engine/parties/mod.rs"]
mod parties;
#[path = "../../sim/simulator/tests/check_engine/rules.rs"]
mod rules;

use std::sync::atomic::{AtomicU64, Ordering};

/// Frames that have gone through boxes: told at every so many.
static FRAMES: AtomicU64 = AtomicU64::new(0);
const TOLD_EVERY: u64 = 1_000_000;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let frames = parties::check(data);
    let before = FRAMES.fetch_add(frames, Ordering::Relaxed);
    if before / TOLD_EVERY != (before + frames) / TOLD_EVERY {
        eprintln!("{} million frames", (before + frames) / 1_000_000);
    }
});
