//! Mystique's BBR (Zhang et al., ANRW 2018, §3.2) on the functions of its Table 1: Windlass' own
//! `mystique_bbr`, as a plugin.
#![no_std]

use windlass_sdk::host::{
    getMaxBW, getMinRTT, setBWstep, setCwnd, setPacingRate, setPeriod, setPhase, setTstep,
    UNKNOWN_MIN_RTT,
};
use windlass_sdk::{plugin, Algorithm, Event};

plugin!(
    Mystique,
    r#"
name = "mystique_plugin"
summary = "Mystique's BBR as a plugin in Rust: BBR's estimates without its modes"
source = "Zhang et al., ANRW 2018 (Mystique), section 3.2"
advice = "An example to begin with; mystique_bbr does the same and costs less."
slows_down_at = []
state_bytes = 8
prr = false

[[parameter]]
name = "period"
meaning = "How often the estimates take a step back."
least = 100
most = 600000
default = 5000
whole = true
unit = "ms"

[[parameter]]
name = "cwnd_gain"
meaning = "Window in bandwidth-delay products."
least = 1.0
most = 4.0
default = 2.0
"#
);

const PERIOD: usize = 0;
const CWND_GAIN: usize = 1;
const SECOND: u64 = 1_000_000_000;

/// The state of a flow.
#[derive(Clone, Copy)]
pub struct Mystique {
    cwnd: u64,
}

fn is_known() -> bool {
    getMaxBW() > 0 && getMinRTT() != UNKNOWN_MIN_RTT
}

fn mul_div(a: u64, b: u64, d: u64) -> u64 {
    (u128::from(a) * u128::from(b) / u128::from(d)) as u64
}

fn target(event: &Event) -> u64 {
    if !is_known() {
        return 10 * event.mss;
    }
    let product = mul_div(getMaxBW(), getMinRTT(), SECOND);
    let gain = (event.parameters[CWND_GAIN] * 1000.0) as u64;
    mul_div(product, gain, 1000).min(1 << 40).max(4 * event.mss)
}

impl Mystique {
    fn tell(&self, event: &Event) {
        let min_rtt = getMinRTT();
        // What is unknown takes no steps.
        let period = event.parameters[PERIOD] as u64 * (SECOND / 1000);
        setPeriod(if is_known() { period } else { 0 });
        setTstep(min_rtt / 10);
        setBWstep(mul_div(event.mss, SECOND, min_rtt.max(1)));
        setCwnd(self.cwnd);
        setPacingRate(0);
        setPhase(i32::from(is_known()));
    }
}

impl Algorithm for Mystique {
    fn start(event: &Event) -> Self {
        let mut cwnd = event.cwnd;
        if !is_known() {
            cwnd = target(event);
        }
        let mystique = Mystique { cwnd };
        mystique.tell(event);
        mystique
    }

    fn on_ack(&mut self, event: &Event) {
        self.cwnd = (self.cwnd + event.delivered).min(target(event));
        self.tell(event);
    }

    /// The paper's BBR takes no notice of loss.
    fn on_congestion(&mut self, _event: &Event) {}

    fn on_rto(&mut self, event: &Event) {
        self.cwnd = self.cwnd.min(event.path_inflight + event.mss);
        self.tell(event);
    }

    fn on_spurious(&mut self, event: &Event) {
        // What the path holds, of what is in flight twice at the most.
        let held = mul_div(event.path_max_bw, event.path_min_rtt, SECOND).max(event.path_inflight);
        let most = 2 * event.path_inflight.max(10 * event.mss);
        let inherited = held.max(2 * event.mss).min(most);
        self.cwnd = self.cwnd.max(target(event).min(inherited));
        self.tell(event);
    }
}
