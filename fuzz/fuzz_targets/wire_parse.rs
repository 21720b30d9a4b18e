//! Bytes from the wire: parse, rewrite in all ways, read again.
//!
//! `cargo +nightly fuzz run wire_parse /tmp/found fuzz/corpus/wire_parse` keeps what it finds out of
//! the committed seeds.
#![no_main]

#[path = "../../core/wire/tests/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
