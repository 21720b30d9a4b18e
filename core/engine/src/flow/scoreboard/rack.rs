//! RACK-TLP (RFC 8985): loss by time, and tail loss probes.

use serde::{Deserialize, Serialize};
use windlass_cc::{Nanos, Path};

use crate::maybe::Maybe;

/// RFC 8985 §5.2, `RACK.reo_wnd_persist`.
const REO_WND_PERSIST: u8 = 16;
/// RFC 8985 §6.2 step 4: SACKed segments that speak for loss as long as no reordering was seen.
const DUP_THRESH: u64 = 3;

/// State of RACK and of TLP for one flow (RFC 8985 §5.2, names kept).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Rack {
    /// Transmission time of the most recently sent segment that was delivered.
    xmit_ts: Nanos,
    /// Its end, to order segments sent at the same time.
    end_seq: u64,
    /// Its RTT.
    rtt: Nanos,
    /// Highest end delivered.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: u8,
    reo_wnd_persist: u8,
    dsack_round: Maybe,
    probe: MaybeProbe,
    /// There was an RTT sample since the last probe.
    probe_allowed: bool,
}

/// A tail loss probe (RFC 8985 §7.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Probe {
    /// `TLP.end_seq`: the highest offset outstanding when it was sent.
    pub end: u64,
    /// `TLP.is_retrans`.
    pub retransmission: bool,
}

/// A probe, or none, in eight bytes: twice its end, and one more if it is a retransmission. Offsets begin at 1, so 0 is none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Option<Probe>", into = "Option<Probe>")]
struct MaybeProbe(u64);

impl MaybeProbe {
    fn get(self) -> Option<Probe> {
        (self.0 > 0).then_some(Probe {
            end: self.0 >> 1,
            retransmission: self.0 & 1 == 1,
        })
    }
}

impl From<Option<Probe>> for MaybeProbe {
    fn from(probe: Option<Probe>) -> MaybeProbe {
        MaybeProbe(probe.map_or(0, |probe| {
            debug_assert!(probe.end > 0);
            probe.end << 1 | u64::from(probe.retransmission)
        }))
    }
}

impl From<MaybeProbe> for Option<Probe> {
    fn from(probe: MaybeProbe) -> Option<Probe> {
        probe.get()
    }
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            xmit_ts: 0,
            end_seq: 0,
            rtt: 0,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: Maybe::NONE,
            probe: MaybeProbe::default(),
            probe_allowed: true,
        }
    }
}

impl Rack {
    /// Send time and end of the newest transmission that has arrived; `None`: none has.
    pub(crate) fn newest(&self) -> Option<(Nanos, u64)> {
        (self.xmit_ts > 0).then_some((self.xmit_ts, self.end_seq))
    }

    /// Its RTT.
    pub(crate) fn rtt(&self) -> Nanos {
        self.rtt
    }

    /// Highest end delivered.
    pub(crate) fn fack(&self) -> u64 {
        self.fack
    }

    /// The probe that is out.
    pub(crate) fn probe(&self) -> Option<Probe> {
        self.probe.get()
    }

    /// A probe may be sent.
    pub(crate) fn may_probe(&self) -> bool {
        self.probe_allowed && self.probe().is_none()
    }

    /// There was an RTT sample.
    pub(crate) fn allow_probe(&mut self) {
        self.probe_allowed = true;
    }

    /// A probe leaves.
    pub(crate) fn begin_probe(&mut self, probe: Probe) {
        self.probe = Some(probe).into();
        self.spend_probe();
    }

    /// Until there is an RTT sample.
    pub(crate) fn spend_probe(&mut self) {
        self.probe_allowed = false;
    }

    /// It has had its answer.
    pub(crate) fn end_probe(&mut self) {
        self.probe = MaybeProbe::default();
    }

    /// Words that a packet will need.
    pub(crate) fn touch(&self) -> u64 {
        self.xmit_ts.wrapping_add(self.fack)
    }

    /// RFC 8985 §6.2 step 3: a segment that was sent once has arrived after later ones.
    pub(crate) fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// RFC 8985 §6.2 steps 1 and 2 for one delivered segment. `ambiguous`: it was sent more than
    /// once, so its RTT may be of an earlier transmission.
    pub(crate) fn on_delivered(
        &mut self,
        now: Nanos,
        sent_at: Nanos,
        end: u64,
        ambiguous: bool,
        min_rtt: Nanos,
    ) {
        let rtt = now.saturating_sub(sent_at);
        self.fack = self.fack.max(end);
        if ambiguous && min_rtt != Nanos::MAX && rtt < min_rtt {
            return;
        }
        if (sent_at, end) > (self.xmit_ts, self.end_seq) {
            self.xmit_ts = sent_at;
            self.end_seq = end;
            self.rtt = rtt;
        }
    }

