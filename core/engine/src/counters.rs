//! What the engine counts.

/// Why packets of a connection pass unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PassReason {
    /// Not IPv4 or IPv6.
    NotIp,
    /// Not TCP.
    NotTcp,
    /// A fragment.
    Fragment,
    /// A malformed header.
    Malformed,
    /// No SYN was seen, so no window scale is known.
    NoSyn,
    /// Multipath TCP.
    Mptcp,
    /// TCP MD5 signatures.
    Md5,
    /// TCP authentication option.
    Ao,
    /// AccECN (RFC 9768) was negotiated.
    AccEcn,
    /// Data in the SYN of the sender (TCP Fast Open).
    FastOpenData,
    /// Only one direction is visible.
    OneWay,
    /// An acknowledgement of data that was never seen.
    UnseenData,
    /// Policy leaves the connection alone.
    Policy,
    /// The flow table is full.
    FlowLimit,
    /// Too many segments are outstanding.
    SegmentLimit,
    /// Bypass is on.
    Bypass,
    /// The connection is closed.
    Closed,
    /// A bad TCP checksum.
    BadChecksum,
    /// A SYN was retransmitted with other options: it is open which one was answered.
    AmbiguousSyn,
    /// Its receiver would not accept its sequence number (RFC 9293 §3.10.7.4, RFC 5961 §3.2).
    OutOfWindow,
    /// Its receiver would not accept its acknowledgement (RFC 9293 §3.10.7.4, RFC 5961 §5.2).
    UnacceptableAck,
    /// It has no ACK flag where every segment has one (RFC 9293 §3.10.7.4).
    NoAck,
    /// Its timestamp is older than one that its receiver has taken (RFC 7323 §5.3).
    Paws,
    /// It is signed, and signatures were not agreed on.
    UnexpectedSignature,
    /// A SYN within a connection (RFC 5961 §4.2).
    UnexpectedSyn,
    /// Too many handshakes of the same prefix are under way.
    HandshakeLimit,
    /// Its connection has been forwarded unseen for a while, and its ends have not been seen to agree
    /// since.
    OutOfSight,
    /// Packet memory is short: what there is left is for connections that run.
    FrameLimit,
    /// The process has as much memory as it may have: new connections pass.
    MemoryLimit,
}

impl PassReason {
    /// All of them.
    pub const ALL: [PassReason; 29] = [
        PassReason::NotIp,
        PassReason::NotTcp,
        PassReason::Fragment,
        PassReason::Malformed,
        PassReason::NoSyn,
        PassReason::Mptcp,
        PassReason::Md5,
        PassReason::Ao,
        PassReason::AccEcn,
        PassReason::FastOpenData,
        PassReason::OneWay,
        PassReason::UnseenData,
        PassReason::Policy,
        PassReason::FlowLimit,
        PassReason::SegmentLimit,
        PassReason::Bypass,
        PassReason::Closed,
        PassReason::BadChecksum,
        PassReason::AmbiguousSyn,
        PassReason::OutOfWindow,
        PassReason::UnacceptableAck,
        PassReason::NoAck,
        PassReason::Paws,
        PassReason::UnexpectedSignature,
        PassReason::UnexpectedSyn,
        PassReason::HandshakeLimit,
        PassReason::OutOfSight,
        PassReason::FrameLimit,
        PassReason::MemoryLimit,
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

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            PassReason::NotIp => "not_ip",
            PassReason::NotTcp => "not_tcp",
            PassReason::Fragment => "fragment",
            PassReason::Malformed => "malformed",
            PassReason::NoSyn => "no_syn",
            PassReason::Mptcp => "mptcp",
            PassReason::Md5 => "md5",
            PassReason::Ao => "ao",
            PassReason::AccEcn => "acc_ecn",
            PassReason::FastOpenData => "fast_open_data",
            PassReason::OneWay => "one_way",
            PassReason::UnseenData => "unseen_data",
            PassReason::Policy => "policy",
            PassReason::FlowLimit => "flow_limit",
            PassReason::SegmentLimit => "segment_limit",
            PassReason::Bypass => "bypass",
            PassReason::Closed => "closed",
            PassReason::BadChecksum => "bad_checksum",
            PassReason::AmbiguousSyn => "ambiguous_syn",
            PassReason::OutOfWindow => "out_of_window",
            PassReason::UnacceptableAck => "unacceptable_ack",
            PassReason::NoAck => "no_ack",
            PassReason::Paws => "paws",
            PassReason::UnexpectedSignature => "unexpected_signature",
            PassReason::UnexpectedSyn => "unexpected_syn",
            PassReason::HandshakeLimit => "handshake_limit",
            PassReason::OutOfSight => "out_of_sight",
            PassReason::FrameLimit => "frame_limit",
            PassReason::MemoryLimit => "memory_limit",
        }
    }
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Counts since the engine was made.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Packets passed unchanged, by [`PassReason`].
            pub passed: [u64; PassReason::ALL.len()],
        }

        impl Counters {
            /// Name and value of each counter, those of passed packets as `passed_<reason>`.
            pub fn each(&self, mut see: impl FnMut(&'static str, Option<PassReason>, u64)) {
                $(see(stringify!($name), None, self.$name);)+
                for reason in PassReason::ALL {
                    see("passed", Some(reason), self.passed[reason as usize]);
                }
            }

            /// The value of the counter called `name` (`passed_<reason>` for those of passed packets).
            pub fn get(&self, name: &str) -> Option<u64> {
                let mut found = None;
                self.each(|n, reason, value| {
                    let same = match reason {
                        None => n == name,
                        Some(r) => name.strip_prefix("passed_") == Some(r.name()),
                    };
                    if same {
                        found = Some(value);
                    }
                });
                found
            }

            /// Adds another engine's counts.
            pub fn add(&mut self, other: &Counters) {
                $(self.$name += other.$name;)+
                for (mine, theirs) in self.passed.iter_mut().zip(other.passed) {
                    *mine += theirs;
                }
            }
        }
    };
}

