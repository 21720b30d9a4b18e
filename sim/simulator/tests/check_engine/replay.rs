//! Arbitrary sequences of packets, and those that were found to break something once.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::check::check;
use super::parties;

/// The committed seeds of a fuzz target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let entries = std::fs::read_dir(corpus.join(target)).expect("it is part of the repository");
    let seeds: Vec<Vec<u8>> = entries
        .map(|entry| std::fs::read(entry.expect("a file").path()).expect("readable"))
        .collect();
    assert!(seeds.len() >= 5, "only {} seeds", seeds.len());
    seeds
}

#[test]
fn fuzz_corpus_holds() {
    corpus("engine_packets").iter().for_each(|seed| check(seed));
}

#[test]
fn corpus_of_three_parties_holds() {
    let frames = |seed: &Vec<u8>| parties::check(seed);
    let seeds = corpus("three_parties");
    let most = seeds.iter().map(frames).max().unwrap_or(0);
    assert!(
        most > 200,
        "{most} frames at most: they say nothing any more"
    );
}

/// `WINDLASS_INPUT=file` tells what happens in a run of the three parties, step by step.
#[test]
#[allow(clippy::disallowed_methods)]
fn one_input_of_three_parties() {
    if let Ok(file) = std::env::var("WINDLASS_INPUT") {
        parties::play(&std::fs::read(file).expect("readable"), true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_sequences(data in vec(any::<u8>(), 0..400)) {
        check(&data);
    }

    /// The first flow opened, then everything.
    #[test]
    fn sequences_of_an_open_connection(setup: (u8, u8), data in vec(any::<u8>(), 0..600)) {
        let mut bytes = vec![setup.0, setup.1, 0, 0, 16, 0, 32, 0x10];
        bytes.extend(data);
        check(&bytes);
    }

    #[test]
    fn three_parties(data in vec(any::<u8>(), 0..3000)) {
        parties::check(&data);
    }
}
