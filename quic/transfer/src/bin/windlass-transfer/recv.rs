//! `windlass-transfer recv`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use windlass_terminal::{bytes, print};
use windlass_transfer::{
    DEFAULT_PORT, Error, Listening, ReceiveEvent, ReceiveOptions, Received, receive,
};

/// Receive what `windlass send` sends.
///
/// Shows the fingerprint of a certificate made for this run, which the sender must name. Whoever
/// reaches the port may send; files are never overwritten unless asked for.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where files go.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Address, port, or both, to listen on (UDP).
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "0.0.0.0:4433", value_parser = listen)]
    listen: SocketAddr,
    /// Replace files that are there.
    #[arg(long)]
    overwrite: bool,
    /// End after one transfer; the exit code says whether it arrived.
    #[arg(long)]
    once: bool,
    /// What happens as JSON, a line each.
    #[arg(short, long)]
    json: bool,
}

/// `4433`, `192.0.2.1`, `192.0.2.1:4433`, `[2001:db8::1]:4433`.
fn listen(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::UNSPECIFIED, port).into());
    }
    let ip = text.trim_matches(['[', ']']).parse::<IpAddr>();
    ip.map(|ip| (ip, DEFAULT_PORT).into())
        .or_else(|_| text.parse())
        .map_err(|_| "write ADDRESS, ADDRESS:PORT, [IPv6]:PORT or PORT".to_owned())
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let options = ReceiveOptions {
        listen: args.listen,
        dir: args.dir,
        overwrite: args.overwrite,
        once: args.once,
    };
    let mut printed = Ok(ExitCode::SUCCESS);
    let done = receive(options, &mut |event| {
        if args.json {
            printed = print(&format!("{}\n", as_json(event)));
        } else if let ReceiveEvent::Failed { from, error } = event {
            // With --once it is told at the end.
            if !args.once {
                eprintln!("{from}: {error}");
            }
        } else {
            printed = print(&text(event));
        }
    });
    printed?;
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Error::Interrupted) if !args.once => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}

fn text(event: &ReceiveEvent) -> String {
    match event {
        ReceiveEvent::Listening(Listening {
            address,
            fingerprint,
        }) => format!(
            "listening on {address} (UDP)\nfingerprint {fingerprint}\nthere: windlass send HOST:{} --fingerprint {fingerprint} FILE\n",
            address.port()
        ),
        ReceiveEvent::Began { from, file, have } => {
            let what = match file {
                Some((name, size)) => format!("{name}, {}", bytes(*size)),
                None => "filling".to_owned(),
            };
            let there = match have {
                0 => String::new(),
                have => format!(", {} of it here already", bytes(*have)),
            };
            format!("{from}: {what}{there}\n")
        }
        ReceiveEvent::Received(received) => arrived(received),
        ReceiveEvent::Failed { from, error } => format!("{from}: {error}\n"),
    }
}

fn arrived(received: &Received) -> String {
    let what = match &received.file {
        Some(path) => path.display().to_string(),
        None => "filling".to_owned(),
    };
    let mut text = format!(
        "{}: {what} arrived, {} in {:.3} s, {:.2} Mbit/s\n",
        received.from,
        bytes(received.bytes),
        received.seconds,
        received.goodput_mbit_s
    );
    if let Some(sha256) = &received.sha256 {
        text += &format!("  SHA-256 {sha256}, verified\n");
    }
    text
}

fn as_json(event: &ReceiveEvent) -> Value {
    match event {
        ReceiveEvent::Listening(listening) => json!({
            "event": "listening",
            "address": listening.address,
            "fingerprint": listening.fingerprint.to_string(),
        }),
        ReceiveEvent::Began { from, file, have } => json!({
            "event": "began",
            "from": from,
            "file": file.as_ref().map(|(name, _)| name),
            "size": file.as_ref().map(|(_, size)| size),
            "have": have,
        }),
        ReceiveEvent::Received(received) => {
            let mut value = json!({ "event": "received" });
            if let (Value::Object(map), Ok(Value::Object(more))) =
                (&mut value, serde_json::to_value(received))
            {
                map.extend(more);
            }
            value
        }
        ReceiveEvent::Failed { from, error } => json!({
            "event": "failed",
            "from": from,
            "error": error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_ports() {
        for (text, expected) in [
            ("99", "0.0.0.0:99"),
            ("192.0.2.1", "192.0.2.1:4433"),
            ("192.0.2.1:99", "192.0.2.1:99"),
            ("::1", "[::1]:4433"),
            ("[::1]:99", "[::1]:99"),
        ] {
            assert_eq!(listen(text).map(|a| a.to_string()), Ok(expected.to_owned()));
        }
        assert!(listen("host:99").is_err());
    }
}
