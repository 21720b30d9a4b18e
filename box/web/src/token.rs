//! The word that those know who may.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::WebError;

/// Shortest token, bytes: nobody guesses it.
const LEAST_BYTES: usize = 16;
const MOST_BYTES: u64 = 4096;
const FOR_OTHERS: u32 = 0o077;

/// A token, as its hash: comparing takes as long wherever two differ.
pub(crate) struct Token([u8; 32]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Reads it: the whole of the file without the space around it.
    pub(crate) fn read(path: &Path) -> Result<Token, WebError> {
        let wrong = |reason: String, mend| WebError::Token {
            path: path.to_owned(),
            reason,
            mend,
        };
        const MAKE: &str = "make one with: (umask 077; openssl rand -hex 32 > FILE)";
        let about = fs::metadata(path).map_err(|e| wrong(e.to_string(), MAKE))?;
        if !about.is_file() || about.len() > MOST_BYTES {
            return Err(wrong("it is no short regular file".to_owned(), MAKE));
        }
        if about.permissions().mode() & FOR_OTHERS != 0 {
            return Err(wrong("others may read it".to_owned(), "chmod 600 FILE"));
        }
        let text = fs::read_to_string(path).map_err(|e| wrong(e.to_string(), MAKE))?;
        let token = text.trim();
        if token.len() < LEAST_BYTES {
            let reason = format!("a token has {LEAST_BYTES} bytes at least");
            return Err(wrong(reason, MAKE));
        }
        Ok(Token(Sha256::digest(token.as_bytes()).into()))
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        let other: [u8; 32] = Sha256::digest(word.as_bytes()).into();
        let different = self
            .0
            .iter()
            .zip(other)
            .fold(0, |sum, (a, b)| sum | (a ^ b));
        different == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_for_its_owner_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let said = || Token::read(&path).expect_err("wrong").to_string();
        assert!(said().contains("openssl"), "{}", said());
        fs::write(&path, "short\n").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        assert!(said().contains("others may read"), "{}", said());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        assert!(said().contains("16 bytes"), "{}", said());
        fs::write(&path, "0123456789abcdef\n").expect("written");
        let token = Token::read(&path).expect("a token");
        assert!(token.is("0123456789abcdef"));
        assert!(!token.is("0123456789abcdeg") && !token.is(""));
        assert!(!format!("{token:?}").contains("0123"));
    }
}
