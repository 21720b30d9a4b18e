//! Features of an interface by name, for those without a command of their own
//! (`ETHTOOL_GSTRINGS`, `ETHTOOL_GFEATURES`, `ETHTOOL_SFEATURES`; linux/ethtool.h).

const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
/// `ETH_SS_FEATURES`.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME_BYTES: usize = 32;
/// Room for so many features; Linux 6.18 has 64.
const MAX_FEATURES: usize = 256;
const BITS: usize = 32;

/// `struct ethtool_sset_info`: how many there are.
#[repr(C)]
pub(super) struct Count {
    command: u32,
    reserved: u32,
    sets: u64,
    count: u32,
}

impl Count {
    pub(super) fn new() -> Count {
        Count {
            command: ETHTOOL_GSSET_INFO,
            reserved: 0,
            sets: 1 << FEATURES,
            count: 0,
        }
    }

    /// `None`: the kernel does not tell, or more than there is room for.
    pub(super) fn features(&self) -> Option<u32> {
        let known = self.sets != 0 && self.count as usize <= MAX_FEATURES;
        known.then_some(self.count)
    }
}

/// `struct ethtool_gstrings`.
#[repr(C)]
pub(super) struct Names {
    command: u32,
    set: u32,
    len: u32,
    names: [[u8; NAME_BYTES]; MAX_FEATURES],
}

impl Names {
    /// `count` is what [`Count::features`] says: the kernel writes as many as there are.
    pub(super) fn new(count: u32) -> Names {
        Names {
            command: ETHTOOL_GSTRINGS,
            set: FEATURES,
            len: count,
            names: [[0; NAME_BYTES]; MAX_FEATURES],
        }
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        let known = &self.names[..(self.len as usize).min(MAX_FEATURES)];
        known.iter().position(|found| {
            let end = found.iter().position(|b| *b == 0).unwrap_or(NAME_BYTES);
            &found[..end] == name.as_bytes()
        })
    }
}

/// `struct ethtool_gfeatures`, and in its room `struct ethtool_sfeatures`, whose blocks have two
/// words instead of four.
#[repr(C)]
pub(super) struct Blocks {
    command: u32,
    size: u32,
    words: [u32; 4 * MAX_FEATURES / BITS],
}

impl Blocks {
    fn new(command: u32) -> Blocks {
        Blocks {
            command,
            size: (MAX_FEATURES / BITS) as u32,
            words: [0; 4 * MAX_FEATURES / BITS],
        }
    }

    /// Asks what is on.
    pub(super) fn get() -> Blocks {
        Blocks::new(ETHTOOL_GFEATURES)
    }

    /// Turns one off, where these have been asked for: the kernel wants as many blocks as it has.
    pub(super) fn turn_off(&self, bit: usize) -> Blocks {
        let mut blocks = Blocks::new(ETHTOOL_SFEATURES);
        blocks.size = self.size;
        // `valid`; `requested`, the next word, is 0.
        blocks.words[2 * (bit / BITS)] = 1 << (bit % BITS);
        blocks
    }

    /// Of `available`, `requested`, `active`, `never_changed`, the third.
    pub(super) fn is_on(&self, bit: usize) -> bool {
        let block = bit / BITS;
        block < self.size as usize && self.words[4 * block + 2] & (1 << (bit % BITS)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole() {
        let mut names = Names::new(2);
        names.names[0][..5].copy_from_slice(b"tx-ab");
        names.names[1][..4].copy_from_slice(b"tx-a");
        names.names[2][..4].copy_from_slice(b"tx-c");
        assert_eq!(names.position("tx-a"), Some(1));
        assert_eq!(names.position("tx-c"), None, "beyond what the kernel has");
    }

    #[test]
    fn bits_are_where_the_kernel_has_them() {
        let mut on = Blocks::get();
        on.words[4 + 2] = 1 << 28;
        on.size = 2;
        assert!(on.is_on(60) && !on.is_on(61) && !on.is_on(100));
        let off = on.turn_off(60);
        assert_eq!((off.size, &off.words[..4]), (2, &[0, 0, 1 << 28, 0][..]));
    }
}
