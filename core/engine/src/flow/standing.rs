//! How a flow stands at one packet, for whoever records decisions.

use super::Flow;
use super::info::{NANOS_PER_MICRO, known};
use crate::{Nanos, Standing};

impl Flow {
    pub(crate) fn standing(&self) -> Standing {
        let (control, path) = (self.host.control(), self.host.path());
        let micros = |time: Nanos| u32::try_from(time / NANOS_PER_MICRO).unwrap_or(u32::MAX);
        Standing {
            sender: self.setup.sender,
            phase: control.phase,
            limited_by: self.limited_by(),
            cwnd: control.cwnd,
            inflight: self.board.inflight(),
            queued: self.board.queued(),
            ssthresh: control.ssthresh,
            pacing_rate: self.pacing.rate.get().unwrap_or(0),
            srtt_us: micros(path.srtt),
            min_rtt_us: micros(known(path.min_rtt)),
            latest_rtt_us: micros(path.latest_rtt),
        }
    }
}
