//! What an engine has written down in each format of its state ([`Engine::STATE_FORMAT`]), kept here. Today's engine reads its own
//! format and that of the release before as they were written, writes both, and says of any other which one it is.
//!
//! A field of a connection that is added, taken away or read otherwise makes this fail. Then raise `FORMAT` in
//! core/engine/src/engine/export.rs (or `VERSION` in core/cc/src/export.rs, if it is one of an algorithm), keep what is new apart from
//! what the format before has (`Since3` in core/engine/src/conn/export.rs), and have the state written that the new format has:
//! `WINDLASS_WRITE_STATE=1 cargo test -p windlass-sim --test formats`.
#![allow(clippy::disallowed_methods)]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use windlass_cc::{Catalog, Nanos};
use windlass_engine::{AlgorithmId, Engine, Limits, Side, StateError, Verdict};
use windlass_sim::{EngineBox, Middlebox, Scenario, run};

/// A state is written down as soon as so many packets are held.
const HELD_PACKETS: usize = 8;

/// A box whose engine writes its state down in the middle of the work.
struct WrittenDown {
    inner: EngineBox,
    state: Vec<u8>,
    at: Nanos,
}

impl Middlebox for WrittenDown {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        self.inner.on_frame(now, from, frame, out);
        if self.state.is_empty() && self.inner.engine().held().count() >= HELD_PACKETS {
            (self.state, self.at) = (self.inner.engine().export(), now);
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.inner.poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        self.inner.on_timer(now, out);
    }

    fn around(&self) -> Option<&dyn Middlebox> {
        Some(&self.inner)
    }
}

fn verdict(algorithm: AlgorithmId) -> Verdict {
    Verdict::enforce(algorithm)
}

