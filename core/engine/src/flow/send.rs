//! What leaves for the network, and when: repairs first, then new data, then copies.

use windlass_cc::host::{Departure, rate_by_window, wanted_rate};
use windlass_cc::{MILLISECOND, Nanos, Phase};
use windlass_wire::{DataRewrite, Timestamps, parse};

use super::pace::Patience;
use super::scale::scaled;
use super::{Copies, Flow, LimitedBy};
use crate::context::Context;
use crate::maybe::Maybe;
use crate::{HandBack, Pool, Why, seq};

/// How long the sender may leave room in its edge unused before samples count as app-limited, ns:
/// its answer to an ACK takes a moment.
const ROOM_GRACE: Nanos = 2 * MILLISECOND;
/// A round trip on short paths.
const SIXTEENTHS: Nanos = 16;

/// So often a segment leaves with the TSval it came with, which lets the sender undo a time-out of
/// its own (RFC 3522). After that the old value would only inflate the RTT that the sender measures.
const OLD_TSVAL_TRANSMISSIONS: u8 = 2;

/// A queue stands where the RTT has grown by this part.
const BURST_RTT_PARTS: Nanos = 2;
/// What has waited for shorter than this part of an RTT is not held back.
const HELD_RTT_PARTS: Nanos = 8;
/// Start-up that has lost more than this part of all that it sent sends no bursts.
const OVERFLOW_PARTS: u64 = 8;

/// On a path that loses, bursts are no faster than what trains say of its bottleneck, and this part of it more.
const LOSSY_BURST_PARTS: u64 = 4;
/// By so much the smoothed RTT may lag behind the newest one, in which a window is paced.
const LAG_MAX: u64 = 2;

