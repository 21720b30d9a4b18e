//! What the applications send: bytes that follow from their place in the stream, so that any
//! receiver can verify every one of them.

/// The bytes of one direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    seed: u64,
}

impl Content {
    /// The stream named `seed`.
    pub fn new(seed: u64) -> Self {
        Content { seed }
    }

    /// Eight bytes of the stream, the first one lowest (the finaliser of SplitMix64, Steele et al. 2014).
    fn word(self, index: u64) -> u64 {
        let mut z = self.seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Appends the `len` bytes from `offset` on.
    pub fn append(self, offset: u64, len: usize, out: &mut Vec<u8>) {
        let end = out.len() + len;
        let skip = (offset % 8) as usize;
        let mut index = offset / 8;
        out.extend_from_slice(&self.word(index).to_le_bytes()[skip..]);
        while out.len() < end {
            index += 1;
            out.extend_from_slice(&self.word(index).to_le_bytes());
        }
        out.truncate(end);
    }

    /// Where `bytes`, found at `offset`, first differ from the stream.
    pub fn first_difference(self, offset: u64, bytes: &[u8]) -> Option<u64> {
        let skip = ((8 - offset % 8) % 8) as usize;
        let (head, rest) = bytes.split_at(skip.min(bytes.len()));
        let at_start = self.word(offset / 8).to_le_bytes();
        let from = (offset % 8) as usize;
        if head != &at_start[from..from + head.len()][..] {
            return self.scan(offset, head);
        }
        let first = (offset + skip as u64) / 8;
        let (words, tail) = rest.as_chunks::<8>();
        for (index, chunk) in (first..).zip(words) {
            if u64::from_le_bytes(*chunk) != self.word(index) {
                return self.scan(index * 8, chunk);
            }
        }
        self.scan((first + words.len() as u64) * 8, tail)
    }

    fn scan(self, offset: u64, bytes: &[u8]) -> Option<u64> {
        (offset..)
            .zip(bytes)
            .find(|&(at, &byte)| byte != self.word(at / 8).to_le_bytes()[(at % 8) as usize])
            .map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_piece_of_the_stream_is_the_same_wherever_it_is_cut() {
        let content = Content::new(7);
        let mut whole = Vec::new();
        content.append(0, 64, &mut whole);
        for start in 0..20 {
            for len in 0..30 {
                let mut piece = Vec::new();
                content.append(start as u64, len, &mut piece);
                assert_eq!(piece, whole[start..start + len]);
                assert_eq!(content.first_difference(start as u64, &piece), None);
            }
        }
    }

    #[test]
    fn one_wrong_byte_is_found_where_it_is() {
        let content = Content::new(7);
        for start in [0, 3, 8, 13] {
            for at in 0..40 {
                let mut bytes = Vec::new();
                content.append(start, 40, &mut bytes);
                bytes[at] ^= 0x10;
                let found = content.first_difference(start, &bytes);
                assert_eq!(found, Some(start + at as u64));
            }
        }
    }
}
