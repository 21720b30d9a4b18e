//! A plugin in charge of one flow.

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer};
use serde::ser::{Serialize, Serializer};

use super::id::PluginId;
use super::{Call, Event, Fault, FlowState, PARAMETERS_MAX, STATE_BYTES_MAX};
use crate::estimates::{Estimates, Steps};
use crate::window::{MAX_CWND_BYTES, inherited_window, mss};
use crate::{
    AckEvent, AlgorithmId, Beginning, CongestionEvent, Control, Nanos, Path, Phase, SendEvent,
    Value,
};

/// A plugin and how it is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PluginParameters {
    pub(crate) id: PluginId,
    values: [f64; PARAMETERS_MAX],
    pub(crate) fallback: AlgorithmId,
}

impl PluginParameters {
    /// As the plugin has them.
    pub(crate) fn of(id: PluginId) -> PluginParameters {
        PluginParameters {
            id,
            values: id.description().defaults,
            fallback: AlgorithmId::Cubic,
        }
    }

    /// The same of the newest plugin of this name: what it does not have, or not so, is left out.
    pub(crate) fn newest(&self) -> PluginParameters {
        let id = self.id.newest();
        if id == self.id {
            return *self;
        }
        let mut newer = PluginParameters {
            fallback: self.fallback,
            ..PluginParameters::of(id)
        };
        let unset = PluginParameters::of(self.id);
        for parameter in id.description().parameters {
            let value = self.get(parameter.name);
            let set = value.filter(|_| value != unset.get(parameter.name));
            if let Some(value) = set.filter(|v| parameter.range.contains(*v)) {
                newer.put(parameter.name, value);
            }
        }
        newer
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let at = self.id.description().position(name)?;
        Some(Value::Number(self.values[at]))
    }

    pub(crate) fn put(&mut self, name: &str, value: Value) -> Option<()> {
        let at = self.id.description().position(name)?;
        let Value::Number(number) = value else {
            return None;
        };
        self.values[at] = number;
        Some(())
    }
}

/// The state of a flow that a plugin is in charge of.
#[derive(Clone, Debug)]
pub struct Plugin {
    parameters: PluginParameters,
    estimates: Estimates,
    flow: FlowState,
    fault: Option<Fault>,
}

impl Plugin {
    pub(crate) fn new(beginning: &Beginning<'_>, parameters: &PluginParameters) -> Plugin {
        let path = beginning.path;
        let mut plugin = Plugin {
            parameters: parameters.newest(),
            estimates: Estimates::new(path),
            flow: FlowState {
                state: [0; STATE_BYTES_MAX],
                control: Control {
                    cwnd: inherited_window(beginning),
                    ssthresh: u64::MAX,
                    pacing_rate: None,
                    phase: Phase::SlowStart,
                },
                steps: Steps::default(),
            },
            fault: None,
        };
        plugin.call(Event::Start(beginning), 0, path);
        plugin
    }

    /// Which one.
    pub fn id(&self) -> PluginId {
        self.parameters.id
    }

    /// Why it cannot go on, and who is to.
    pub(crate) fn fault(&self) -> Option<(Fault, AlgorithmId)> {
        Some((self.fault?, self.parameters.fallback))
    }

    fn call(&mut self, event: Event<'_>, now: Nanos, path: &Path) {
        if self.fault.is_some() {
            return;
        }
        // A segment that has grown is none of its doing.
        let control = &mut self.flow.control;
        control.cwnd = control.cwnd.max(mss(path));
        control.ssthresh = control.ssthresh.max(mss(path));
        let call = Call {
            event,
            now,
            path,
            estimates: &self.estimates,
            parameters: &self.parameters.values,
        };
        let code = &self.parameters.id.description().code;
        let answer = code.call(&call, &mut self.flow);
        self.fault = answer.and_then(|()| sane(&self.flow.control, path)).err();
    }

    pub(crate) fn on_sent(&mut self, event: &SendEvent, path: &Path) {
        self.call(Event::Sent(event), event.now, path);
    }

    pub(crate) fn on_ack(&mut self, event: &AckEvent, path: &Path) {
        self.estimates.measure(event);
        self.estimates.step_back(event.now, &self.flow.steps, path);
        self.call(Event::Ack(event), event.now, path);
    }

    pub(crate) fn on_congestion(&mut self, event: &CongestionEvent, path: &Path) {
        self.call(Event::Congestion(event), event.now, path);
    }

    pub(crate) fn on_recovery_exit(&mut self, now: Nanos, path: &Path) {
        self.call(Event::RecoveryExit, now, path);
    }

    pub(crate) fn on_rto(&mut self, now: Nanos, path: &Path) {
        self.call(Event::Rto, now, path);
    }

    pub(crate) fn on_spurious(&mut self, now: Nanos, path: &Path) {
        self.call(Event::Spurious, now, path);
    }

    pub(crate) fn on_idle_restart(&mut self, now: Nanos, idle: Nanos, path: &Path) {
        self.estimates.on_idle();
        self.call(Event::IdleRestart(idle), now, path);
    }

    /// Its interface has no such event: it finds out by itself.
    pub(crate) fn on_pipe_full(&mut self, _: Nanos, _: &Path) {}

    pub(crate) fn control(&self) -> Control {
        self.flow.control
    }

    pub(crate) fn uses_prr(&self) -> bool {
        self.parameters.id.description().prr
    }
}

/// What every algorithm keeps to.
///
/// # Errors
/// What it does not keep to.
pub fn sane(control: &Control, path: &Path) -> Result<(), Fault> {
    if control.cwnd < mss(path) {
        return Err(Fault::Nonsense("a window of less than a segment"));
    }
    if control.cwnd > MAX_CWND_BYTES {
        return Err(Fault::Nonsense("a window of more than 2^40 bytes"));
    }
    if control.ssthresh < mss(path) {
        return Err(Fault::Nonsense("a threshold of less than a segment"));
    }
    if control.pacing_rate == Some(0) {
        return Err(Fault::Nonsense("a pacing rate of nothing"));
    }
    Ok(())
}

/// The state as it is exported.
#[derive(serde::Serialize, serde::Deserialize)]
struct Record {
    values: [f64; PARAMETERS_MAX],
    fallback: String,
    estimates: Estimates,
    control: Control,
    steps: Steps,
    state: Vec<u8>,
}

impl Serialize for Plugin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.parameters.id.description().state_bytes;
        Record {
            values: self.parameters.values,
            fallback: self.parameters.fallback.name().to_owned(),
            estimates: self.estimates,
            control: self.flow.control,
            steps: self.flow.steps,
            state: self.flow.state[..used].to_vec(),
        }
        .serialize(serializer)
    }
}

/// Reads the state of a flow of this plugin.
impl<'de> DeserializeSeed<'de> for PluginId {
    type Value = Plugin;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Plugin, D::Error> {
        let record = Record::deserialize(deserializer)?;
        let length = record.state.len();
        if length != self.description().state_bytes {
            return Err(de::Error::invalid_length(length, &"the plugin's state"));
        }
        let mut state = [0; STATE_BYTES_MAX];
        state[..length].copy_from_slice(&record.state);
        Ok(Plugin {
            parameters: PluginParameters {
                id: self,
                values: record.values,
                fallback: record.fallback.parse().map_err(de::Error::custom)?,
            },
            estimates: record.estimates,
            flow: FlowState {
                state,
                control: record.control,
                steps: record.steps,
            },
            fault: None,
        })
    }
}
