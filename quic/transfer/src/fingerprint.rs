//! The SHA-256 of a certificate, by which the two ends know each other.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// SHA-256 of a certificate in DER, as `openssl x509 -fingerprint -sha256` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(certificate: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate).into())
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Text that is no fingerprint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a fingerprint has 64 hexadecimal digits, with or without colons, as `windlass recv` shows it; \
     this has {0}"
)]
pub struct NotAFingerprint(String);

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let wrong = |what: String| NotAFingerprint(what);
        let digits: String = text.chars().filter(|c| *c != ':').collect();
        if let Some(other) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(wrong(format!("{other:?} in it")));
        }
        if digits.len() != 64 {
            return Err(wrong(format!("{}", digits.len())));
        }
        let mut bytes = [0; 32];
        for (n, byte) in bytes.iter_mut().enumerate() {
            let pair = &digits[2 * n..2 * n + 2];
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong(pair.to_owned()))?;
        }
        Ok(Fingerprint(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written_and_as_openssl_writes_it() {
        let print = Fingerprint::of(b"a certificate");
        assert_eq!(print.to_string().parse(), Ok(print));
        let text = print.to_string().to_uppercase();
        let pairs: Vec<&str> = (0..32).map(|n| &text[2 * n..2 * n + 2]).collect();
        assert_eq!(pairs.join(":").parse(), Ok(print));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |text: &str| text.parse::<Fingerprint>().unwrap_err().to_string();
        assert!(told("abc").ends_with("this has 3"));
        assert!(told(&"g".repeat(64)).ends_with("this has 'g' in it"));
        assert!(told(&"é".repeat(32)).ends_with("this has 'é' in it"));
    }
}
