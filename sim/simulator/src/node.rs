//! What stands between the two ends.

use windlass_engine::{FlowInfo, Nanos, Side};
use windlass_wire::FlowKey;

/// A box in the middle: frames in, frames out, time as an argument.
pub trait Middlebox {
    /// A frame has arrived from `from`; what leaves at once is appended to `out`, each frame with
    /// the side that it leaves to.
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>);

    /// When [`Middlebox::on_timer`] wants to be called next.
    fn poll_at(&self) -> Option<Nanos>;

    /// The time named by [`Middlebox::poll_at`] has come.
    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>);

    /// Whether `frame` is one that the box did not have from an end in its turn: it was added under way,
    /// and leaves as it came.
    fn is_added(&self, _frame: &[u8]) -> bool {
        false
    }

    /// Whether it was made by somebody else than an end, or damaged under way.
    fn is_forged(&self, _frame: &[u8]) -> bool {
        false
    }

    /// The box that this one is put around: unless this one has figures of its own, those of that box count.
    fn around(&self) -> Option<&dyn Middlebox> {
        None
    }

    /// Packets held now.
    fn held_packets(&self) -> usize {
        self.around().map_or(0, |inner| inner.held_packets())
    }

    /// Counters by name, whichever the box has.
    fn counters(&self) -> Vec<(String, u64)> {
        self.around()
            .map_or_else(Vec::new, |inner| inner.counters())
    }

    /// The flows that it governs, as they are now.
    fn flow_infos(&self) -> Vec<FlowInfo> {
        self.around()
            .map_or_else(Vec::new, |inner| inner.flow_infos())
    }

    /// The one of this name.
    fn flow_info(&self, key: &FlowKey) -> Option<FlowInfo> {
        match self.around() {
            Some(inner) => inner.flow_info(key),
            None => self.flow_infos().into_iter().find(|info| info.key == *key),
        }
    }
}

impl<M: Middlebox + ?Sized> Middlebox for Box<M> {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        (**self).on_frame(now, from, frame, out);
    }

    fn poll_at(&self) -> Option<Nanos> {
        (**self).poll_at()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        (**self).on_timer(now, out);
    }

    fn is_added(&self, frame: &[u8]) -> bool {
        (**self).is_added(frame)
    }

    fn is_forged(&self, frame: &[u8]) -> bool {
        (**self).is_forged(frame)
    }

    fn held_packets(&self) -> usize {
        (**self).held_packets()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        (**self).counters()
    }

    fn flow_infos(&self) -> Vec<FlowInfo> {
        (**self).flow_infos()
    }

    fn flow_info(&self, key: &FlowKey) -> Option<FlowInfo> {
        (**self).flow_info(key)
    }
}

/// The box that is not there: everything passes unchanged.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoBox {
    frames: u64,
}

impl Middlebox for NoBox {
    fn on_frame(
        &mut self,
        _now: Nanos,
        from: Side,
        frame: Vec<u8>,
        out: &mut Vec<(Side, Vec<u8>)>,
    ) {
        self.frames += 1;
        out.push((from.other(), frame));
    }

    fn poll_at(&self) -> Option<Nanos> {
        None
    }

    fn on_timer(&mut self, _now: Nanos, _out: &mut Vec<(Side, Vec<u8>)>) {}

    fn counters(&self) -> Vec<(String, u64)> {
        vec![("frames".into(), self.frames)]
    }
}
