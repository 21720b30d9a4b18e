//! What is kept of experience by prefix of receivers: how finely, how long, how much, where.

use windlass_cc::{Nanos, SECOND};
use windlass_wire::Addr;

use crate::error::Wrong;
use crate::prefix::Prefix;
use crate::read::{Section, Value};

const HOUR: Nanos = 3600 * SECOND;
const HALF_LIFE_DEFAULT: Nanos = 24 * HOUR;
const HALF_LIFE_MAX_H: u64 = 24 * 365;
const PREFIXES_DEFAULT: usize = 16_384;
const PREFIXES_MAX: u64 = 1 << 20;
const V4_DEFAULT_BITS: u8 = 24;
const V6_DEFAULT_BITS: u8 = 48;
/// Length of the IPv4-mapped prefix (RFC 4291 §2.5.5.2), bits.
const MAPPED_BITS: u32 = 96;

/// How experience is remembered.
#[derive(Clone, PartialEq, Debug)]
pub struct MemoryConfig {
    /// Lengths of the prefixes that are told apart, of IPv4 and IPv6, bits.
    pub bits: [u8; 2],
    /// Evidence counts half after this time, ns.
    pub half_life: Nanos,
    /// Prefixes remembered at most.
    pub prefixes: usize,
    /// Where what was learned is kept.
    pub file: String,
}

impl MemoryConfig {
    /// What is so where nothing is said.
    pub(crate) fn kept_in(file: &str) -> MemoryConfig {
        MemoryConfig {
            bits: [V4_DEFAULT_BITS, V6_DEFAULT_BITS],
            half_life: HALF_LIFE_DEFAULT,
            prefixes: PREFIXES_DEFAULT,
            file: file.to_owned(),
        }
    }

    /// Reads what `section` says of it.
    pub(crate) fn read(&mut self, section: &mut Section<'_>) -> Result<(), Wrong> {
        for (at, key, most) in [(0, "prefix_v4", 32), (1, "prefix_v6", 128)] {
            if let Some(value) = section.take(key) {
                self.bits[at] = value.integer(0..=most, "bits")? as u8;
            }
        }
        if let Some(value) = section.take("half_life_h") {
            self.half_life = value.integer(1..=HALF_LIFE_MAX_H, "hours")? * HOUR;
        }
        if let Some(value) = section.take("prefixes") {
            self.prefixes = value.integer(1..=PREFIXES_MAX, "prefixes")? as usize;
        }
        if let Some(value) = section.take("file") {
            self.file = absolute(&value, &self.file)?;
        }
        Ok(())
    }

    /// The first address of the prefix that `addr` is in, as 128 bits.
    pub(crate) fn key(&self, addr: Addr) -> u128 {
        addr.0 & self.mask(addr)
    }

    /// The prefix with this first address.
    pub fn prefix_of(&self, base: u128) -> Prefix {
        Prefix::of(base, self.mask(Addr(base)))
    }

    fn mask(&self, addr: Addr) -> u128 {
        let bits = match addr.ip().is_ipv4() {
            true => MAPPED_BITS + u32::from(self.bits[0]),
            false => u32::from(self.bits[1]),
        };
        u128::MAX.checked_shl(128 - bits).unwrap_or(0)
    }
}

fn absolute(value: &Value<'_>, example: &str) -> Result<String, Wrong> {
    let path = value.text(example)?;
    if !path.starts_with('/') {
        let what = format!("\"{path}\" is not an absolute path");
        let help = format!("write for example \"{example}\"");
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(path.to_owned())
}