/// One state of each algorithm, in adverse networks: when it was written, and what.
fn states() -> Vec<(Nanos, Vec<u8>)> {
    let of = |(&algorithm, first): (&AlgorithmId, u64)| {
        // The first network in which so much is held.
        let written = (first..first + 50).map(|seed| {
            let policy = Box::new(verdict(algorithm));
            let mut writes = WrittenDown {
                inner: EngineBox::new(policy, Limits::default(), seed),
                state: Vec::new(),
                at: 0,
            };
            run(&Scenario::adverse(seed), &mut writes);
            (writes.at, writes.state)
        });
        let mut written = written.filter(|(_, state)| !state.is_empty());
        written.next().expect("one network in 50")
    };
    AlgorithmId::ALL
        .iter()
        .zip((1..).step_by(50))
        .map(of)
        .collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// Written one after the other: when, how long, and the bytes.
fn packed(states: &[(Nanos, Vec<u8>)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (at, state) in states {
        all.extend(at.to_le_bytes());
        all.extend((state.len() as u32).to_le_bytes());
        all.extend(state);
    }
    all
}

fn unpacked(mut bytes: &[u8]) -> Vec<(Nanos, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some((at, rest)) = bytes.split_first_chunk() {
        let (len, rest) = rest.split_first_chunk().expect("a length");
        let (state, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
        all.push((Nanos::from_le_bytes(*at), state.to_vec()));
        bytes = rest;
    }
    all
}

/// The state of this number among those of a format.
fn read(number: usize, (at, state): &(Nanos, Vec<u8>)) -> Result<(Engine, usize), StateError> {
    let policy = Box::new(verdict(AlgorithmId::ALL[number]));
    let read = Engine::import(state, policy, &Catalog::new(), Limits::default(), *at);
    read.map(|(engine, carried)| (engine, carried.begun_anew))
}

/// Figures of all flows, a line each: those that are known there are looked for here.
fn told(states: &[(Nanos, Vec<u8>)]) -> String {
    let mut text = String::new();
    for (number, written) in states.iter().enumerate() {
        text += &told_of(number, written);
    }
    text
}

fn told_of(number: usize, written: &(Nanos, Vec<u8>)) -> String {
    let mut text = String::new();
    let (engine, _) = read(number, written).expect("a format that is read");
    let held = engine.held().count();
    writeln!(text, "{number} held {held}").unwrap();
    for flow in engine.flows() {
        for figure in flow.figures.each() {
            if let Some(value) = figure.number {
                writeln!(text, "{number} {} {} {value}", flow.key, figure.key()).unwrap();
            }
        }
    }
    text
}

/// Where it is kept.
fn kept(format: u16, extension: &str) -> PathBuf {
    folder().join(format!("{format}.{extension}"))
}

/// The states of a format that is read, as they were written.
fn is_read(format: u16) {
    let bytes = fs::read(kept(format, "state")).expect("a state of this format: see above");
    let states = unpacked(&bytes);
    let mut anew = 0;
    for (number, written) in states.iter().enumerate() {
        let read = read(number, written);
        let (_, begun_anew) = read
            .unwrap_or_else(|e| panic!("{e}, but it is state {number} of its format: see above"));
        anew += usize::from(begun_anew > 0);
    }
    // All: algorithms have another version, and go on with what is known of the path. Some: that was not said.
    assert!(
        anew == 0 || anew == states.len(),
        "{anew} of {} algorithms cannot be read back: see above",
        states.len()
    );
    let (told, expected) = (
        told(&states),
        fs::read_to_string(kept(format, "txt")).unwrap(),
    );
    assert!(expected.lines().count() > 20 * states.len());
    let missing: Vec<&str> = expected
        .lines()
        .filter(|line| anew == 0 && !told.lines().any(|other| other == *line))
        .collect();
    assert!(missing.is_empty(), "read otherwise: {missing:#?}");
}

#[test]
fn the_state_of_this_format_is_read_as_it_was_written() {
    if std::env::var("WINDLASS_WRITE_STATE").is_ok() {
        let of = |extension| kept(Engine::STATE_FORMAT, extension);
        // One that there is stays: others may have written it.
        if !of("state").exists() {
            fs::write(of("state"), packed(&states())).unwrap();
        }
        let states = unpacked(&fs::read(of("state")).unwrap());
        fs::write(of("txt"), told(&states)).unwrap();
    }
    is_read(Engine::STATE_FORMAT);
}

#[test]
fn the_state_of_the_release_before_is_read_and_written() {
    is_read(Engine::OLDEST_STATE_FORMAT);
    let bytes = fs::read(kept(Engine::OLDEST_STATE_FORMAT, "state")).unwrap();
    let states = unpacked(&bytes);
    for (number, written) in states.iter().enumerate() {
        let (engine, _) = read(number, written).expect("it is read");
        let again = engine
            .export_as(Engine::OLDEST_STATE_FORMAT)
            .expect("it is written");
        assert_eq!(again[0], Engine::OLDEST_STATE_FORMAT as u8);
        let again = (written.0, again);
        assert_eq!(told_of(number, &again), told_of(number, written));
    }
    let (engine, _) = read(0, &states[0]).expect("it is read");
    assert_eq!(engine.export_as(Engine::OLDEST_STATE_FORMAT - 1), None);
    assert_eq!(engine.export_as(Engine::STATE_FORMAT + 1), None);
}

#[test]
fn a_state_of_another_format_is_told_by_its_number() {
    let kept = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let kept = kept.filter(|path| path.extension().is_some_and(|e| e == "state"));
    let mut of_own = 0;
    for path in kept {
        let format: u16 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let states = unpacked(&fs::read(&path).unwrap());
        for (number, mut written) in states.into_iter().enumerate() {
            if (Engine::OLDEST_STATE_FORMAT..=Engine::STATE_FORMAT).contains(&format) {
                of_own += 1;
                // As the next one will write it.
                written.1[0] = Engine::STATE_FORMAT as u8 + 1;
            }
            let error = read(number, &written).map(|_| ()).unwrap_err();
            let StateError::Format(found) = error else {
                panic!("{}: {error}", path.display());
            };
            assert!(found == format || found == Engine::STATE_FORMAT + 1);
            let said = error.to_string();
            assert!(said.contains(&format!("format {found}")), "{said}");
        }
    }
    assert!(of_own > 20, "{of_own}");
}
