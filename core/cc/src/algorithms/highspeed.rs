//! HighSpeed TCP: RFC 3649; limited slow start: RFC 3742; Linux `tcp_highspeed.c` 6.12.
//!
//! Profile `rfc` is the formula of §5, a(w) and b(w) at the very window, with growth counted per
//! segment delivered. Profile `linux` is the module: the rows of the appendix's table, looked up so
//! that growth rounds up (a(39) is 2, where the formula has 1); a reduction by the row that was
//! in use when the window last grew, so that the first one, out of slow start, halves, and one
//! of a few segments soon after a large window takes nothing; one segment's credit per ACK,
//! whatever it covers; whole segments. In both, what an ACK has left at the end of slow start
//! counts for avoidance (Linux drops it).

use serde::{Deserialize, Serialize};

use crate::parameter::parameters;
use crate::window::slow_start::{SlowStart, SlowStartRule};
use crate::window::windowed::{Cause, Law, Windowed};
use crate::window::{Window, mss};
use crate::{About, AckEvent, Path, Preset, Profile, Range, Signals, Value};

mod response;

use response::{decrease, increase, linux_row, linux_row_at};

parameters! {
    /// What can be set of HighSpeed TCP.
    HighSpeedParameters {
        /// Who is followed: the RFC's formula or the Linux module's table.
        profile: Profile = Profile::Rfc, Profile::RANGE;
        /// Window from which slow start adds no more than half of this per round trip (RFC 3742); 0: no limit.
        max_ssthresh: u32 = 0, Range::whole(0, 1_000_000, "segments");
        /// How the first slow start ends, if it has no such limit.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "limited",
        meaning: "limited slow start with RFC 3742's 100 segments",
        values: &[("max_ssthresh", Value::Number(100.0))],
    },
}

/// HighSpeed TCP.
pub type HighSpeed = Windowed<HighSpeedLaw>;

/// Reno for small windows; for large ones a larger increase and a smaller decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighSpeedLaw {
    /// The window that `price` is for, bytes.
    at: u64,
    /// Bytes delivered that earn a segment.
    price: u64,
    /// Row of the table in use, counted from 0 (Linux only).
    row: u8,
}

impl HighSpeedLaw {
    /// The price at a new window. It changes with the window alone: a(w) times per w segments.
    fn look_up(&mut self, window: &Window, path: &Path, p: &HighSpeedParameters) {
        self.at = window.cwnd;
        self.price = match p.profile {
            Profile::Rfc => (window.cwnd as f64 / increase(window.segments(path))) as u64,
            Profile::Linux => {
                self.row = linux_row_at(window.cwnd / mss(path));
                window.cwnd / (u64::from(self.row) + 1)
            }
        };
    }
}

impl Law for HighSpeedLaw {
    type Parameters = HighSpeedParameters;
    type Undo = ();
    const ABOUT: About = About {
        summary: "HighSpeed TCP: grows faster and yields less as the window grows",
        source: "RFC 3649, RFC 3742; Linux tcp_highspeed.c 6.12",
        advice: "For large transfers over long fast paths that lose less than one packet in ten \
                 thousand; below a window of 38 segments it is Reno. It takes more than its share \
                 from Reno and CUBIC at large windows, two such flows become equal slowly, and \
                 it fills every queue. On lossy paths it gains nothing.",
        signals: Signals::LOSS,
    };

    fn new(_path: &Path, _parameters: &HighSpeedParameters) -> Self {
        HighSpeedLaw {
            at: 0,
            price: 0,
            row: 0,
        }
    }

    fn slow_start(p: &HighSpeedParameters, path: &Path) -> SlowStart {
        if p.max_ssthresh == 0 {
            return p.slow_start.start();
        }
        SlowStart::Limited {
            max_ssthresh: u64::from(p.max_ssthresh) * mss(path),
        }
    }

    fn avoid(
        &mut self,
        bytes: u64,
        _event: &AckEvent,
        window: &mut Window,
        path: &Path,
        p: &HighSpeedParameters,
    ) {
        if window.cwnd != self.at {
            self.look_up(window, path, p);
        }
        let credited = match p.profile {
            Profile::Rfc => bytes,
            Profile::Linux => bytes.min(mss(path)),
        };
        window.add_segments(self.price, credited, path);
    }

    fn reduce(&mut self, _: Cause, window: &Window, path: &Path, p: &HighSpeedParameters) -> u64 {
        match p.profile {
            Profile::Rfc => (window.cwnd as f64 * (1.0 - decrease(window.segments(path)))) as u64,
            Profile::Linux => {
                let segments = window.cwnd / mss(path);
                let taken = segments.saturating_mul(linux_row(self.row).decrease) >> 8;
                (segments - taken) * mss(path)
            }
        }
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests;
