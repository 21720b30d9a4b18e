//! What an algorithm is told when it is put in charge of a flow.

use crate::Path;

/// How a flow comes to an algorithm: what has been measured of its path, and what the algorithm before it leaves unsaid in
/// that.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// As far as it is known.
    pub path: &'a Path,
    /// All randomness of the algorithm.
    pub seed: u64,
    /// The algorithm before had not found the path's capacity yet, so [`Path::max_bw`] says little about it.
    pub starting: bool,
    /// The algorithm before gives way to loss, and no queue stands: the path may carry more than [`Path::max_bw`], which is
    /// what loss has left.
    pub roomy: bool,
}

impl<'a> Beginning<'a> {
    /// Nobody was in charge before.
    pub fn new(path: &'a Path, seed: u64) -> Beginning<'a> {
        Beginning {
            path,
            seed,
            starting: false,
            roomy: false,
        }
    }

    /// What the path can carry has been found out.
    pub fn knows_path(&self) -> bool {
        self.path.max_bw > 0 && !self.starting
    }
}
