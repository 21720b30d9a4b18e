//! Files that are cut off, damaged or no captures at all: an error, and no panic.

mod captures;

use captures::{WHOLE, lossy, pcapng};
use windlass_record::pcapng::{Capture, NoCapture};
use windlass_record::verdict::{Rule, judge};
use windlass_sim::Rng;

fn look(file: &[u8]) -> Result<(), NoCapture> {
    let capture = Capture::read(file)?;
    if let Ok(verdict) = judge(&capture, [None, None], Rule::ALL) {
        let _ = verdict.to_string();
    }
    Ok(())
}

fn small() -> Vec<u8> {
    pcapng(&lossy()[..60], WHOLE, 0)
}

#[test]
fn a_file_that_is_cut_off_says_so() {
    let file = small();
    let mut whole = 0;
    for end in 0..file.len() {
        match look(&file[..end]) {
            // Between two blocks.
            Ok(()) => whole += 1,
            Err(error) => {
                let text = error.to_string();
                let known = text.contains("cut off") || text.contains("it is empty");
                assert!(known, "{end}: {text}");
            }
        }
    }
    assert_eq!(whole, 63, "one for each block but the last");
}

#[test]
fn damaged_bytes_make_no_panic() {
    let file = small();
    let mut rng = Rng::new(1, 2);
    let mut refused = 0;
    for _ in 0..4000 {
        let mut damaged = file.clone();
        for _ in 0..rng.between(1, 8) {
            let at = rng.between(0, damaged.len() as u64 - 1) as usize;
            damaged[at] = rng.between(0, 255) as u8;
        }
        refused += u32::from(look(&damaged).is_err());
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn damaged_headers_make_no_panic() {
    let mut rng = Rng::new(3, 4);
    let frames = lossy();
    for _ in 0..300 {
        let mut frames = frames[..200].to_vec();
        for _ in 0..20 {
            let frame = rng.between(0, frames.len() as u64 - 1) as usize;
            let at = rng.between(0, 65) as usize;
            frames[frame].bytes[at] ^= 1 << rng.between(0, 7);
        }
        look(&pcapng(&frames, WHOLE, 0)).expect("a capture");
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    let mut rng = Rng::new(5, 6);
    for len in [0, 1, 3, 4, 11, 12, 100, 10_000] {
        let noise: Vec<u8> = (0..len).map(|_| rng.between(0, 255) as u8).collect();
        assert!(look(&noise).is_err(), "{len} bytes of noise");
    }
    let pcap = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    assert_eq!(look(&pcap), Err(NoCapture::Pcap));
    assert!(NoCapture::Pcap.to_string().contains("mergecap -I none"));
    let file = small();
    let twice = [&file[..], &file].concat();
    assert_eq!(look(&twice), Err(NoCapture::Sections));
}
