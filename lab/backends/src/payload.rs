//! The file that is downloaded: random bytes, the same for the same seed, and their hash.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use windlass_sim::Rng;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// Distinguishes the file's random numbers from the link's of the same seed.
const STREAM: u64 = 0x66_69_6c_65;

/// Writes `bytes` random bytes to a file and returns their hash.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: u64, seed: u64) -> Result<Hash> {
    let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut file = BufWriter::new(file);
    let mut random = Rng::new(seed, STREAM);
    let mut hash = Sha256::new();
    let mut left = bytes;
    while left > 0 {
        let word = random.bits().to_le_bytes();
        let piece = &word[..left.min(8) as usize];
        hash.update(piece);
        file.write_all(piece)?;
        left -= piece.len() as u64;
    }
    file.flush()?;
    Ok(hash.finalize().into())
}

/// The hash of a file.
///
/// # Errors
/// When it cannot be read.
pub fn hash(path: &Path) -> Result<Hash> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            n => hash.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let a = write(&path("a"), 10_003, 1).expect("written");
        let b = write(&path("b"), 10_003, 1).expect("written");
        let c = write(&path("c"), 10_003, 2).expect("written");
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert_eq!(std::fs::metadata(path("a")).expect("there").len(), 10_003);
        assert_eq!(hash(&path("a")).expect("read"), a);
        std::fs::write(path("d"), b"abc").expect("written");
        // FIPS 180-2, appendix B.1.
        let abc = hash(&path("d")).expect("read");
        assert_eq!(abc[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
