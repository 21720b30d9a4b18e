//! Encoding TCP options.

use crate::{Timestamps, options};

/// Encodes TCP options one after the other:
///
/// ```
/// # use windlass_wire::OptionWriter;
/// let syn: Vec<u8> = OptionWriter::new().mss(1460).sack_permitted().nop().window_scale(7).into();
/// assert_eq!(syn, [2, 4, 5, 180, 4, 2, 1, 3, 3, 7]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OptionWriter(Vec<u8>);

impl OptionWriter {
    /// No options yet.
    pub fn new() -> Self {
        OptionWriter::default()
    }

    /// No-operation, for alignment.
    pub fn nop(self) -> Self {
        self.raw(&[options::NOP])
    }

    /// Maximum segment size, bytes (RFC 9293 §3.7.1).
    pub fn mss(self, mss: u16) -> Self {
        self.raw(&[options::MSS, 4]).raw(&mss.to_be_bytes())
    }

    /// Window scale shift count (RFC 7323 §2.2).
    pub fn window_scale(self, shift: u8) -> Self {
        self.raw(&[options::WINDOW_SCALE, 3, shift])
    }

    /// SACK permitted (RFC 2018 §2).
    pub fn sack_permitted(self) -> Self {
        self.raw(&[options::SACK_PERMITTED, 2])
    }

    /// Timestamps (RFC 7323 §3.2), without the two NOPs that usually precede them.
    pub fn timestamps(self, ts: Timestamps) -> Self {
        self.raw(&[options::TIMESTAMPS, 10])
            .raw(&ts.val.to_be_bytes())
            .raw(&ts.ecr.to_be_bytes())
    }

    /// SACK (RFC 2018 §3), at most four blocks of which are written; nothing for no block.
    pub fn sack(self, blocks: &[(u32, u32)]) -> Self {
        let blocks = &blocks[..blocks.len().min(4)];
        if blocks.is_empty() {
            return self;
        }
        let start = self.raw(&[options::SACK, 2 + 8 * blocks.len() as u8]);
        blocks.iter().fold(start, |writer, (left, right)| {
            writer.raw(&left.to_be_bytes()).raw(&right.to_be_bytes())
        })
    }

    /// Fast Open with a cookie of 4 to 16 bytes, or none to request one (RFC 7413 §4.1.1).
    pub fn fast_open(self, cookie: &[u8]) -> Self {
        let cookie = &cookie[..cookie.len().min(16)];
        self.raw(&[options::FAST_OPEN, 2 + cookie.len() as u8])
            .raw(cookie)
    }

    /// Bytes as they are: any option, right or wrong.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

impl From<OptionWriter> for Vec<u8> {
    fn from(writer: OptionWriter) -> Vec<u8> {
        writer.0
    }
}