impl Flow {
    /// Sends what may be sent now.
    pub(crate) fn pump<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.hands.pass.is_some() {
            return;
        }
        self.note_lateness(ctx);
        self.pacing.limited_by = LimitedBy::Sender;
        while let Some(index) = self.next_to_send() {
            if let Some(limit) = self.obstacle(ctx, index) {
                self.pacing.limited_by = limit;
                break;
            }
            let why = match self.board.piece(index).transmissions {
                0 => Why::First,
                _ => Why::Repair,
            };
            self.transmit(ctx, index, why);
        }
        match self.pacing.limited_by {
            LimitedBy::Sender => {
                self.send_copies(ctx);
                self.send_tail(ctx);
            }
            // While the window waits for a repair, a path that is nobody else's is idle.
            LimitedBy::Cwnd if self.path_loses() => self.send_copies(ctx),
            _ => {}
        }
        self.note_usage(ctx);
        self.offer_room(ctx);
    }

    fn next_to_send(&mut self) -> Option<usize> {
        let repair = match self.in_charge() {
            true => self.board.next_lost(),
            false => None,
        };
        repair.or_else(|| self.board.unsent())
    }

    /// What keeps the piece at `index` from leaving now.
    fn obstacle<P: Pool>(&mut self, ctx: &mut Context<'_, P>, index: usize) -> Option<LimitedBy> {
        let piece = self.board.piece(index);
        if !self.in_charge() && !self.polices() {
            let waits = self.is_backlog(piece.start) && !self.pacing.pacer.may_send(ctx.now);
            return waits.then_some(LimitedBy::Pacing);
        }
        let (len, start, end, sent) = (piece.len(), piece.start, piece.end, piece.sent);
        // One segment may always be in flight, whatever the window says.
        let over = self.board.inflight() > 0 && self.board.pipe() + len > self.window_in_flight();
        if over && (sent || !self.was_promised(end)) {
            return Some(LimitedBy::Cwnd);
        }
        if end > self.receiver_edge && !sent && !self.may_probe_window(ctx.now, start) {
            return Some(LimitedBy::Receiver);
        }
        // It takes its place in the line before pacing lets it go: else it would come too late each time.
        let has_turn = self.is_its_turn(ctx, len);
        if !self.pacing.pacer.may_send(ctx.now) {
            return Some(LimitedBy::Pacing);
        }
        (!has_turn).then_some(LimitedBy::Tenant)
    }

    /// A receiver that has closed its window is asked whether it has opened it again after a time-out,
    /// not at once (RFC 9293 §3.8.6.1). What its sender has sent beyond the edge is its own question.
    fn may_probe_window(&mut self, now: Nanos, start: u64) -> bool {
        if self.board.inflight() > 0 || start >= self.view.edge() {
            return self.board.inflight() == 0;
        }
        let due = now + self.long_rto();
        now >= self.timers.persist_at.get_or_insert(due)
    }

    /// What may be in flight. A window below two segments is kept by pacing and not by waiting: with
    /// one segment in flight at a time, every one would wait for the receiver's delayed ACK. After a
    /// time-out there is no such hurry.
    pub(super) fn window_in_flight(&self) -> u64 {
        let cwnd = self.host.control().cwnd;
        let pair = 2 * u64::from(self.host.path().mss);
        match self.keeps_small_window_by_pacing(cwnd) {
            true => pair,
            false => cwnd,
        }
    }

    /// What ends there was within an earlier window, which a mark has made smaller since. On a short path it leaves all the same,
    /// as it would if its sender had that window: to hold it back would make the flow wait at its own share of the link for what
    /// takes the switch no time. Of a window of few segments, what the sender was ahead leaves too: it would wait for a round trip.
    fn was_promised(&self, end: u64) -> bool {
        self.has_short_queue()
            && self.host.episode().is_none()
            && !self.keeps_small_window_by_pacing(self.host.control().cwnd)
            && end + self.waits_for_a_window() <= self.view.edge()
    }

    /// So many bytes before the edge wait for the window that a mark has left.
    fn waits_for_a_window(&self) -> u64 {
        match self.has_few_segments() {
            true => u64::from(self.host.path().mss) / 2,
            false => self.queue_allowance(),
        }
    }

    fn keeps_small_window_by_pacing(&self, cwnd: u64) -> bool {
        cwnd < 2 * u64::from(self.host.path().mss)
            && self.host.episode().is_none()
            && self.host.path().srtt > 0
    }

    /// Sends the piece at `index`, for the first time or again. Without a packet nothing leaves:
    /// the flow goes back to its sender.
    pub(crate) fn transmit<P: Pool>(&mut self, ctx: &mut Context<'_, P>, index: usize, why: Why) {
        let again = self.board.piece(index).transmissions > 0;
        let Some(pkt) = self.board.piece(index).pkt else {
            if self.hands.are_senders() && !self.board.piece(index).sent {
                debug_assert!(false, "what waits has its packet");
                self.board.discard_unsent();
                return;
            }
            return self.hand_back(ctx, HandBack::NotHeld);
        };
        let newest = self.words.latest.stamps.filter(|_| self.setup.timestamps);
        if let Some(newest) = newest
            && self.board.piece(index).transmissions >= OLD_TSVAL_TRANSMISSIONS
        {
            self.raise_tsval_floor(newest.val);
        }
        self.refresh(ctx, index, again);
        let pkt = ctx.pool.share(pkt);
        ctx.emit_partial(
            pkt,
            self.setup.sender.other(),
            self.board.piece(index).partial_at,
            why,
        );
        self.account_transmission(ctx, index);
        if again {
            ctx.counters.repaired += 1;
            ctx.counters.bytes_resent += self.board.piece(index).len();
            let tally = self.cold.tally_mut();
            tally.repaired += 1;
            tally.repaired_bytes += self.board.piece(index).len();
            self.note_resent();
        }
        self.plan_copy(ctx.now, index, again);
    }

    /// Books for one transmission of the piece at `index`.
    pub(crate) fn account_transmission<P: Pool>(&mut self, ctx: &mut Context<'_, P>, index: usize) {
        let len = self.board.piece(index).len();
        self.account_part(ctx, index, len);
    }

    /// The same where so many bytes of the piece leave: its sender cuts otherwise.
    pub(crate) fn account_part<P: Pool>(
        &mut self,
        ctx: &mut Context<'_, P>,
        index: usize,
        bytes: u64,
    ) {
        let timed = self.setup.receiver_sacks;
        let (host, copies) = (&mut self.host, self.copies.get().map_or(0, Copies::sent));
        let left = self.board.send(index, ctx.now, copies, timed, |leaving| {
            host.sent(&Departure {
                now: ctx.now,
                bytes,
                inflight: leaving.inflight,
                sampled_inflight: leaving.sampled_inflight,
                first: leaving.first,
                retransmission: leaving.again,
            })
        });
        if !left.again {
            ctx.counters.bytes_sent += left.len;
            self.note_hold_time(ctx, index);
        }
        self.pacing.last_sent_at = ctx.now;
        let rate = self.departure_rate();
        let patience = self.patience(bytes);
        let rate = self.rate_to_catch_up(bytes, rate);
        self.pacing.pacer.on_sent(ctx.now, bytes, rate, patience);
        self.note_at_bottleneck(ctx.now, bytes);
        self.charge_tenant(ctx, bytes);
        self.arm_timers_on_send(ctx.now);
    }

    /// Bytes per second at which packets leave. What waits in a flow that is handed back is out in about two round trips, whatever the
    /// algorithm wants: behind it waits what its sender sends.
    fn departure_rate(&self) -> Option<u64> {
        let rate = self.pacing.rate.get();
        let rtt = match self.host.path().srtt {
            0 => self.handshake_rtt(),
            srtt => srtt,
        };
        if !self.hands.are_senders() || rtt == 0 {
            return rate;
        }
        let in_half_a_round_trip = rate_by_window(self.board.queued(), 200, rtt);
        Some(rate.unwrap_or(0).max(in_half_a_round_trip)).filter(|rate| *rate > 0)
    }

    /// How long the piece at `index`, which leaves for the first time, has been in the box.
    fn note_hold_time<P: Pool>(&self, ctx: &mut Context<'_, P>, index: usize) {
        if self.enforcing() {
            let held = ctx.now - self.board.piece(index).arrived_at;
            ctx.histograms.hold_time_ns.record(held);
        }
    }

    /// Sets the bytes per second at which packets leave, after an event that may change them: the algorithm's, or for one that asks for none the
    /// ratios of Linux (`tcp_pacing_ss_ratio` 200 %, `tcp_pacing_ca_ratio` 120 %). Until the
    /// bottleneck is known, early flights go out in bursts of an eighth of an RTT: spreading them
    /// would look like queueing delay to a sender that runs HyStart.
    pub(crate) fn update_pacing(&mut self) {
        self.keep_train();
        let wanted = self.wanted_pacing_rate();
        self.pacing.rate = match self.verdict.cap {
            Some(cap) => Maybe::some(wanted.map_or(cap, |rate| rate.min(cap))),
            None => wanted.into(),
        };
    }

    fn wanted_pacing_rate(&self) -> Option<u64> {
        let (control, path) = (self.host.control(), self.host.path());
        if path.srtt == 0 {
            return None;
        }
        let by_window = |percent| rate_by_window(control.cwnd, percent, path.srtt);
        let small = self.keeps_small_window_by_pacing(control.cwnd);
        let rate = match control.pacing_rate {
            // The smoothed RTT lags behind the queue that such flows make: all would swing together.
            None if small => rate_by_window(control.cwnd, 100, path.latest_rtt),
            // After ACKs that came late it is long for many round trips, each as long as the pacing makes it.
            _ => wanted_rate(&control, path.srtt.min(LAG_MAX * path.latest_rtt)),
        };
        if self.verdict.headroom && control.phase == Phase::Startup {
            // Where a queue stands, a burst shows nothing more, and overflows it.
            let least = path.recent_min_rtt();
            let queue_stands = path.srtt > least + least / BURST_RTT_PARTS;
            let burst = || match queue_stands || self.has_lost(OVERFLOW_PARTS) {
                true => rate,
                false => rate.max(by_window(800).min(self.fastest_burst())),
            };
            // A train of ACKs that was compressed on its way names a rate beyond any burst.
            let cap = self.train.as_ref().and_then(|train| train.cap(path));
            let cap = cap.filter(|cap| *cap <= by_window(800));
            return Some(cap.unwrap_or_else(burst));
        }
        Some(rate)
    }

    /// Bytes per second beyond which a burst would make a queue. On a path that loses, no copy leaves while one stands, and copies end the
    /// sender's wait for what is lost. A single train may be wrong by much: the algorithm's own rate is no less for it.
    fn fastest_burst(&self) -> u64 {
        let seen = self.train.as_ref().and_then(|train| train.perhaps());
        let of_lossy = seen.filter(|_| self.path_loses());
        of_lossy.map_or(u64::MAX, |seen| seen + seen / LOSSY_BURST_PARTS)
    }

    /// More than this part of what was sent is lost: a full queue has dropped it.
    pub(super) fn has_lost(&self, parts: u64) -> bool {
        let path = self.host.path();
        path.lost > 2 * u64::from(path.mss) && path.lost * parts > path.delivered + path.lost
    }

    /// Trains are looked at while they are of use: in start-up, and for a flow that is only watched.
    fn keep_train(&mut self) {
        let starts = self.verdict.headroom && self.host.control().phase == Phase::Startup;
        match (starts || !self.enforcing(), &self.train) {
            (true, None) => self.train = Some(Box::default()),
            (false, Some(_)) => self.train = None,
            _ => {}
        }
    }

    /// After a packet of so many bytes: whatever the rate, one may leave in a round trip, unless the
    /// cap says otherwise.
    pub(crate) fn patience(&self, bytes: u64) -> Patience {
        let by_cap = |cap| (bytes * 1_000_000_000).checked_div(cap);
        let by_cap = self.verdict.cap.and_then(by_cap).unwrap_or(0);
        let round_trip = self.round_trip();
        let least = scaled(MILLISECOND, round_trip, SIXTEENTHS);
        Patience::new(self.host.path().srtt.max(least).max(by_cap), round_trip)
    }

    /// Puts what the sender said last into a held packet that was made before, as a
    /// retransmission of its own would carry it, and what the box owes the receiver.
    pub(crate) fn refresh<P: Pool>(&mut self, ctx: &mut Context<'_, P>, index: usize, again: bool) {
        let piece = self.board.piece(index);
        let stale = piece.ack != self.words.latest.ack || piece.window != self.words.latest.window;
        let owed = self.words.owed.read();
        let cwr = owed.cwr_due && !again;
        // It answers marks once, and not with each repair (RFC 3168 §6.1.5).
        let no_cwr = again && piece.cwr;
        let floor = owed
            .tsval_floor
            .filter(|floor| piece.start < floor.until.get())
            .map(|floor| floor.val);
        if !stale && !cwr && !no_cwr && floor.is_none() {
            return;
        }
        let Some(pkt) = piece.pkt else { return };
        let Ok(segment) = parse(ctx.pool.head(pkt), ctx.pool.len(pkt)) else {
            return;
        };
        let newer = stale && !seq::later(segment.ack, self.words.latest.ack);
        let stamps = segment.options.timestamps;
        let rewrite = DataRewrite {
            ack: newer.then_some((self.words.latest.ack, self.words.latest.window)),
            timestamps: stamps.map(|stamps| {
                let newest = self.words.latest.stamps.filter(|_| stale).unwrap_or(stamps);
                let raised = floor.filter(|floor| seq::later(*floor, stamps.val));
                Timestamps {
                    val: raised.unwrap_or(stamps.val),
                    ecr: newest.ecr,
                }
            }),
            cwr: (cwr || no_cwr).then_some(cwr),
        };
        rewrite.apply(ctx.pool.head_mut(pkt), &segment);
        if cwr {
            self.words.owed.edit().cwr_due = false;
            ctx.counters.cwr_set += 1;
        }
        self.board.note_cwr(index, cwr);
        self.board
            .note_words(index, self.words.latest.ack, self.words.latest.window);
    }

    /// Whether the window binds, and whether the sender leaves room unused.
    fn note_usage<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if !self.enforcing() {
            return;
        }
        if self.hands.are_senders() {
            // Its sender's window decides, and that has just become smaller: nothing here speaks of the path.
            return self.host.app_limited(self.board.inflight());
        }
        let limited = self.pacing.limited_by == LimitedBy::Cwnd || self.waits_for_edge();
        let usage = self.host.usage_mut();
        if usage.is_over(self.board.una()) {
            usage.begin(self.board.sent_nxt(), false, 0);
        }
        usage.note(limited, self.board.inflight());
        let by_pacing = self.pacing.limited_by == LimitedBy::Pacing;
        // Where start-up overflows a queue, moments are no excuse to go on with it.
        let at_least = match self.has_lost(OVERFLOW_PARTS) {
            true => self.round_trip() / HELD_RTT_PARTS,
            false => 0,
        };
        if let Some(train) = &mut self.train
            && train.holds_back(ctx.now, by_pacing, at_least, self.host.path())
        {
            // The algorithm must conclude nothing from growth that the box has kept from coming.
            self.host.app_limited(self.board.inflight());
        }
        let room =
            self.view.edge().saturating_sub(self.board.nxt()) >= u64::from(self.host.path().mss);
        let has_room = self.pacing.limited_by == LimitedBy::Sender && room;
        if !has_room || self.board.lost_bytes() > self.board.missing_bytes() {
            self.pacing.idle_room_since = Maybe::NONE;
            return;
        }
        let since = self.pacing.idle_room_since.get_or_insert(ctx.now);
        let control = self.host.control();
        let full = match control.phase {
            // Start-up goes on while samples are the sender's: what fills the path as it is known is not the sender's to limit.
            Phase::Startup => control.cwnd.min(self.host.path().bdp() * 2),
            _ => control.cwnd,
        };
        // A sender whose window waits for a hole to be repaired is kept back by the loss, and start-up that overflows the queue has
        // to end.
        let by_loss = self.host.episode().is_some() && self.has_lost(OVERFLOW_PARTS);
        if ctx.now - since >= scaled(ROOM_GRACE, self.round_trip(), SIXTEENTHS)
            && self.board.inflight() < full
            && !by_loss
        {
            self.host.app_limited(self.board.inflight());
        }
    }

    /// On a short path next to nothing waits in the box: the window limits a sender that has used up the edge it was shown.
    fn waits_for_edge(&self) -> bool {
        self.pacing.limited_by == LimitedBy::Sender
            && self.has_short_queue()
            && self.at_edge()
            && self.view.edge() < self.receiver_edge
    }

    /// A segment has been sent again in the open episode.
    pub(crate) fn note_resent(&mut self) {
        if self.host.episode().is_some() {
            self.board.note_resent();
        }
    }

    /// The sender sends again after everything had been acknowledged.
    pub(crate) fn on_restart<P: Pool>(&mut self, ctx: &mut Context<'_, P>) {
        if self.pacing.last_sent_at == 0 {
            return;
        }
        let idle = ctx.now - self.pacing.last_sent_at;
        // What the sender did not send while there was room says nothing about the path.
        self.host.app_limited(self.board.inflight());
        self.view.restart_rounds();
        if idle > self.long_rto() {
            self.host.idle_restart(ctx.now, idle);
            self.update_pacing();
        }
    }
}
