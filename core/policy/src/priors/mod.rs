//! What an algorithm is worth before anything is known of a path.

mod measured;

use windlass_auto::CLASSES;
use windlass_cc::AlgorithmId;

use measured::MEASURED;

/// Mean logarithm of the goodput beside that of CUBIC, by size of the transfer (`CLASS_NAMES` of
/// `windlass-auto`), over the paths of experiments/priors.toml, where more than a fair share counts as one.
/// An algorithm that has not been measured is taken for as good as CUBIC.
pub(crate) fn of(id: AlgorithmId) -> [f64; CLASSES] {
    let found = MEASURED.iter().find(|(name, _)| *name == id.name());
    found.map_or([0.0; CLASSES], |(_, prior)| *prior)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_was_measured_has_its_name_and_cubic_is_the_measure() {
        for (name, prior) in MEASURED {
            let id: AlgorithmId = name.parse().expect("an algorithm");
            assert_eq!(of(id), *prior);
            assert!(prior.iter().all(|p| p.abs() <= 1.0), "{name}");
        }
        assert_eq!(of(AlgorithmId::Cubic), [0.0; CLASSES]);
        // docs/mystique.md, docs/compete.md: the best where packets are lost, and one that gives way.
        assert!(of(AlgorithmId::Bbr)[2] > 0.5 && of(AlgorithmId::Vegas)[2] < -0.2);
    }
}
