//! Dice from a seed (SplitMix64).

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn number(&mut self) -> u32 {
        self.next() as u32
    }

    pub fn below(&mut self, bound: u32) -> u32 {
        self.number() % bound
    }

    /// True in so many of a hundred.
    pub fn percent(&mut self, share: u32) -> bool {
        self.below(100) < share
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }
}