    /// RFC 8985 §6.2 step 4: how long reordering is waited for.
    pub(crate) fn reordering_window(&self, path: &Path, in_recovery: bool, sacked: u64) -> Nanos {
        if path.recent_min_rtt() == Nanos::MAX {
            return 0;
        }
        if !self.reordering_seen && (in_recovery || sacked >= DUP_THRESH * u64::from(path.mss)) {
            return 0;
        }
        (u64::from(self.reo_wnd_mult) * path.recent_min_rtt() / 4).min(path.srtt)
    }

    /// A DSACK was received: a retransmission was not needed (step 4, `dsack_round`).
    pub(crate) fn on_dsack(&mut self, una: u64, sent_nxt: u64) {
        if self.dsack_round.get().is_none_or(|round| una >= round) {
            self.dsack_round = Maybe::some(sent_nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// A recovery episode ended.
    pub(crate) fn on_recovery_exit(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }
}

/// RFC 8985 §7.2: the probe time-out after the last transmission or ACK. `slack`: what the answer may take longer.
pub(crate) fn probe_timeout(srtt: Option<Nanos>, slack: Nanos) -> Nanos {
    srtt.map_or(windlass_cc::SECOND, |srtt| 2 * srtt + slack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_cc::MILLISECOND;

    fn path() -> Path {
        let mut path = Path::new(1000);
        path.on_rtt(100 * MILLISECOND);
        path
    }

    /// RFC 8985 §6.2: no reordering seen and three segments SACKed, or in recovery: no waiting.
    #[test]
    fn the_window_opens_with_reordering() {
        let mut rack = Rack::default();
        assert_eq!(rack.reordering_window(&path(), false, 0), 25 * MILLISECOND);
        assert_eq!(rack.reordering_window(&path(), false, 3000), 0);
        assert_eq!(rack.reordering_window(&path(), true, 0), 0);
        rack.note_reordering();
        assert_eq!(
            rack.reordering_window(&path(), true, 9000),
            25 * MILLISECOND
        );
    }

    #[test]
    fn each_round_of_dsacks_widens_it_up_to_the_srtt() {
        let mut rack = Rack {
            reordering_seen: true,
            ..Rack::default()
        };
        rack.on_dsack(10, 100);
        rack.on_dsack(20, 120);
        assert_eq!(rack.reordering_window(&path(), false, 0), 50 * MILLISECOND);
        rack.on_dsack(100, 200);
        assert_eq!(rack.reordering_window(&path(), false, 0), 75 * MILLISECOND);
        for round in 1..9 {
            rack.on_dsack(round * 1000, round * 1000 + 10);
        }
        assert_eq!(rack.reordering_window(&path(), false, 0), 100 * MILLISECOND);
        for _ in 0..16 {
            rack.on_recovery_exit();
        }
        assert_eq!(rack.reordering_window(&path(), false, 0), 25 * MILLISECOND);
    }

    /// A retransmission acknowledged sooner than any RTT was not needed: its time says nothing.
    #[test]
    fn an_impossible_rtt_is_not_believed() {
        let mut rack = Rack::default();
        rack.on_delivered(200, 100, 1000, false, 100);
        rack.on_delivered(250, 240, 500, true, 100);
        assert_eq!((rack.xmit_ts, rack.rtt), (100, 100));
    }

    #[test]
    fn a_probe_is_written_and_read_as_an_option() {
        let of = |end, retransmission| {
            Some(Probe {
                end,
                retransmission,
            })
        };
        for probe in [None, of(1, false), of(1, true), of(u64::MAX >> 1, true)] {
            let bytes = postcard::to_allocvec(&probe).expect("plain data");
            let small = MaybeProbe::from(probe);
            assert_eq!(postcard::to_allocvec(&small), Ok(bytes.clone()));
            let read: MaybeProbe = postcard::from_bytes(&bytes).expect("an option");
            assert_eq!(read.get(), probe);
        }
    }

    #[test]
    fn a_probe_waits_for_two_round_trips_and_more() {
        let rtt = Some(100 * MILLISECOND);
        assert_eq!(probe_timeout(rtt, 2 * MILLISECOND), 202 * MILLISECOND);
        assert_eq!(probe_timeout(None, 0), windlass_cc::SECOND);
    }
}