counters! {
    /// Packets taken in.
    packets,
    /// Data packets of governed flows.
    data_packets,
    /// ACKs of governed flows.
    ack_packets,
    /// Data packets that their receiver has in full: nothing in them is believed.
    known_data,
    /// Connections seen from their SYN.
    connections,
    /// Handshakes forgotten to make room for newer ones.
    half_open_evicted,
    /// Flows (directions) governed.
    flows_governed,
    /// Flows moved to another algorithm while they ran.
    flows_switched,
    /// Segments marked lost.
    lost,
    /// Segments retransmitted by the box.
    repaired,
    /// Second copies sent.
    copies,
    /// Tail loss probes sent by the box.
    tail_probes,
    /// Retransmission time-outs of the box.
    timeouts,
    /// Retransmissions of the sender swallowed because the box repairs.
    sender_retransmissions_absorbed,
    /// Retransmissions of the sender passed on.
    sender_retransmissions_passed,
    /// Times a flow was handed back to its sender.
    handed_back,
    /// Times it was taken over again.
    taken_over,
    /// Duplicate or old ACKs not shown to the sender.
    acks_absorbed,
    /// Segments that others had overtaken, dropped as their receiver would by their timestamp.
    overtaken_dropped,
    /// ACKs replaced by a later one while being thinned.
    acks_thinned,
    /// Window updates and ACKs made by the box (their ACK number is the receiver's).
    acks_made,
    /// DSACK blocks told to the sender for absorbed probes.
    dsacks_told,
    /// ECE flags hidden from the sender.
    ece_hidden,
    /// CWR flags set toward the receiver.
    cwr_set,
    /// SACK-permitted options inserted into SYN-ACKs.
    sack_inserted,
    /// Connections on which another box was found at the other end.
    peers_found,
    /// Connections on which a hello was not answered, or none came.
    peers_absent,
    /// Connections on which a SYN had no room for a hello.
    peers_without_room,
    /// Connections on which the other box reported no more.
    peers_lost,
    /// Packets made ECN-capable on behalf of their sender.
    ect_set,
    /// CE marks taken away before the end saw them.
    marks_cleared,
    /// Reports of marks sent in packets of the ends (PACK).
    reports_carried,
    /// Reports of marks sent in packets of their own (FACK).
    reports_alone,
    /// Reports of marks received.
    reports_heard,
    /// Reports that cannot be the other box's: of more than was sent, or of more marks than packets.
    reports_refused,
    /// Bytes of payload that the other box has reported as marked.
    marked_bytes_heard,
    /// Packets of senders beyond the edge that they had been shown, dropped.
    policed,
    /// DSACK blocks received: something arrived twice.
    dsacks_received,
    /// Congestion events that proved to be none.
    spurious,
    /// Packets forwarded without being held, because a budget was exhausted.
    unheld,
    /// Held packets freed before they were acknowledged in full, because packet memory was short: the receiver had
    /// SACKed them.
    sacked_freed,
    /// Bytes of data forwarded for governed flows, first transmissions.
    bytes_sent,
    /// Bytes retransmitted or copied by the box.
    bytes_resent,
    /// Flows that went on with the fallback of a plugin that failed.
    plugin_faults,
    /// Connections whose packets went by unseen for a while.
    sight_lost,
    /// Those that are followed again.
    sight_regained,
    /// Connections forgotten because they were idle; those that were closed do not count.
    idle_expired,
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
