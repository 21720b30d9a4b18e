//! The functions that a module may import: Table 1 of the Mystique paper (Zhang et al., ANRW 2018), and
//! what the engine can do beyond it.

use wasmtime::{Caller, Linker, StoreLimits};
use windlass_cc::plugin::{Call, Event, FlowState};
use windlass_cc::{ByteRate, Control, Nanos, Phase, Steps};

use crate::block::PHASES;

/// What the functions read and write: the flow that a call is about.
pub(crate) struct Host {
    pub(crate) limits: StoreLimits,
    pub(crate) control: Control,
    pub(crate) steps: Steps,
    current_rtt: Nanos,
    current_bw: ByteRate,
    min_rtt: Nanos,
    max_rtt: Nanos,
    max_bw: ByteRate,
    loss: bool,
    /// What the module is told where `min_rtt` is not known.
    unknown_min_rtt: i64,
}

impl Host {
    /// One that no call has been made on.
    pub(crate) fn new(limits: StoreLimits) -> Host {
        Host {
            limits,
            control: Control {
                cwnd: 0,
                ssthresh: u64::MAX,
                pacing_rate: None,
                phase: Phase::SlowStart,
            },
            steps: Steps::default(),
            current_rtt: 0,
            current_bw: 0,
            min_rtt: Nanos::MAX,
            max_rtt: 0,
            max_bw: 0,
            loss: false,
            unknown_min_rtt: i64::MAX,
        }
    }

    /// The module speaks this version of the interface.
    pub(crate) fn speak(&mut self, version: i32) {
        self.unknown_min_rtt = if version == 1 { 0 } else { i64::MAX };
    }

    /// Takes up the flow of a call.
    pub(crate) fn begin(&mut self, call: &Call<'_>, flow: &FlowState) {
        self.control = flow.control;
        self.steps = flow.steps;
        self.current_rtt = call.estimates.current_rtt;
        self.current_bw = call.estimates.current_bw;
        self.min_rtt = call.estimates.min_rtt;
        self.max_rtt = call.estimates.max_rtt;
        self.max_bw = call.estimates.max_bw;
        self.loss = match call.event {
            Event::Ack(ack) => ack.lost > 0 || ack.in_recovery,
            Event::Congestion(_) | Event::Rto => true,
            _ => false,
        };
    }
}

/// A number of the interface as one of ours: what is negative becomes nothing, which no check lets
/// pass where it matters.
fn natural(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Numbers of the interface are signed.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

type Of<'a> = Caller<'a, Host>;

/// Makes them known to modules, as functions of a module called "windlass".
pub(crate) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    const HOST: &str = "windlass";
    linker.func_wrap(HOST, "getCRTT", |c: Of<'_>| number(c.data().current_rtt))?;
    linker.func_wrap(HOST, "getCBW", |c: Of<'_>| number(c.data().current_bw))?;
    linker.func_wrap(HOST, "getMinRTT", |c: Of<'_>| match c.data().min_rtt {
        Nanos::MAX => c.data().unknown_min_rtt,
        known => number(known),
    })?;
    linker.func_wrap(HOST, "getMaxRTT", |c: Of<'_>| number(c.data().max_rtt))?;
    linker.func_wrap(HOST, "getMaxBW", |c: Of<'_>| number(c.data().max_bw))?;
    linker.func_wrap(HOST, "isLoss", |c: Of<'_>| i32::from(c.data().loss))?;
    linker.func_wrap(HOST, "setPeriod", |mut c: Of<'_>, ns: i64| {
        c.data_mut().steps.period = natural(ns);
    })?;
    linker.func_wrap(HOST, "setTstep", |mut c: Of<'_>, ns: i64| {
        c.data_mut().steps.t_step = natural(ns);
    })?;
    linker.func_wrap(HOST, "setBWstep", |mut c: Of<'_>, rate: i64| {
        c.data_mut().steps.bw_step = natural(rate);
    })?;
    linker.func_wrap(HOST, "setCwnd", |mut c: Of<'_>, bytes: i64| {
        c.data_mut().control.cwnd = natural(bytes);
    })?;
    linker.func_wrap(HOST, "setSsthresh", |mut c: Of<'_>, bytes: i64| {
        c.data_mut().control.ssthresh = match bytes {
            i64::MAX => u64::MAX,
            bytes => natural(bytes),
        };
    })?;
    linker.func_wrap(HOST, "setPacingRate", |mut c: Of<'_>, rate: i64| {
        c.data_mut().control.pacing_rate = match rate {
            0 => None,
            rate => Some(natural(rate)),
        };
    })?;
    linker.func_wrap(HOST, "setPhase", |mut c: Of<'_>, phase: i32| {
        let named = usize::try_from(phase).ok().and_then(|at| PHASES.get(at));
        c.data_mut().control.phase = named.copied().unwrap_or(Phase::Avoidance);
    })?;
    Ok(())
}
