//! The bytes of an answer: messages, and the attributes in them.

use super::{HEADER_BYTES, LINK_BYTES, Link, Xdp, XdpMode};

const ATTRIBUTE_BYTES: usize = 4;
/// Attributes inside `IFLA_XDP` (linux/if_link.h).
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;

/// The first message of an answer.
pub(super) struct Message<'a> {
    pub(super) kind: u16,
    /// Of the request that it answers.
    pub(super) number: u32,
    pub(super) body: &'a [u8],
    /// What follows it.
    pub(super) rest: &'a [u8],
}

pub(super) fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let len = number_of(bytes.get(..4)?) as usize;
    Some(Message {
        kind: number_of(bytes.get(4..6)?) as u16,
        number: number_of(bytes.get(8..12)?),
        body: bytes.get(HEADER_BYTES..len)?,
        rest: bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]),
    })
}

/// Type and value of the first attribute, and what follows it.
fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = number_of(bytes.get(..2)?) as usize;
    let kind = number_of(bytes.get(2..4)?) as u16 & libc::NLA_TYPE_MASK as u16;
    let value = bytes.get(ATTRIBUTE_BYTES..len)?;
    Some((
        kind,
        value,
        bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]),
    ))
}

fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (kind, value, after) = attribute(rest)?;
        rest = after;
        Some((kind, value))
    })
}

/// The interface that a message describes.
pub(super) fn link(body: &[u8]) -> Option<Link> {
    let mut link = Link {
        index: number_of(body.get(4..8)?),
        flags: number_of(body.get(8..12)?),
        ..Link::default()
    };
    for (kind, value) in attributes(body.get(LINK_BYTES..)?) {
        match kind {
            libc::IFLA_IFNAME => link.name = text(value),
            libc::IFLA_MTU => link.mtu = number_of(value),
            libc::IFLA_MASTER => link.master = Some(number_of(value)),
            libc::IFLA_ADDRESS => link.mac = value.try_into().ok(),
            libc::IFLA_LINKINFO => {
                let mut info = attributes(value);
                if let Some((_, kind)) = info.find(|(k, _)| *k == libc::IFLA_INFO_KIND) {
                    link.kind = text(kind);
                }
            }
            libc::IFLA_XDP => link.xdp = xdp(value),
            _ => {}
        }
    }
    Some(link)
}

fn xdp(value: &[u8]) -> Option<Xdp> {
    let find = |wanted| attributes(value).find(|(kind, _)| *kind == wanted);
    let (_, mode) = find(IFLA_XDP_ATTACHED)?;
    let (_, program) = find(IFLA_XDP_PROG_ID)?;
    Some(Xdp {
        program: number_of(program),
        mode: XdpMode::of(number_of(mode))?,
    })
}

fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// A native-endian number of up to 4 bytes; of longer ones the first 4.
pub(super) fn number_of(value: &[u8]) -> u32 {
    match *value {
        [a, b] => u32::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d, ..] => u32::from_ne_bytes([a, b, c, d]),
        [a, ..] => u32::from(a),
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = link(&bytes);
            let _ = message(&bytes);
            let _ = xdp(&bytes);
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE_BYTES);
        }
    }
}
