//! The client: one download with curl.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::leftovers::check_interrupted;
use crate::netns::Namespace;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
const FORMAT: &str = "%{time_total} %{http_code} %{size_download} %{local_port}";

/// What curl measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Download {
    /// From the start to the last byte, s.
    pub seconds: f64,
    /// HTTP status.
    pub http_code: u16,
    /// Bytes of the body.
    pub bytes: u64,
    /// The client's TCP port.
    pub port: u16,
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Downloads `url` to `file`. `progress` is called many times a second with the bytes so far.
///
/// # Errors
/// When curl fails or takes more than `max_seconds`.
pub fn download(
    namespace: &Namespace,
    url: &str,
    file: &Path,
    max_seconds: u64,
    mut progress: impl FnMut(u64),
) -> Result<Download> {
    let _ = std::fs::remove_file(file);
    let mut curl = namespace.command("curl");
    curl.args(["-q", "-s", "-S", "--noproxy", "*", "-w", FORMAT, "-o"])
        .arg(file);
    curl.args(["--max-time", &max_seconds.to_string(), url]);
    curl.stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut curl = Running(curl.spawn().context("cannot run curl")?);
    let status = loop {
        if let Some(status) = curl.0.try_wait()? {
            break status;
        }
        check_interrupted()?;
        progress(std::fs::metadata(file).map_or(0, |m| m.len()));
        std::thread::sleep(POLL_INTERVAL);
    };
    let (mut output, mut said) = (String::new(), String::new());
    if let Some(pipe) = &mut curl.0.stdout {
        pipe.read_to_string(&mut output)?;
    }
    if let Some(pipe) = &mut curl.0.stderr {
        pipe.read_to_string(&mut said)?;
    }
    // Ctrl-C reaches curl too, and may be seen there first.
    check_interrupted()?;
    if !status.success() {
        bail!("{}", said.trim());
    }
    parse(&output).with_context(|| format!("curl says {output:?}"))
}

fn parse(output: &str) -> Option<Download> {
    let mut words = output.split_whitespace();
    Some(Download {
        seconds: words.next()?.parse().ok()?,
        http_code: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok()?,
        port: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curl_output() {
        let expected = Download {
            seconds: 2.653_1,
            http_code: 200,
            bytes: 10_000_000,
            port: 45_678,
        };
        assert_eq!(parse("2.653100 200 10000000 45678"), Some(expected));
        assert_eq!(parse("2.6 200"), None);
        assert_eq!(parse(""), None);
    }
}
