//! Chance, the same each time.

use windlass_engine::Transfer;

/// Numbers that look like chance (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Of mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// A transfer of 1 MB at about `mbit`, with a spread of a factor of e^`spread`.
    pub fn transfer(&mut self, mbit: f64, spread: f64) -> Transfer {
        let rate = mbit * 125_000.0 * (spread * self.normal()).exp();
        let bytes = 1_000_000;
        let duration = (bytes as f64 / rate * 1e9) as u64;
        transfer(bytes, duration)
    }
}

/// The first of its flow, all of it.
pub fn transfer(bytes: u64, duration: u64) -> Transfer {
    Transfer {
        bytes,
        duration,
        largest_before: 0,
        complete: true,
    }
}
