//! How much memory a flow takes: a million of them are a matter of memory.

use windlass_cc::Host;

use super::scoreboard::Scoreboard;
use super::sender_view::SenderView;
use super::{Cold, Flow};

// In bytes. The algorithm's state comes to it, and the records of what is under way.
const _: () = assert!(size_of::<Flow>() <= 768 && size_of::<Cold>() <= 144);
const _: () = assert!(size_of::<Scoreboard>() <= 136 && size_of::<Host>() <= 264);
const _: () = assert!(size_of::<SenderView>() <= 136);

#[cfg(test)]
mod tests {
    use windlass_cc::AlgorithmId;

    use super::*;

    /// What a flow takes that is governed, has lost nothing and has nothing under way.
    #[test]
    fn with_its_algorithm_a_flow_is_small() {
        let whole = |id: AlgorithmId| size_of::<Flow>() + size_of::<Cold>() + id.state_bytes();
        for &id in AlgorithmId::ALL {
            println!("{id}: {} bytes", whole(id));
        }
        for (id, most) in [
            (AlgorithmId::Reno, 992),
            (AlgorithmId::Cubic, 1_024),
            (AlgorithmId::Bbr, 1_248),
        ] {
            assert!(whole(id) <= most, "{id}: {} bytes", whole(id));
        }
    }
}
