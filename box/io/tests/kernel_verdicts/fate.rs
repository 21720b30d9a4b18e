//! What became of a segment: the kernel's verdict, by the reason and the place of the drop.
//!
//! Not every drop is a refusal. By the time that the kernel looks at the payload it has taken in what
//! the segment acknowledges (RFC 9293 §3.10.7.4: sequence number, RST, SYN and ACK are checked
//! before the text is looked at), so "old data" and "beyond the window" from there mean that only
//! the payload was of no use.

use windlass_wire::Flags;

use super::bench::{Bench, Counted};
use super::conn::{Conn, Outcome};
use super::drops::Dropped;
use super::setup::State;

/// The kernel's verdict on a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Accepted, whatever it then brought about.
    Taken,
    /// Its ACK, window and timestamps were taken in, its payload was not.
    PayloadLost(String),
    /// Its payload was taken in, its ACK was not: as long as nothing but data comes, the kernel
    /// (6.18) queues what is next without asking whether the ACK is too old for RFC 5961 §5, and
    /// only says so with a challenge ACK.
    AckLost,
    /// Nothing was taken in.
    Refused(String),
    /// There is no telling.
    Unclear(String),
}

impl Fate {
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Fate::Refused(reason) => Some(reason),
            _ => None,
        }
    }
}

/// Said of a segment before it is looked at as an acknowledgement, or because of what it
/// acknowledges.
const REFUSALS: [&str; 20] = [
    "PKT_TOO_SMALL",
    "NO_SOCKET",
    "TCP_CSUM",
    "TCP_FLAGS",
    "TCP_AUTH_HDR",
    "TCP_MD5NOTFOUND",
    "TCP_MD5UNEXPECTED",
    "TCP_MD5FAILURE",
    "TCP_OLD_SEQUENCE",
    "TCP_INVALID_SEQUENCE",
    "TCP_INVALID_END_SEQUENCE",
    "TCP_INVALID_ACK_SEQUENCE",
    "TCP_INVALID_SYN",
    "TCP_RFC7323_PAWS",
    "TCP_RFC7323_PAWS_ACK",
    "TCP_RFC7323_TSECR",
    // A reset that is in the window but not exact (RFC 5961 §3.2): a challenge ACK answers.
    "TCP_RESET",
    // By a half-open connection: what it acknowledges is not its SYN-ACK.
    "TCP_OLD_ACK",
    // RFC 5961 §5.2.
    "TCP_TOO_OLD_ACK",
    "TCP_ACK_UNSENT_DATA",
];

/// Said by the receive queue of payload.
const LOSSES: [&str; 6] = [
    "TCP_OLD_DATA",
    "TCP_OVERWINDOW",
    "TCP_ZEROWINDOW",
    "TCP_OFOMERGE",
    "TCP_OFO_DROP",
    "PROTO_MEM",
];

/// Whether it was this connection's segment that was dropped: other traffic may have lost a packet
/// just then. The socket drops a segment without flags as well.
pub fn is_own(conn: &Conn, bench: &mut Bench, outcome: &Outcome) -> bool {
    let bare = conn.segment(conn.seq, 0, Flags(0), 0).build();
    let again = bench.give(&bare);
    let sockets = again.iter().map(|drop| &drop.socket);
    let mut same = sockets.filter(|socket| outcome.drops.iter().all(|d| d.socket == **socket));
    same.next().is_some()
}

/// Where the kernel looks for the connection, and where it processes a segment in most states.
const RECEIVING: &str = "tcp_v4_rcv";
const PROCESSING: &str = "tcp_rcv_state_process";

/// The verdict on a segment sent in this state. `before` is what had been counted
/// before it.
pub fn fate(state: State, conn: &Conn, outcome: &Outcome, before: Counted) -> Fate {
    // A connection that ends, or whose last byte has come, lets its queues go.
    let emptied = |d: &&Dropped| d.place.contains("purge") || d.place.contains("kill_queues");
    let drops: Vec<_> = outcome.drops.iter().filter(|d| !emptied(d)).collect();
    let [drop] = drops[..] else {
        if drops.is_empty() {
            return unsaid(outcome, before);
        }
        return Fate::Unclear(format!("{drops:?}"));
    };
    let reason = drop.reason.as_str();
    if state == State::SynReceived && conn.stream.is_none() {
        return half_open(reason, outcome, before);
    }
    if REFUSALS.contains(&reason) {
        return Fate::Refused(reason.to_owned());
    }
    if LOSSES.contains(&reason) {
        return Fate::PayloadLost(reason.to_owned());
    }
    match reason {
        // Nobody can read it any more: the kernel resets the connection (RFC 2525 §2.17).
        "TCP_ABORT_ON_DATA" => Fate::Taken,
        // RFC 9293 §3.10.7.4, seventh: after the FIN there is no text. The kernel frees whatever it
        // need not queue in these states by one way, when it has processed the rest.
        "NOT_SPECIFIED" if state.has_our_fin() && drop.place == PROCESSING => Fate::Taken,
        // Neither SYN nor RST (RFC 9293 §3.10.7.3, fifth).
        "NOT_SPECIFIED" if state == State::SynSent => Fate::Refused(reason.to_owned()),
        // The header contradicts itself: no socket has seen it.
        "NOT_SPECIFIED" if drop.place == RECEIVING => Fate::Refused(reason.to_owned()),
        _ => Fate::Unclear(format!("{reason} in {}", drop.place)),
    }
}

/// Nothing was dropped. An ACK without payload on the fast path is freed without a word even if it is
/// not accepted, but it is challenged.
fn unsaid(outcome: &Outcome, before: Counted) -> Fate {
    match (
        Counted::now().challenges > before.challenges,
        outcome.payload,
    ) {
        (false, _) => Fate::Taken,
        (true, 0) => Fate::Refused("challenged".to_owned()),
        (true, _) => Fate::AckLost,
    }
}

/// A half-open connection is a request, not a socket: its segments are freed by one way.
fn half_open(reason: &str, outcome: &Outcome, before: Counted) -> Fate {
    let repeats = outcome.replies.iter().any(|r| r.flags.has(Flags::SYN));
    match reason {
        // A reset within the window ends it, and a SYN does.
        "NOT_SPECIFIED" if Counted::now().embryonic_resets > before.embryonic_resets => Fate::Taken,
        // The SYN again: it is answered as before (RFC 9293 §3.10.7.4, fourth).
        "NOT_SPECIFIED" if repeats => Fate::Taken,
        // No ACK flag.
        "NOT_SPECIFIED" => Fate::Refused(reason.to_owned()),
        // Out of window, of a request; once there is a socket, its payload is.
        _ if REFUSALS.contains(&reason) || reason == "TCP_OVERWINDOW" => {
            Fate::Refused(reason.to_owned())
        }
        _ => Fate::Unclear(reason.to_owned()),
    }
}
