//! What every step of the engine works with.

use serde::{Deserialize, Serialize};
use windlass_cc::Nanos;
use windlass_wire::Segment;

use crate::admission::{BUCKETS, Bucket};
use crate::decide::{Decide, Generation};
use crate::decision::{Fate, Why};
use crate::notice::Notices;
use crate::tenants::{Account, Bounded};
use crate::verdicts::Verdicts;
use crate::{
    Counters, Histograms, Limits, Mode, PassReason, Pkt, Pool, Side, TenantId, Tx, TxChecksum,
};

/// Offset of the checksum in the TCP header (RFC 9293 §3.1).
const TCP_CHECKSUM_OFFSET: u16 = 16;

/// Packets and bytes held for repair.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    pub bytes: u64,
    /// Those that wait to be shown to a sender count as well.
    pub packets: u64,
    /// Segments whose records are kept, with their packets or without.
    pub segments: u64,
    /// No flow goes back for lack of room until then: one has just made some.
    #[serde(skip)]
    pub no_room_until: Nanos,
    /// Packets of each prefix.
    #[serde(skip)]
    by_prefix: ByPrefix,
}

#[derive(Clone, Debug)]
struct ByPrefix(Vec<u32>);

impl Default for ByPrefix {
    fn default() -> Self {
        ByPrefix(vec![0; BUCKETS])
    }
}

impl Held {
    /// A packet of so many bytes is held for a connection of this prefix.
    pub(crate) fn add(&mut self, prefix: Bucket, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.packets += 1;
        self.by_prefix.0[prefix.index()] += 1;
    }

    /// It is not any more.
    pub(crate) fn remove(&mut self, prefix: Bucket, bytes: u32) {
        self.bytes -= u64::from(bytes);
        self.packets -= 1;
        self.by_prefix.0[prefix.index()] -= 1;
    }

    /// A connection of this prefix held so many packets before the books were read back. The sum was written down, and the
    /// shares were not.
    pub(crate) fn restore(&mut self, prefix: Bucket, packets: usize) {
        self.by_prefix.0[prefix.index()] += packets as u32;
    }

    /// Another packet of so many bytes may be held for this prefix.
    pub(crate) fn has_room(&self, prefix: Bucket, bytes: u32, limits: &Limits) -> bool {
        self.bytes + u64::from(bytes) <= limits.held_bytes_total
            && self.packets < limits.held_packets_total
            && self.has_share(prefix, limits)
    }

    /// This prefix holds less than one prefix may.
    pub(crate) fn has_share(&self, prefix: Bucket, limits: &Limits) -> bool {
        u64::from(self.by_prefix.0[prefix.index()]) < limits.held_packets_per_prefix
    }
}

/// One call into the engine: the time, the packet memory, where packets go, and the books.
pub(crate) struct Context<'a, P: Pool> {
    pub now: Nanos,
    pub pool: &'a mut P,
    pub out: &'a mut Vec<Tx>,
    pub counters: &'a mut Counters,
    pub histograms: &'a mut Histograms,
    pub limits: &'a Limits,
    /// By [`crate::TenantId`].
    pub tenants: &'a mut [Account],
    /// Whose packets count against the limits of tenants although they belong to no flow.
    pub bounded: &'a Bounded,
    /// What is held for repair by all flows.
    pub held: &'a mut Held,
    pub policy: &'a dyn Decide,
    pub verdicts: &'a mut Verdicts,
    /// Of that policy.
    pub generation: Generation,
    /// The parts of a SACK block that are news.
    pub fresh: &'a mut Vec<(u64, u64)>,
    /// What becomes of the packet that has come, and why it passes unchanged, if it does.
    pub fate: Fate,
    pub passed: Option<PassReason>,
    /// What people may want to hear of.
    pub notices: &'a mut Notices,
}

impl<P: Pool> Context<'_, P> {
    /// The packet that has come passes unchanged.
    pub(crate) fn pass(&mut self, reason: PassReason) {
        self.counters.pass(reason);
        self.fate = Fate::Passed;
        self.passed = Some(reason);
    }

    /// A segment of no flow goes on unchanged, unless it is beyond its tenant's limit.
    pub(crate) fn pass_on(&mut self, reason: PassReason, to: Side, segment: &Segment, pkt: Pkt) {
        if !self.fits_unknown(reason, to.other(), segment, pkt) {
            return self.swallow_ungoverned(pkt);
        }
        self.pass(reason);
        self.emit(pkt, to, segment);
    }

    /// Whether a segment of no flow may go on. If its tenant bounds such segments, it counts against the limit, unless policy
    /// leaves its connection alone.
    pub(crate) fn fits_unknown(
        &mut self,
        reason: PassReason,
        from: Side,
        segment: &Segment,
        pkt: Pkt,
    ) -> bool {
        let wanted = matches!(reason, PassReason::Policy | PassReason::Bypass);
        if wanted || segment.payload_len == 0 || self.bounded.is_empty() {
            return true;
        }
        let bounded = self.bounded;
        let Some(tenant) = bounded.tenant_of(segment.key.src, |bounds| bounds.unknown_tcp) else {
            return true;
        };
        let verdict = self.policy.classify(&segment.key, from, self.now);
        let enforced = verdict.is_some_and(|verdict| verdict.mode == Mode::Enforce);
        !enforced || self.fits(Some(tenant), u64::from(segment.payload_len), pkt)
    }

    /// Whether a packet with so many bytes may go on, by the limit of this tenant, against which it counts then.
    pub(crate) fn fits(&mut self, tenant: Option<TenantId>, bytes: u64, pkt: Pkt) -> bool {
        // A worker that was late finds many at once that did not come at once.
        let came_at = self.pool.arrived_at(pkt, self.now).unwrap_or(self.now);
        let came_at = came_at.min(self.now);
        let account = tenant.and_then(|id| self.tenants.get_mut(usize::from(id.0)));
        account.is_none_or(|account| account.take_now(came_at, bytes))
    }

    /// Policy does not want this packet.
    pub(crate) fn swallow_ungoverned(&mut self, pkt: Pkt) {
        self.counters.ungoverned_dropped += 1;
        self.swallow(pkt, Fate::Ungoverned);
    }

    /// Frees the packet that has come: this is what becomes of it.
    pub(crate) fn swallow(&mut self, pkt: Pkt, fate: Fate) {
        self.fate = fate;
        self.pool.free(pkt);
    }

    /// Sends on a packet of an end whose segment has been read.
    pub(crate) fn emit(&mut self, pkt: Pkt, to: Side, segment: &Segment) {
        self.emit_partial(pkt, to, partial_at(segment), Why::Forwarded);
    }

    /// Sends a packet; `partial_at` is where its TCP header begins if its checksum is partial,
    /// else 0.
    pub(crate) fn emit_partial(&mut self, pkt: Pkt, to: Side, partial_at: u16, why: Why) {
        let checksum = match partial_at {
            0 => TxChecksum::Done,
            start => TxChecksum::Partial {
                start,
                offset: TCP_CHECKSUM_OFFSET,
            },
        };
        self.out.push(Tx {
            pkt,
            to,
            checksum,
            why,
        });
    }
}

/// Where the TCP header begins if the checksum of the segment is partial, else 0.
pub(crate) fn partial_at(segment: &Segment) -> u16 {
    match segment.checksum {
        windlass_wire::ChecksumState::Full => 0,
        windlass_wire::ChecksumState::Partial => segment.at.tcp,
    }
}
