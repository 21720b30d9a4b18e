//! What a frame leaves to be done on transmission: `struct virtio_net_hdr` (VIRTIO 1.2 §5.1.6).

use windlass_engine::TxChecksum;

pub(super) const HEADER_BYTES: usize = 10;
const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
/// What a VLAN tag adds, bytes.
pub(super) const VLAN_TAG_BYTES: u16 = 4;

/// A frame that stands for several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gso {
    /// `VIRTIO_NET_HDR_GSO_*`.
    pub kind: u8,
    /// Payload of each segment, bytes.
    pub size: u16,
    /// Headers, repeated for each segment, bytes.
    pub header_len: u16,
}

/// What remains to be done to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offload {
    /// Its checksum.
    pub checksum: TxChecksum,
    /// Its segmentation.
    pub gso: Option<Gso>,
    /// Whoever received it has found its checksum right: a network card, mostly.
    pub verified: bool,
}

impl Offload {
    /// Nothing.
    pub const NONE: Offload = Offload {
        checksum: TxChecksum::Done,
        gso: None,
        verified: false,
    };

    pub(super) fn parse(header: &[u8; HEADER_BYTES]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let checksum = match header[0] & NEEDS_CSUM {
            0 => TxChecksum::Done,
            _ => TxChecksum::Partial {
                start: word(6),
                offset: word(8),
            },
        };
        let gso = (header[1] != GSO_NONE).then(|| Gso {
            kind: header[1],
            size: word(4),
            header_len: word(2),
        });
        Offload {
            checksum,
            gso,
            verified: header[0] & DATA_VALID != 0,
        }
    }

    /// For a frame of `len` bytes: one that was cut to a single segment needs no segmentation.
    pub(super) fn header(&self, len: usize) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let mut put =
            |at: usize, word: u16| header[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        let mut flags = 0;
        if let TxChecksum::Partial { start, offset } = self.checksum {
            flags = NEEDS_CSUM;
            put(6, start);
            put(8, offset);
        }
        let gso = self
            .gso
            .filter(|g| len > usize::from(g.header_len) + usize::from(g.size));
        if let Some(gso) = gso {
            put(2, gso.header_len);
            put(4, gso.size);
        }
        header[0] = flags;
        header[1] = gso.map_or(GSO_NONE, |g| g.kind);
        header
    }

    /// For the same frame with a VLAN tag put in.
    pub(super) fn behind_tag(mut self) -> Offload {
        if let TxChecksum::Partial { start, .. } = &mut self.checksum {
            *start += VLAN_TAG_BYTES;
        }
        if let Some(gso) = &mut self.gso {
            gso.header_len += VLAN_TAG_BYTES;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFLOAD: Offload = Offload {
        checksum: TxChecksum::Partial {
            start: 34,
            offset: 16,
        },
        gso: Some(Gso {
            kind: 1,
            size: 1448,
            header_len: 66,
        }),
        verified: false,
    };

    /// Of what is sent nobody is told so: it may have been changed.
    #[test]
    fn verified_is_what_was_received_only() {
        let received = Offload::parse(&[DATA_VALID, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(received.checksum, TxChecksum::Done);
        assert!(received.verified && !Offload::NONE.verified);
        assert_eq!(received.header(1514), Offload::NONE.header(1514));
    }

    #[test]
    fn headers_survive_the_round_trip() {
        for offload in [OFFLOAD, OFFLOAD.behind_tag(), Offload::NONE] {
            assert_eq!(Offload::parse(&offload.header(30_000)), offload);
        }
        let checksum = Offload {
            gso: None,
            ..OFFLOAD
        };
        assert_eq!(OFFLOAD.header(1514), checksum.header(1514));
        assert_eq!(OFFLOAD.header(1515), OFFLOAD.header(30_000));
    }
}
