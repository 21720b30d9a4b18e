//! ECN at an end point: how each mark is echoed.

use windlass_cc::Nanos;

use super::endpoint::Endpoint;

impl Endpoint {
    /// RFC 8257 §3.2: data has arrived, marked or not, and has not been taken in yet. ACKs say
    /// whether the data that they are for was marked. At a change one leaves at once, and before it
    /// one for what has waited for its ACK, as that was.
    pub(super) fn echo_each(&mut self, now: Nanos, marked: bool) {
        if marked == self.receiver.echo_ce {
            return;
        }
        if self.receiver.ack_is_delayed() {
            let frame = self.ack_frame(now);
            self.early_acks.push(frame);
        }
        self.receiver.echo_ce = marked;
        self.receiver.demand_ack();
    }
}
