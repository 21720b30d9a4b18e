//! What a policer lets through.

use windlass_cc::{Nanos, SECOND};

use crate::link_config::Policer;

/// A token bucket, full at the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tokens {
    /// When the bucket would be full, at the policer's rate, ns.
    full_at: Nanos,
}

impl Tokens {
    /// Takes as many tokens as the packet has bytes, if they are there.
    pub fn take(&mut self, now: Nanos, bytes: u64, policer: &Policer) -> bool {
        let rate = policer.rate_bytes_per_s.max(1);
        let time =
            |bytes: u64| (u128::from(bytes) * u128::from(SECOND) / u128::from(rate)) as Nanos;
        let after = self.full_at.max(now) + time(bytes);
        let allowed = after - now <= time(policer.burst_bytes);
        if allowed {
            self.full_at = after;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let policer = Policer {
            rate_bytes_per_s: 1_000_000,
            burst_bytes: 20_000,
        };
        let mut tokens = Tokens::default();
        let passed = |tokens: &mut Tokens, now| {
            (0..100)
                .filter(|_| tokens.take(now, 1000, &policer))
                .count()
        };
        assert_eq!(passed(&mut tokens, 0), 20);
        assert_eq!(passed(&mut tokens, 5_000_000), 5);
        assert_eq!(passed(&mut tokens, 5_500_000), 0);
        assert_eq!(
            passed(&mut tokens, 10 * SECOND),
            20,
            "it holds no more than the burst"
        );
    }
}
