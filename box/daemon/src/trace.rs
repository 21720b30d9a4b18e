//! A record of every governed flow at fixed intervals, for plots.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::libc::O_NONBLOCK;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_engine::{Engine, FlowInfo, Nanos};
use windlass_policy::Policy;

use crate::RunError;
use crate::command::FLOWS_PER_ANSWER;
use crate::events::{Severity, log::say};
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

/// The thread that writes, and what makes probes for it.
pub(crate) struct Recorder {
    path: PathBuf,
    interval: Nanos,
    samples: SyncSender<Sample>,
    failed: Arc<OnceLock<String>>,
    thread: JoinHandle<io::Result<()>>,
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
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn start(
        settings: &TraceSettings,
        policy: Arc<RwLock<Policy>>,
    ) -> Result<Recorder, RunError> {
        let file = create(&settings.path).map_err(|source| wrong(&settings.path, source))?;
        let csv = settings.path.extension().is_some_and(|e| e == "csv");
        let (samples, received) = mpsc::sync_channel(SAMPLES_WAITING);
        let failed = Arc::new(OnceLock::new());
        let (path, told) = (settings.path.clone(), Arc::clone(&failed));
        let work = move || {
            let written = write_all(BufWriter::new(file), csv, received, &policy);
            if let Err(error) = &written {
                let what = format!("{}: nothing more is recorded", wrong_text(&path, error));
                say(Severity::Error, &what);
                let _ = told.set(what);
            }
            written
        };
        let named = thread::Builder::new().name("trace".to_owned());
        let thread = named.spawn(work).map_err(|e| wrong(&settings.path, e))?;
        Ok(Recorder {
            path: settings.path.clone(),
            interval: settings.interval.as_nanos() as Nanos,
            samples,
            failed,
            thread,
        })
    }

    /// For one worker.
    pub(crate) fn probe(&self) -> Probe {
        Probe {
            interval: self.interval,
            due: 0,
            samples: self.samples.clone(),
        }
    }

    /// Why nothing is recorded any more, once it is so.
    pub(crate) fn failed(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.failed)
    }

    /// Waits until what there is has been written. The probes must be gone.
    ///
    /// # Errors
    /// Not all of it could be written.
    pub(crate) fn finish(self) -> Result<(), RunError> {
        drop(self.samples);
        let written = match self.thread.join() {
            Ok(written) => written,
            Err(_) => Err(io::Error::other("its thread panicked")),
        };
        written.map_err(|source| wrong(&self.path, source))
    }
}

/// Neither a pipe that nobody reads nor one whose reader is slow makes anybody wait.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.custom_flags(O_NONBLOCK).open(path)
}

fn wrong(path: &Path, source: io::Error) -> RunError {
    RunError::Trace {
        path: path.to_owned(),
        source,
    }
}

fn wrong_text(path: &Path, error: &io::Error) -> String {
    format!("trace file {}: {error}", path.display())
}

/// Writes until all probes are gone.
fn write_all(
    mut file: impl Write,
    csv: bool,
    samples: Receiver<Sample>,
    policy: &RwLock<Policy>,
) -> io::Result<()> {
    let mut head_written = false;
    for sample in samples {
        for line in lines(&sample, policy) {
            let line = serde_json::to_value(line)?;
            if csv {
                write_csv(&mut file, &line, &mut head_written)?;
            } else {
                writeln!(file, "{line}")?;
            }
        }
        file.flush()?;
    }
    Ok(())
}

/// The policy is not held while a slow disk takes them.
fn lines(sample: &Sample, policy: &RwLock<Policy>) -> Vec<TraceLine> {
    let policy = policy.read().unwrap_or_else(PoisonError::into_inner);
    let line = |info: &FlowInfo| TraceLine {
        time_ns: sample.at,
        flow: FlowReport::new(info, &policy),
    };
    sample.flows.iter().map(line).collect()
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
