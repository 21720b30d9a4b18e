//! What is read of a connection ahead of time, so that the processor fetches its memory.

use super::Conn;

impl Conn {
    /// Reads a word of each cache line that a packet will need: see `Engine::touch`.
    pub(crate) fn touch(&self) -> u64 {
        self.last_seen ^ u64::from(self.closed) ^ u64::from(self.ends[1].fin)
    }

    /// The same for the flows and the gate, once the connection is there.
    pub(crate) fn touch_flows(&self) -> u64 {
        let gate = self.gate.as_ref().map_or(0, |gate| gate.touch());
        let flows = self.flows.iter().flatten();
        flows.fold(gate, |all, flow| all ^ flow.touch())
    }

    /// The same for what the flows point to.
    pub(crate) fn touch_holds(&self) -> u64 {
        let flows = self.flows.iter().flatten();
        flows.fold(0, |all, flow| all ^ flow.touch_parts())
    }
}
