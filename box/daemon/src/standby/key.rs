//! The key that two boxes have in common.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::regular_file;

const KEY_BYTES: usize = 32;
/// More than the digits of a key and the end of a line.
const FILE_MAX_BYTES: u64 = 256;
const MAKE: &str =
    "make one with: (umask 077; openssl rand -hex 32 > FILE), and copy it to the other box";

/// 256 bits that only two boxes know.
#[derive(Clone)]
pub(super) struct Key(pub [u8; KEY_BYTES]);

impl Key {
    /// Reads it. The error says what to do.
    pub(super) fn read(path: &Path) -> Result<Key, String> {
        let named = |what: String| format!("key_file {}: {what}", path.display());
        let text =
            regular_file::read(path, FILE_MAX_BYTES).map_err(|e| named(format!("{e} ({MAKE})")))?;
        let mode = fs::metadata(path).map_or(0, |file| file.permissions().mode());
        if mode & 0o077 != 0 {
            let mend = format!("chmod 600 {}", path.display());
            return Err(named(format!("others than its owner may read it ({mend})")));
        }
        Key::parse(text.trim())
            .ok_or_else(|| named(format!("it does not have 64 hexadecimal digits ({MAKE})")))
    }

    fn parse(text: &str) -> Option<Key> {
        let digits = text.as_bytes();
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        let mut key = [0; KEY_BYTES];
        for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Key(key))
    }
}
