//! What the engine counts.

use serde::{Deserialize, Serialize};
use windlass_metric::{labels, totals};

labels! {
    /// Why packets of a connection pass unchanged.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum PassReason {
        /// Not IPv4 or IPv6.
        NotIp = "not_ip",
        /// Not TCP.
        NotTcp = "not_tcp",
        /// A fragment.
        Fragment = "fragment",
        /// A malformed header.
        Malformed = "malformed",
        /// No SYN was seen, so no window scale is known.
        NoSyn = "no_syn",
        /// Multipath TCP.
        Mptcp = "mptcp",
        /// TCP MD5 signatures.
        Md5 = "md5",
        /// TCP authentication option.
        Ao = "ao",
        /// AccECN (RFC 9768) was negotiated.
        AccEcn = "acc_ecn",
        /// Data in the SYN of the sender (TCP Fast Open).
        FastOpenData = "fast_open_data",
        /// Only one direction is visible.
        OneWay = "one_way",
        /// An acknowledgement of data that was never seen.
        UnseenData = "unseen_data",
        /// Policy leaves the connection alone.
        Policy = "policy",
        /// The flow table is full.
        FlowLimit = "flow_limit",
        /// Too many segments are outstanding.
        SegmentLimit = "segment_limit",
        /// Bypass is on.
        Bypass = "bypass",
        /// The connection is closed.
        Closed = "closed",
        /// A bad TCP checksum.
        BadChecksum = "bad_checksum",
        /// A SYN was retransmitted with other options: it is open which one was answered.
        AmbiguousSyn = "ambiguous_syn",
        /// Its receiver would not accept its sequence number (RFC 9293 §3.10.7.4, RFC 5961 §3.2).
        OutOfWindow = "out_of_window",
        /// Its receiver would not accept its acknowledgement (RFC 9293 §3.10.7.4, RFC 5961 §5.2).
        UnacceptableAck = "unacceptable_ack",
        /// It has no ACK flag where every segment has one (RFC 9293 §3.10.7.4).
        NoAck = "no_ack",
        /// Its timestamp is older than one that its receiver has taken (RFC 7323 §5.3).
        Paws = "paws",
        /// It is signed, and signatures were not agreed on.
        UnexpectedSignature = "unexpected_signature",
        /// A SYN within a connection (RFC 5961 §4.2).
        UnexpectedSyn = "unexpected_syn",
        /// Too many handshakes of the same prefix are under way.
        HandshakeLimit = "handshake_limit",
        /// Its connection has been forwarded unseen for a while, and its ends have not been seen to agree
        /// since.
        OutOfSight = "out_of_sight",
        /// Packet memory is short: what there is left is for connections that run, and a flow of which nothing could be held
        /// for a while is let go of.
        FrameLimit = "frame_limit",
        /// The process has as much memory as it may have: new connections pass.
        MemoryLimit = "memory_limit",
        /// A guess of the box about the bottleneck held the flow back for too long, and was wrong.
        WrongGuess = "wrong_guess",
        /// The box was too late too often.
        LateWorker = "late_worker",
        /// It comes from the side of the other end: forged, or a loop in the network.
        WrongSide = "wrong_side",
        /// Nothing has been acknowledged through eight time-outs and more: its ends have found each other another way, or are
        /// gone.
        TimedOut = "timed_out",
    }
}

impl PassReason {
    /// Reasons that the ends of a connection choose by what they put into their SYNs.
    pub const CHOSEN: [PassReason; 6] = [
        PassReason::Mptcp,
        PassReason::Md5,
        PassReason::Ao,
        PassReason::AccEcn,
        PassReason::FastOpenData,
        PassReason::AmbiguousSyn,
    ];

    /// Packets of governed connections that their receiver would drop: they go on unchanged, and
    /// teach the box nothing.
    pub const REFUSED: [PassReason; 7] = [
        PassReason::BadChecksum,
        PassReason::OutOfWindow,
        PassReason::UnacceptableAck,
        PassReason::NoAck,
        PassReason::Paws,
        PassReason::UnexpectedSignature,
        PassReason::UnexpectedSyn,
    ];
}

