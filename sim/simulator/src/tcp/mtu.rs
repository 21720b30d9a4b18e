//! A path that takes shorter packets than it did, by the rules of Linux 6.1: what routers say of it
//! (RFC 1191, RFC 8201), and what a sender concludes that nobody tells (RFC 4821 §7.7).

use super::endpoint::{Endpoint, State};
use super::sender::{CaState, Sender, Undo};
use crate::too_big::TooBig;

const V4_BYTES: u32 = 20;
const V6_BYTES: u32 = 40;
const TCP_BYTES: u32 = 20;
const TIMESTAMPS_BYTES: u32 = 12;
/// `tcp_retries1`: so many time-outs in a row, and the path may be a black hole.
const TIMEOUTS: u32 = 3;
/// `tcp_base_mss`, what is tried first, and what is never gone below, bytes.
const BASE_MSS: u32 = 1024;
const MIN_MSS: u32 = 256;

impl Endpoint {
    /// A router has not let a segment through (`tcp_v4_err`, `tcp_v4_mtu_reduced`).
    pub(crate) fn on_too_big(&mut self, message: &TooBig) {
        if self.state != State::Established || message.key != self.key {
            return;
        }
        let first = self.config.isn.wrapping_add(1);
        let una = first.wrapping_add(self.sender.una as u32);
        let outstanding = self.sender.nxt - self.sender.una;
        if u64::from(message.seq.wrapping_sub(una)) > outstanding {
            return;
        }
        let v4 = self.key.src.ip().is_ipv4();
        let ip = if v4 { V4_BYTES } else { V6_BYTES };
        let options = if self.agreed.timestamps {
            TIMESTAMPS_BYTES
        } else {
            0
        };
        let headers = ip + TCP_BYTES + options;
        self.sender
            .narrow(u32::from(message.mtu).saturating_sub(headers));
    }
}

impl Sender {
    /// Segments are no longer than this from here on. Those that are leave again in pieces
    /// (`tcp_simple_retransmit`): it was not the network's load that they were lost to.
    pub(super) fn narrow(&mut self, mss: u32) {
        let mss = mss.max(MIN_MSS);
        if mss >= self.agreed.mss {
            return;
        }
        // Losses are counted in segments and told in bytes, which must not become fewer.
        let lost_bytes = self.board.marked_lost * self.agreed.mss as usize;
        self.board.marked_lost = lost_bytes.div_ceil(mss as usize);
        self.agreed.mss = mss;
        // What was begun with longer segments ends here.
        self.pace.burst_end = self.nxt;
        let pieces = self.board.cut(u64::from(mss), self.source.written);
        if pieces > 0 && self.recovery.state != CaState::Loss {
            self.recovery.high = self.nxt;
            self.window.ssthresh = self.current_ssthresh();
            self.recovery.undo = Undo::default();
            self.probe.high = None;
            self.recovery.state = CaState::Loss;
        }
    }

    /// `tcp_mtu_probing`: shorter with each time-out in a row.
    pub(super) fn suspect_black_hole(&mut self) {
        if self.habits.detects_black_holes && self.timers.timeouts >= TIMEOUTS {
            self.narrow((self.agreed.mss / 2).clamp(MIN_MSS, BASE_MSS));
        }
    }
}
