//! Two-sided packet scripts: what goes into a box and what must come out, line by line, in virtual
//! time.
//!
//! ```text
//! option tolerance 0.001          # seconds, for every expectation; 0.0005 if not given
//! option isn server 4294967000    # sequence numbers below are relative to these
//!
//! 0      client> S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7>
//! +0     >server same
//! +0.010 server> S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK>
//! +0     >client S. 0:0(0) ack 1 <mss 1460,sackOK>
//! +0.1   server> P. 1:2921(2920) ack 1 win 500 by 1460      # two segments
//! +0..0.02 >client . 1:1461(1460)
//! +0..0.02 >client *
//! +0     >client nothing for 0.1
//! expect counter retransmitted == 0
//! ```
//!
//! A line is a time (seconds; absolute, or `+` after the line before; `from..to` for a range), a
//! place, and a packet in the manner of packetdrill. `server>` and `client>` put a packet into the
//! box, `>client` and `>server` expect one out of it. The server is inside. A SYN has number 0 and
//! the first byte 1. What an expectation does not name may be anything, but payload and checksums
//! must be right, and every packet that comes out must be expected, in the order of its side.
//!
//! - flags: `S F R P E W A` and `.` for ACK, or `*` for any; an expectation does not look at `P`
//! - `start:end(len)`, `ack n`, `win n` (the raw field), `ecn ce|ect0|ect1|none`, `port n` (the
//!   client's, 40000 if not given), `by n`: cut into segments of n bytes
//! - `<…>`: `mss n`, `sackOK`, `wscale n`, `TS val n ecr n`, `sack a:b c:d`, `nop`, `raw hex`; an
//!   expectation ignores `nop`, takes `*` for a number of TS, and others too after a final `...`
//! - `same`: the very bytes last put in from the other side; `*`: any packet; `nothing for s`;
//!   `skip`: forget what has come out so far
//! - `expect counter NAME == 3` (or `!= < > <= >=`), `expect held == 0`

mod error;
mod line;
mod packet;
mod parse;
mod parse_packet;
mod runner;
mod words;

use std::path::Path;

pub use error::ScriptError;

use crate::node::Middlebox;

/// Runs one script against a box.
///
/// # Errors
/// The first line that cannot be read, or that is not fulfilled.
pub fn run(text: &str, middlebox: &mut dyn Middlebox) -> Result<(), ScriptError> {
    let script = parse::parse(text)?;
    runner::Runner::new(&script, middlebox).run()
}

/// For tests: runs every `*.wls` file of a folder, each against a new box. Returns how many there
/// were.
///
/// # Errors
/// What failed, file by file, in words; or that the folder cannot be read.
pub fn run_folder<B: Middlebox>(
    folder: &Path,
    mut new_box: impl FnMut(&Path) -> B,
) -> Result<usize, String> {
    let unreadable = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "wls") {
            files.push(path);
        }
    }
    files.sort();
    let mut failures = String::new();
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        if let Err(error) = run(&text, &mut new_box(file)) {
            failures += &format!("{}, {error}\n", file.display());
        }
    }
    if failures.is_empty() {
        Ok(files.len())
    } else {
        Err(failures)
    }
}
