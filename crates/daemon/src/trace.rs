//! A record of every governed flow at fixed intervals, for plots.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_engine::{Engine, FlowInfo, Nanos};
use windlass_policy::Policy;

use crate::command::FLOWS_PER_ANSWER;
use crate::report::FlowReport;

/// Samples that wait to be written. Beyond it samples are left out: a slow disk slows no packet.
const SAMPLES_WAITING: usize = 256;

/// Where to record, and how often.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The file, overwritten. A name that ends in `.csv` gets comma-separated values with a line of
    /// names, any other one JSON object a line; both have the keys of [`FlowReport`] behind
    /// `time_ns`, which is `CLOCK_MONOTONIC`.
    pub path: PathBuf,
    /// Time between samples of a flow.
    pub interval: Duration,
}

struct Sample {
    at: Nanos,
    flows: Vec<FlowInfo>,
}

/// A worker's end: takes the samples.
pub(crate) struct Probe {
    interval: Nanos,
    due: Nanos,
    samples: SyncSender<Sample>,
}

impl Probe {
    /// When the next sample is to be taken.
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    pub(crate) fn sample(&mut self, now: Nanos, engine: &Engine) {
        self.due = now + self.interval;
        let flows: Vec<FlowInfo> = engine.flows().take(FLOWS_PER_ANSWER).collect();
        if !flows.is_empty() {
            let _ = self.samples.try_send(Sample { at: now, flows });
        }
    }
}

/// The file, and the samples that come for it.
pub(crate) struct Recorder {
    file: BufWriter<File>,
    csv: bool,
    interval: Nanos,
    sender: SyncSender<Sample>,
    samples: Receiver<Sample>,
}

/// A line of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceLine {
    /// `CLOCK_MONOTONIC`.
    pub time_ns: Nanos,
    /// The flow at that time.
    #[serde(flatten)]
    pub flow: FlowReport,
}

impl Recorder {
    pub(crate) fn create(settings: &TraceSettings) -> io::Result<Recorder> {
        let (sender, samples) = mpsc::sync_channel(SAMPLES_WAITING);
        Ok(Recorder {
            file: BufWriter::new(File::create(&settings.path)?),
            csv: settings.path.extension().is_some_and(|e| e == "csv"),
            interval: settings.interval.as_nanos() as Nanos,
            sender,
            samples,
        })
    }

    /// For one worker.
    pub(crate) fn probe(&self) -> Probe {
        Probe {
            interval: self.interval,
            due: 0,
            samples: self.sender.clone(),
        }
    }

    /// Writes until all probes are gone.
    pub(crate) fn run(mut self, policy: &RwLock<Policy>) -> io::Result<()> {
        drop(self.sender);
        let mut head_written = false;
        for sample in self.samples {
            let policy = policy.read().unwrap_or_else(PoisonError::into_inner);
            for info in &sample.flows {
                let line = serde_json::to_value(TraceLine {
                    time_ns: sample.at,
                    flow: FlowReport::new(info, &policy),
                })?;
                if self.csv {
                    write_csv(&mut self.file, &line, &mut head_written)?;
                } else {
                    writeln!(self.file, "{line}")?;
                }
            }
            self.file.flush()?;
        }
        Ok(())
    }
}

/// Our values have no commas, except perhaps the name of a rule, which is quoted (RFC 4180).
fn write_csv(file: &mut impl Write, line: &Value, head_written: &mut bool) -> io::Result<()> {
    let Value::Object(fields) = line else {
        return Ok(());
    };
    if !*head_written {
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        writeln!(file, "{}", names.join(","))?;
        *head_written = true;
    }
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cells: Vec<String> = fields.values().map(cell).collect();
    writeln!(file, "{}", cells.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn csv_has_one_head_and_quotes_what_needs_it() {
        let mut out = Vec::new();
        let mut head = false;
        for rule in [json!("a,\"b\""), json!(null)] {
            write_csv(
                &mut out,
                &json!({"time_ns": 15, "rule": rule, "ok": true}),
                &mut head,
            )
            .unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "time_ns,rule,ok\n15,\"a,\"\"b\"\"\",true\n15,,true\n");
    }
}