totals! {
    /// Counts since the engine was made.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Counters {
        /// Packets taken in.
        counter packets, One;
        /// Data packets of governed flows.
        counter data_packets, One;
        /// ACKs of governed flows.
        counter ack_packets, One;
        /// Data packets that their receiver has in full: nothing in them is believed.
        counter known_data, One;
        /// Connections seen from their SYN.
        counter connections, One;
        /// Connections that another box has told of.
        counter introduced, One;
        /// Connections that another box has told of in vain: there was no place for them, or policy leaves them alone here.
        counter introduced_in_vain, One;
        /// Connections that were watched from their middle on, to learn what their SYNs had settled.
        counter strangers, One;
        /// Watched connections of which Windlass has learnt enough: it takes them in like those that another box has told of.
        counter strangers_understood, One;
        /// Connections that another box has told of, or that were watched, and that were then seen here and are followed.
        counter adopted, One;
        /// Handshakes forgotten to make room for newer ones.
        counter half_open_evicted, One;
        /// Flows (directions) governed.
        counter flows_governed, One;
        /// Flows given back to their senders for good, because guesses about the bottleneck held them back and were wrong.
        counter harmed_by_guess, One;
        /// Flows given back to their senders for good, because Windlass sent too late too often.
        counter harmed_by_lateness, One;
        /// Flows given back to their senders for good, because Windlass had no room to hold their data.
        counter harmed_by_lack_of_room, One;
        /// Flows moved to another algorithm while they ran.
        counter flows_switched, One;
        /// Segments marked lost.
        counter lost, One;
        /// Segments retransmitted by the box.
        counter repaired, One;
        /// Second copies sent.
        counter copies, One;
        /// Probes sent by the box: of a tail, and of a recovery in which nothing is answered.
        counter tail_probes, One;
        /// Retransmission time-outs of the box.
        counter timeouts, One;
        /// Retransmissions of the sender swallowed because the box repairs.
        counter sender_retransmissions_absorbed, One;
        /// Retransmissions of the sender passed on.
        counter sender_retransmissions_passed, One;
        /// Gaps between the sender and the box that the sender fills while the flow stays governed.
        counter gaps, One;
        /// Times a flow was handed back to its sender.
        counter handed_back, One;
        /// Times a flow was taken over again after it had been handed back.
        counter taken_over, One;
        /// Duplicate or old ACKs not shown to the sender.
        counter acks_absorbed, One;
        /// Segments that others had overtaken, dropped as their receiver would by their timestamp.
        counter overtaken_dropped, One;
        /// ACKs replaced by a later one while being thinned.
        counter acks_thinned, One;
        /// Window updates and ACKs made by the box (their ACK number is the receiver's).
        counter acks_made, One;
        /// DSACK blocks told to the sender for absorbed probes.
        counter dsacks_told, One;
        /// ECE flags hidden from the sender.
        counter ece_hidden, One;
        /// CWR flags set toward the receiver.
        counter cwr_set, One;
        /// SACK-permitted options inserted into SYN-ACKs.
        counter sack_inserted, One;
        /// Connections on which another box was found at the other end.
        counter peers_found, One;
        /// Connections on which a hello was not answered, or none came.
        counter peers_absent, One;
        /// Connections on which a SYN had no room for a hello.
        counter peers_without_room, One;
        /// Connections on which the other box reported no more.
        counter peers_lost, One;
        /// Packets made ECN-capable on behalf of their sender.
        counter ect_set, One;
        /// CE marks taken away before the end saw them.
        counter marks_cleared, One;
        /// Reports of marks sent in packets of the ends (PACK).
        counter reports_carried, One;
        /// Reports of marks sent in packets of their own (FACK).
        counter reports_alone, One;
        /// Reports of marks received.
        counter reports_heard, One;
        /// Reports that cannot be the other box's: of more than was sent, or of more marks than packets.
        counter reports_refused, One;
        /// Bytes of payload that the other box has reported as marked.
        counter marked_bytes_heard, Bytes;
        /// Packets of senders beyond the edge that they had been shown, dropped.
        counter policed, One;
        /// Packets of connections that cannot be governed, dropped because policy limits or forbids them (`ungoverned`, `unknown_tcp`).
        counter ungoverned_dropped, One;
        /// Packets without TCP, and fragments, dropped because they were beyond the limit of their sender's tenant (`non_tcp`).
        counter non_tcp_dropped, One;
        /// DSACK blocks received: something arrived twice.
        counter dsacks_received, One;
        /// Congestion events that proved to be none.
        counter spurious, One;
        /// Packets forwarded without being held, because a budget was exhausted.
        counter unheld, One;
        /// Packets forwarded without being held, because connections of the same prefix hold `held_packets_per_prefix` already.
        counter unheld_of_prefix, One;
        /// Held packets freed before they were acknowledged in full, because packet memory was short: the receiver had
        /// SACKed them.
        counter sacked_freed, One;
        /// Bytes of data forwarded for governed flows, first transmissions.
        counter bytes_sent, Bytes;
        /// Bytes retransmitted or copied by the box.
        counter bytes_resent, Bytes;
        /// Flows that went on with the fallback of a plugin that failed.
        counter plugin_faults, One;
        /// Connections whose packets went by unseen for a while.
        counter sight_lost, One;
        /// Connections that are followed again after their packets went by unseen.
        counter sight_regained, One;
        /// Connections forgotten because they were idle; those that were closed do not count.
        counter idle_expired, One;
    }
    by PassReason {
        /// Packets passed unchanged, by reason.
        passed, One;
    }
}

impl Counters {
    /// Packets that were not believed ([`PassReason::REFUSED`], data that is known, what was overtaken).
    pub fn refused(&self) -> u64 {
        let counted = |reason: PassReason| self.passed[reason as usize];
        let refused: u64 = PassReason::REFUSED.into_iter().map(counted).sum();
        refused + self.known_data + self.overtaken_dropped
    }

    pub(crate) fn pass(&mut self, reason: PassReason) {
        self.passed[reason as usize] += 1;
    }
}
