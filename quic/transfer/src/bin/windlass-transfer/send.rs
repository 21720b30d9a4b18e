//! `windlass-transfer send`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use windlass_cc::Catalog;
use windlass_terminal::{byte_count, bytes, print, print_json, rate};
use windlass_transfer::{Fingerprint, Progress, SendOptions, Sent, What, send};

use crate::line::Line;
use crate::wrong_usage;

/// Send a file, or filling to measure with, over QUIC with any of the algorithms.
///
/// The other end runs `windlass recv`. A file arrives whole, its SHA-256 verified, or an error says
/// what is missing; the same command again goes on where a broken transfer ended.
#[derive(clap::Args)]
#[command(
    override_usage = "windlass-transfer send [OPTIONS] <--fingerprint <SHA256>|--insecure> <HOST[:PORT]> \
                            <FILE|--bytes <N>|--seconds <S>>"
)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["file", "bytes", "seconds"]))]
pub(crate) struct Args {
    /// The receiver: HOST, HOST:PORT or [IPv6]:PORT; UDP port 4433 unless another is named.
    #[arg(value_name = "HOST[:PORT]")]
    to: String,
    /// A file, which the receiver keeps under its name.
    file: Option<PathBuf>,
    /// Send so many bytes of filling, which the receiver counts (10k, 500M, 1G).
    #[arg(long, value_name = "N", value_parser = byte_count)]
    bytes: Option<u64>,
    /// Send filling for so long.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Congestion control: NAME[:[PRESET][,PARAMETER=VALUE…]] (`windlass algorithm show NAME`).
    #[arg(long, value_name = "NAME[:…]", default_value = "cubic")]
    algorithm: String,
    /// What `windlass recv` shows: take no other receiver.
    #[arg(long, value_name = "SHA256", required_unless_present = "insecure")]
    fingerprint: Option<Fingerprint>,
    /// Take whoever answers: anybody on the path can be it.
    #[arg(long, conflicts_with = "fingerprint")]
    insecure: bool,
    /// Write window, rates and RTT over time as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write them as qlog (JSON text sequence, for qvis and the like).
    #[arg(long, value_name = "FILE")]
    qlog: Option<PathBuf>,
    /// The outcome as JSON.
    #[arg(short, long)]
    json: bool,
}

/// From a millisecond to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds")?;
    if (0.001..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("from 0.001 to 86400 seconds".to_owned())
    }
}

pub(crate) fn run(args: Args, catalog: &Catalog) -> Result<ExitCode> {
    let algorithm = match catalog.settings(&args.algorithm) {
        Ok(settings) => settings,
        Err(wrong) => wrong_usage(&wrong.to_string()),
    };
    let what = match (args.file, args.bytes, args.seconds) {
        (Some(file), ..) => What::File(file),
        (_, Some(bytes), _) => What::Bytes(bytes),
        (.., time) => What::For(time.unwrap_or_default()),
    };
    let options = SendOptions {
        to: args.to,
        what,
        algorithm,
        fingerprint: args.fingerprint,
        csv: args.csv,
        qlog: args.qlog,
    };
    let mut line = Line::default();
    let sent = send(&options, &mut |progress| {
        line.show(&progress_line(progress))
    });
    line.clear();
    match sent {
        Ok(sent) if args.json => print_json(&sent),
        Ok(sent) => print(&summary(&sent)),
        Err(error) => {
            if args.json {
                print_json(&json!({ "error": error.to_string() }))?;
            }
            Err(error.into())
        }
    }
}

fn progress_line(progress: &Progress) -> String {
    let arrived = bytes(progress.arrived);
    let all = match progress.total {
        Some(total) => {
            let percent = 100.0 * progress.arrived as f64 / total.max(1) as f64;
            format!(" of {} ({percent:.0} %)", bytes(total))
        }
        None => String::new(),
    };
    let mut line = format!(
        "{arrived}{all}, {}, {:.0} s",
        rate(progress.rate_bit_s as u64),
        progress.elapsed.as_secs_f64()
    );
    if let Some(path) = &progress.path {
        let sent = (path.delivered + path.lost).max(1);
        line += &format!(
            ", RTT {:.1} ms, window {}, lost {:.2} %, {}",
            path.srtt as f64 / 1e6,
            bytes(path.window),
            100.0 * path.lost as f64 / sent as f64,
            path.phase.name()
        );
    }
    line
}

fn summary(sent: &Sent) -> String {
    let what = sent.file.as_deref().unwrap_or("filling");
    let mut text = format!(
        "{what}: {} in {:.3} s, {:.2} Mbit/s with {}\n",
        bytes(sent.bytes),
        sent.seconds,
        sent.goodput_mbit_s,
        sent.algorithm
    );
    if sent.resumed_from > 0 {
        text += &format!(
            "  went on behind {} that were there\n",
            bytes(sent.resumed_from)
        );
    }
    let path = &sent.path;
    text += &format!(
        "  RTT {:.1} ms at least, {:.1} at most; window up to {}; lost {:.2} %\n",
        path.min_rtt_ms,
        path.max_rtt_ms,
        bytes(path.max_window_bytes),
        path.lost_percent
    );
    if let Some(sha256) = &sent.sha256 {
        text += &format!("  SHA-256 {sha256}, verified by the receiver\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["", "0", "-1", "1s", "nan", "inf", "90000"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_line_says_what_is_known() {
        let progress = Progress {
            elapsed: Duration::from_secs(3),
            arrived: 1 << 20,
            total: Some(4 << 20),
            rate_bit_s: 2.5e6,
            path: None,
        };
        assert_eq!(
            progress_line(&progress),
            "1.0MiB of 4.0MiB (25 %), 2.5Mbit/s, 3 s"
        );
    }
}
