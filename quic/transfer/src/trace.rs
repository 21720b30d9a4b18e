//! The series of a transfer as CSV and as qlog.

mod csv;
mod qlog;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use windlass_cc_s2n_quic::Report;

use crate::{Error, Result};

/// The files that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    csv: Option<Output>,
    qlog: Option<(Output, qlog::Events)>,
}

#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    fn create(path: &Path) -> Result<Output> {
        let file = File::create(path).map_err(|e| Error::file("write", path, e))?;
        Ok(Output {
            path: path.to_owned(),
            file: BufWriter::new(file),
        })
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|e| Error::file("write", &self.path, e))
    }
}

impl Trace {
    /// `title`: what the transfer is, for the head of the qlog.
    pub(crate) fn create(csv: Option<&Path>, qlog: Option<&Path>, title: &str) -> Result<Trace> {
        let mut trace = Trace::default();
        if let Some(path) = csv {
            let mut output = Output::create(path)?;
            output.write(csv::HEAD)?;
            trace.csv = Some(output);
        }
        if let Some(path) = qlog {
            let mut output = Output::create(path)?;
            output.write(&qlog::head(title))?;
            trace.qlog = Some((output, qlog::Events::default()));
        }
        Ok(trace)
    }

    /// Adds to the series.
    pub(crate) fn write(&mut self, series: &[Report]) -> Result<()> {
        for report in series {
            if let Some(output) = &mut self.csv {
                output.write(&csv::line(report))?;
            }
            if let Some((output, events)) = &mut self.qlog {
                output.write(&events.of(report))?;
            }
        }
        Ok(())
    }

    /// Makes sure that all is in the files.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let outputs = self.csv.iter_mut();
        for output in outputs.chain(self.qlog.iter_mut().map(|(output, _)| output)) {
            let flushed = output.file.flush();
            flushed.map_err(|e| Error::file("write", &output.path, e))?;
        }
        Ok(())
    }
}
