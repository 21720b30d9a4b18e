//! Episodes: the algorithm hears of congestion once in a window of data.

use serde::{Deserialize, Serialize};

use super::{Ack, Host};
use crate::{Nanos, Signal};

/// An open recovery episode (RFC 6675, RFC 9002 §7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// It ends when everything sent before this position has been delivered.
    pub point: u64,
    /// A time-out has opened it: everything is sent once more.
    pub timeout: bool,
}

/// No stream goes so far.
const POINT_MAX: u64 = u64::MAX >> 2;

/// An episode, or none, in eight bytes: four times its point, two more if a time-out has opened it, and one. 0 is none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Option<Episode>", into = "Option<Episode>")]
pub(super) struct MaybeEpisode(u64);

impl MaybeEpisode {
    #[inline]
    fn get(self) -> Option<Episode> {
        (self.0 > 0).then_some(Episode {
            point: self.0 >> 2,
            timeout: self.0 & 2 == 2,
        })
    }
}

impl From<Option<Episode>> for MaybeEpisode {
    fn from(episode: Option<Episode>) -> MaybeEpisode {
        MaybeEpisode(episode.map_or(0, |episode| {
            episode.point.min(POINT_MAX) << 2 | u64::from(episode.timeout) << 1 | 1
        }))
    }
}

impl From<MaybeEpisode> for Option<Episode> {
    fn from(episode: MaybeEpisode) -> Option<Episode> {
        episode.get()
    }
}

/// An open reaction to ECN marks (RFC 3168 §6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// It ends when more than this has been acknowledged.
    point: u64,
    /// The algorithm was told, and is to be told of the end.
    told: bool,
}

impl Host {
    /// The recovery episode that is open.
    #[inline]
    pub fn episode(&self) -> Option<Episode> {
        self.episode.get()
    }

    /// An episode is open, and what has been delivered up to `una` does not end it.
    #[inline]
    pub fn in_recovery(&self, una: u64) -> bool {
        self.episode().is_some_and(|episode| una < episode.point)
    }

    /// An episode is open, and what has been delivered up to `una` ends it.
    #[inline]
    pub fn is_recovered(&self, una: u64) -> bool {
        self.episode().is_some_and(|episode| una >= episode.point)
    }

    /// The algorithm reacts to a mark, or to a loss.
    pub fn is_reacting(&self) -> bool {
        self.episode().is_some() || self.marks.read().is_some_and(|marks| marks.told)
    }

    /// Opens an episode for what lies before `point`. `lost` of the `before` bytes in flight are. One that is open is part
    /// of it, unless the sender says before that it is over.
    pub fn congested(&mut self, now: Nanos, signal: Signal, point: u64, before: u64, lost: u64) {
        self.open(point, false);
        self.congestion(now, signal, before, lost);
    }

    fn open(&mut self, point: u64, timeout: bool) {
        self.episode = Some(Episode { point, timeout }).into();
    }

    /// The open episode is over.
    pub fn recovered(&mut self, now: Nanos) {
        self.episode = MaybeEpisode::default();
        self.controller.on_recovery_exit(now, &self.path);
    }

    /// More has been sent that belongs to the open episode: its sender did not know of it yet.
    pub fn extend_episode(&mut self, point: u64) {
        if let Some(episode) = self.episode() {
            self.open(point, episode.timeout);
        }
    }

    /// Lets go of an open episode without a word to the algorithm: nothing is known of it any more.
    pub fn forget_episodes(&mut self) {
        self.episode = MaybeEpisode::default();
        self.marks.clear();
    }

    /// The retransmission timer has fired: all before `point` is taken for lost.
    pub fn timed_out(&mut self, now: Nanos, point: u64) {
        self.open(point, true);
        self.controller.on_rto(now, &self.path);
    }

    /// Nothing had been lost in the open episode.
    pub fn spurious(&mut self, now: Nanos) {
        self.episode = MaybeEpisode::default();
        self.controller.on_spurious(now, &self.path);
    }

    /// A tail probe has repaired a loss of `lost` bytes that nothing else would have shown (RFC 8985 §7.4.2).
    pub fn repaired_by_probe(&mut self, now: Nanos, before: u64, lost: u64) {
        self.congestion(now, Signal::Loss, before, lost);
        self.controller.on_recovery_exit(now, &self.path);
    }

    /// `una` is acknowledged, and the ACK reports marks (`Some`: of so many bytes) or none. The algorithm hears of them
    /// once in a window of data, which ends at `end`. True if it is the first of its window.
    pub fn marked(
        &mut self,
        now: Nanos,
        ack: &mut Ack,
        marked: Option<u64>,
        una: u64,
        end: u64,
    ) -> bool {
        ack.set_marked(marked.unwrap_or(0));
        let ended = |marks: &mut Marks| una > marks.point;
        if let Some(marks) = self.marks.edit_known()
            && let Some(over) = marks.take_if(ended)
            && over.told
            && self.episode().is_none()
        {
            self.controller.on_recovery_exit(now, &self.path);
        }
        if marked.is_none() || self.is_marked() {
            return false;
        }
        let told = self.episode().is_none();
        *self.marks.edit() = Some(Marks { point: end, told });
        if told {
            self.congestion(now, Signal::Ecn, ack.before, 0);
        }
        true
    }

    /// A reaction to marks is open.
    pub fn is_marked(&self) -> bool {
        self.marks.read().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_and_read_as_an_option() {
        let of = |point, timeout| Some(Episode { point, timeout });
        for episode in [
            None,
            of(0, false),
            of(0, true),
            of(7, false),
            of(POINT_MAX, true),
        ] {
            let maybe = MaybeEpisode::from(episode);
            assert_eq!(maybe.get(), episode);
            let written = postcard::to_allocvec(&maybe).expect("plain data");
            assert_eq!(Ok(written.clone()), postcard::to_allocvec(&episode));
            let read: MaybeEpisode = postcard::from_bytes(&written).expect("an option");
            assert_eq!(read.get(), episode);
        }
        let beyond = MaybeEpisode::from(of(u64::MAX, false));
        assert_eq!(beyond.get(), of(POINT_MAX, false), "no stream gets there");
    }
}
