//! What the documents and ports of Compound TCP do not agree on, each as a parameter.

use crate::parameter::{Thousandths, choices, parameters};
use crate::window::slow_start::SlowStartRule;
use crate::{Preset, Range, Value};

choices! {
    /// The window whose k-th power the delay window grows by.
    GrowthBase {
        /// The whole window (INFOCOM 2006).
        Window = "win",
        /// The delay window (draft-sridharan-tcpm-ctcp-00 and -01).
        DelayWindow = "dwnd",
    }
}

choices! {
    /// The RTT by which the queue is found.
    QueueRtt {
        /// The smallest of the round (the Linux ports).
        Min = "min",
        /// The smoothed one (the paper).
        Smoothed = "smoothed",
    }
}

parameters! {
    /// What can be set of Compound TCP.
    CompoundParameters {
        /// The delay window grows by alpha * window^k - 1 segments per round trip (paper and ports 1/8, the reproduction 1).
        alpha: Thousandths = Thousandths(125), Range::number(0.001, 4.0, "");
        /// Share of the window that a loss takes (paper and ports 1/2, the reproduction 0.3).
        beta: Thousandths = Thousandths(500), Range::number(0.05, 0.9, "");
        /// Exponent of that growth (0.75 for ease of computing, 0.8 is HighSpeed TCP's and the Go port's, the reproduction 0.1).
        k: Thousandths = Thousandths(750), Range::number(0.05, 0.95, "");
        /// Share of the queue by which the delay window shrinks: zeta of the paper, eta of the draft (Linux, NITK and Go ports 1, Zhou's ns-3 0.03, the reproduction 0.02).
        zeta: Thousandths = Thousandths(1000), Range::number(0.001, 4.0, "");
        /// From so many segments in the queue on the delay window shrinks; with tuning, at the start (all 30).
        gamma: u32 = 30, Range::whole(1, 10_000, "segments");
        /// Find gamma from the backlog that Reno's part alone would have at a loss (TUBE; Andrew's module, NITK, Go).
        gamma_tuning: bool = true, Range::Flag;
        /// Weight of the newest such backlog (Andrew 1/4, until his 1.0 1/2; NITK 0.8; the Go port 0.2).
        lambda: Thousandths = Thousandths(250), Range::number(0.01, 1.0, "");
        /// Tuned gamma at least (Andrew, NITK, Go 5).
        gamma_min: u32 = 5, Range::whole(1, 10_000, "segments");
        /// Tuned gamma at most (Andrew, NITK, Go 30).
        gamma_max: u32 = 30, Range::whole(1, 10_000, "segments");
        /// Below it there is no delay window: Reno (Andrew's module and Zhou's ns-3 38, the draft 41).
        low_window: u32 = 38, Range::whole(2, 10_000, "segments");
        /// Which window is raised to the power k.
        growth_base: GrowthBase = GrowthBase::Window, GrowthBase::RANGE;
        /// By which RTT the queue is found: the round's smallest (Linux ports) or the smoothed one (paper).
        rtt: QueueRtt = QueueRtt::Min, QueueRtt::RANGE;
        /// Spread the growth of the delay window over the next round trip instead of one jump (Andrew's module 1.3).
        spread: bool = true, Range::Flag;
        /// How the first slow start ends.
        slow_start: SlowStartRule = SlowStartRule::Standard, SlowStartRule::RANGE;
    }
    Preset {
        name: "infocom",
        meaning: "Tan et al., INFOCOM 2006, as its ports report it: fixed gamma, smoothed RTT, growth at once",
        values: &[
            ("gamma_tuning", Value::Flag(false)),
            ("rtt", Value::Choice("smoothed")),
            ("spread", Value::Flag(false)),
        ],
    },
    Preset {
        name: "draft-01",
        meaning: "draft-sridharan-tcpm-ctcp-00 and -01, as Andrew's module reports them",
        values: &[
            ("growth_base", Value::Choice("dwnd")),
            ("low_window", Value::Number(41.0)),
            ("spread", Value::Flag(false)),
        ],
    },
    Preset {
        name: "cs244",
        meaning: "Kaur and Leavitt, Reproducing Compound TCP, Stanford CS244 2018: found to work at 240 Mbit/s and 40 ms",
        values: &[
            ("alpha", Value::Number(1.0)),
            ("beta", Value::Number(0.3)),
            ("gamma", Value::Number(30.0)),
            ("zeta", Value::Number(0.02)),
            ("k", Value::Number(0.1)),
            ("gamma_tuning", Value::Flag(false)),
        ],
    },
}
