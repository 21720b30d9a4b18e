//! The TCP option by which two boxes talk over the heads of the ends.
//!
//! A shared experimental option (RFC 6994: kind 253) with an identifier of our own, which is not
//! registered. Every form is a multiple of four bytes long, so that it can be put in and taken out
//! without padding. The counts go on for ever and wrap, like those of AccECN (RFC 9768 §3.2): a
//! report that is lost is made up for by the next.

use serde::{Deserialize, Serialize};

use crate::{Segment, options};

/// Tells our experiments from others (RFC 6994 §3).
const EXID: [u8; 2] = *b"WL";
/// What this code speaks.
const VERSION: u8 = 2;

const HELLO_BYTES: usize = 8;
const REPORT_BYTES: usize = 12;
const REPORT_ALONE_BYTES: usize = 16;

/// Payload bytes that have arrived, second copies included. Both counts wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MarkedBytes {
    /// All of them.
    pub total: u32,
    /// Those of packets that were marked CE.
    pub ce: u32,
}

impl MarkedBytes {
    /// The counts as a report of the box beside the end whose initial sequence number is `iss` has
    /// them, and the counts of such a report. Whoever has not seen the handshake reports nonsense.
    pub fn masked(self, iss: u32, peer_iss: u32) -> MarkedBytes {
        // The finalizer of MurmurHash3: each bit of the outcome depends on all of both numbers.
        let mut key = u64::from(iss) << 32 | u64::from(peer_iss);
        key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        key ^= key >> 33;
        MarkedBytes {
            total: self.total ^ (key >> 32) as u32,
            ce: self.ce ^ key as u32,
        }
    }
}

/// What one box says to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerOption {
    /// On a SYN: I am here. On a SYN-ACK: so am I.
    Hello,
    /// On an ACK: what has arrived (PACK).
    Report(MarkedBytes),
    /// The same in a packet of its own, which the other box must swallow (FACK).
    ReportAlone(MarkedBytes),
}

impl PeerOption {
    /// Most bytes of such an option.
    pub const MAX_BYTES: usize = REPORT_ALONE_BYTES;

    /// Reads the option that `segment`, read from `head`, has. `None` also for a version that is
    /// not known.
    pub fn read(head: &[u8], segment: &Segment) -> Option<PeerOption> {
        let at = usize::from(segment.at.peer);
        let option = head.get(at..).filter(|_| at != 0)?;
        let counts = || -> Option<MarkedBytes> {
            let number = |at: usize| option.get(at..)?.first_chunk().copied();
            Some(MarkedBytes {
                total: u32::from_be_bytes(number(4)?),
                ce: u32::from_be_bytes(number(8)?),
            })
        };
        match usize::from(*option.get(1)?) {
            HELLO_BYTES => (option.get(4) == Some(&VERSION)).then_some(PeerOption::Hello),
            REPORT_BYTES => counts().map(PeerOption::Report),
            REPORT_ALONE_BYTES => counts().map(PeerOption::ReportAlone),
            _ => None,
        }
    }

    /// Its bytes, and how many of them count.
    pub fn bytes(self) -> ([u8; PeerOption::MAX_BYTES], usize) {
        let mut bytes = [0; PeerOption::MAX_BYTES];
        let (len, counts) = match self {
            PeerOption::Hello => (HELLO_BYTES, None),
            PeerOption::Report(counts) => (REPORT_BYTES, Some(counts)),
            PeerOption::ReportAlone(counts) => (REPORT_ALONE_BYTES, Some(counts)),
        };
        bytes[..4].copy_from_slice(&[options::EXPERIMENT, len as u8, EXID[0], EXID[1]]);
        match counts {
            None => bytes[4] = VERSION,
            Some(counts) => {
                bytes[4..8].copy_from_slice(&counts.total.to_be_bytes());
                bytes[8..12].copy_from_slice(&counts.ce.to_be_bytes());
            }
        }
        (bytes, len)
    }
}

/// Whether the body of an experimental option, from its identifier on, is one of these.
pub(crate) fn is_ours(body: &[u8]) -> bool {
    let len = body.len() + 2;
    body.starts_with(&EXID) && [HELLO_BYTES, REPORT_BYTES, REPORT_ALONE_BYTES].contains(&len)
}
