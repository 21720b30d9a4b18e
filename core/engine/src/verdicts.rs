//! Verdicts, each kept once: flows of one rule have the same.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Verdict;

/// So many different ones are looked through when a flow begins. What comes after them has memory of its own.
const KNOWN_MAX: usize = 32;

/// The verdicts of late, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    known: Vec<Arc<Verdict>>,
}

impl Verdicts {
    /// The one that is equal to `verdict`.
    pub(crate) fn keep(&mut self, verdict: Verdict) -> Arc<Verdict> {
        if let Some(at) = self.known.iter().position(|known| **known == verdict) {
            self.known[..=at].rotate_right(1);
            return Arc::clone(&self.known[0]);
        }
        self.known.truncate(KNOWN_MAX - 1);
        let kept = Arc::new(verdict);
        self.known.insert(0, Arc::clone(&kept));
        kept
    }
}

/// A flow's is written as if it were its own.
pub(crate) fn serialize<S: Serializer>(
    verdict: &Arc<Verdict>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (**verdict).serialize(serializer)
}

/// And read so: with the policy that is taken up then, it is kept once again.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<Verdict>, D::Error> {
    Verdict::deserialize(deserializer).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlgorithmId;

    #[test]
    fn equal_verdicts_share_their_memory() {
        let mut verdicts = Verdicts::default();
        let reno = Verdict::enforce(AlgorithmId::Reno);
        let first = verdicts.keep(reno);
        for number in 0..KNOWN_MAX as u16 - 1 {
            verdicts.keep(Verdict {
                rule: Some(number),
                ..reno
            });
        }
        assert!(Arc::ptr_eq(&first, &verdicts.keep(reno)));
        let other = Verdict::enforce(AlgorithmId::Bbr);
        assert!(!Arc::ptr_eq(&first, &verdicts.keep(other)));
        assert_eq!(*verdicts.keep(other), other);
    }

    #[test]
    fn no_more_are_known_than_are_looked_through() {
        let mut verdicts = Verdicts::default();
        for number in 0..100 {
            verdicts.keep(Verdict {
                rule: Some(number),
                ..Verdict::enforce(AlgorithmId::Reno)
            });
        }
        assert_eq!(verdicts.known.len(), KNOWN_MAX);
    }
}
