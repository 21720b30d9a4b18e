//! Another process, of another version perhaps, takes over interfaces, packets and connections, and packets flow meanwhile.
//!
//! The process that governs starts the other one, and they talk over a channel:
//!
//! | the one that governs | its successor |
//! | --- | --- |
//! |  | `hello`: which formats it reads |
//! | `estate`: what it has, with descriptors |  |
//! |  | `ready`: all is prepared that can be while the other governs |
//! | `states`: its workers stand still; connections and frames as files in memory |  |
//! |  | `taken`: it has read them, and its XDP program is attached |
//! | `go`: from here on it never governs again |  |
//! |  | `running`: its workers work |
//!
//! Until `go`, whatever goes wrong, the first takes its place again and governs on.

mod predecessor;
mod successor;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_io::handover::{Channel, Plan};

pub(crate) use predecessor::{Decision, Upgrade, WorkerState, is_replaced};
pub(crate) use successor::Predecessor;

/// What the successor may take to start, with plugins to compile.
const START_LIMIT: Duration = Duration::from_secs(15);
/// How long workers may stand still. Their rings hold what comes meanwhile, as far as there is room.
const STANDSTILL_LIMIT: Duration = Duration::from_secs(1);
/// What a process that has handed everything over may take to end.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Tells a process that its standard input is the channel to the one that it takes over from.
pub const SUCCESSOR_VARIABLE: &str = "WINDLASS_TAKES_OVER";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Hello {
        version: String,
        /// The oldest that it reads. A release that knows no other format writes this one.
        connections_format: u16,
        /// The newest; releases before format 3 do not say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest_connections_format: Option<u16>,
        driver_format: u16,
    },
    Estate {
        plan: Plan,
        bypass: bool,
        /// How many of the descriptors are links; each driver has the same part of the others.
        links: usize,
    },
    Ready,
    /// Two files a worker: its connections, its frames.
    States,
    Taken,
    Go,
    Running,
    /// It cannot be, and why. The other governs on.
    Refused {
        why: String,
    },
}

/// Sends one message.
fn say(channel: &Channel, message: &Message, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = serde_json::to_vec(message).map_err(io::Error::other)?;
    channel.send(&bytes, descriptors)
}

/// The next message; what the other refuses is an error.
fn hear(channel: &Channel, within: Duration) -> Result<(Message, Vec<OwnedFd>), String> {
    let (bytes, descriptors) = channel.receive(within).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it has ended".to_owned(),
        io::ErrorKind::TimedOut => format!("it said nothing for {} ms", within.as_millis()),
        _ => e.to_string(),
    })?;
    match serde_json::from_slice(&bytes) {
        Ok(Message::Refused { why }) => Err(why),
        Ok(message) => Ok((message, descriptors)),
        Err(e) => Err(format!("it said what is not understood here: {e}")),
    }
}

fn unexpected(message: &Message) -> String {
    format!("it said {message:?} out of turn")
}

#[cfg(test)]
mod tests {
    use windlass_engine::Engine;
    use windlass_io::handover::DRIVER_FORMAT;

    use super::*;

    /// What processes of the formats of today say to each other, in their order.
    const SAID: [&str; 9] = [
        r#"{"hello":{"version":"0.1.0","connections_format":2,"driver_format":1}}"#,
        r#"{"hello":{"version":"0.1.0","connections_format":2,"newest_connections_format":3,"driver_format":1}}"#,
        r#"{"estate":{"plan":{"interfaces":["eth1","eth2"],"info":{"mode":"Native","zero_copy":false,"queues":1,"tx_checksum":true,"multi_buffer":true,"tx_budget":32,"partial_checksums":[true,false],"fail_open":true,"max_packet":1522},"queues":[[{"interfaces":[3,4],"queue":0,"frames":8192,"frame_size":4096,"seed":77,"syns_per_second":0,"native":true},{"zero_copy":false,"multi_buffer":true,"tx_checksum":true,"tx_budget":32}]]},"bypass":false,"links":2}}"#,
        r#""ready""#,
        r#""states""#,
        r#""taken""#,
        r#""go""#,
        r#""running""#,
        r#"{"refused":{"why":"it does not fit"}}"#,
    ];

    /// If this fails, raise `DRIVER_FORMAT`, and have what the new one says here. What is said before formats are known, `hello` and
    /// `refused`, must stay as it is.
    #[test]
    fn what_processes_of_these_formats_say_is_understood() {
        assert_eq!(
            (
                Engine::OLDEST_STATE_FORMAT,
                Engine::STATE_FORMAT,
                DRIVER_FORMAT
            ),
            (5, 6, 1)
        );
        for said in SAID {
            let understood: Message =
                serde_json::from_str(said).unwrap_or_else(|e| panic!("{e}: {said}"));
            assert_eq!(serde_json::to_string(&understood).unwrap(), said);
        }
    }
}
