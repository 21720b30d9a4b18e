//! Reading TCP options (RFC 9293 §3.2 and the IANA registry of option kinds).

use crate::{SackBlocks, TcpOptions, Timestamps, peer};

/// Kinds that are written as well as read.
pub(crate) const EOL: u8 = 0;
pub(crate) const NOP: u8 = 1;
pub(crate) const MSS: u8 = 2;
pub(crate) const WINDOW_SCALE: u8 = 3;
pub(crate) const SACK_PERMITTED: u8 = 4;
pub(crate) const SACK: u8 = 5;
pub(crate) const TIMESTAMPS: u8 = 8;
pub(crate) const FAST_OPEN: u8 = 34;

const MD5: u8 = 19;
const AO: u8 = 29;
const MPTCP: u8 = 30;
/// Shared experimental kinds (RFC 6994), told apart by a 16-bit ExID.
pub(crate) const EXPERIMENT: u8 = 253;
const EXPERIMENTS: [u8; 2] = [EXPERIMENT, 254];
const FAST_OPEN_EXID: [u8; 2] = [0xf9, 0x89];

/// Most bytes of options that a TCP header can have.
pub(crate) const OPTIONS_MAX_BYTES: usize = 40;
/// The layout all stacks use outside of SYNs (RFC 7323 appendix A).
pub(crate) const ALIGNED_TIMESTAMPS: [u8; 4] = [NOP, NOP, TIMESTAMPS, 10];

const LENGTH: &str = "option length";
const REPEATED: &str = "option repeated";

/// What options say, and where those are that can be rewritten (as in [`crate::Layout`]).
#[derive(Clone, Copy, Default)]
pub(crate) struct Read {
    pub options: TcpOptions,
    pub timestamps: u16,
    pub sack: u16,
    pub peer: u16,
}

/// Reads options in the layout of nearly all packets: NOP, NOP, timestamps.
#[inline]
pub(crate) fn read_aligned_timestamps(bytes: &[u8], base: usize) -> Option<Read> {
    let &[a, b, c, d, ref stamps @ ..] = bytes.as_array::<12>()?;
    ([a, b, c, d] == ALIGNED_TIMESTAMPS).then(|| Read {
        options: TcpOptions {
            timestamps: Some(read_timestamps(*stamps)),
            ..TcpOptions::default()
        },
        timestamps: (base + 4) as u16,
        ..Read::default()
    })
}

/// Reads `bytes`, the options of a header, which begin `base` bytes into the frame. Repeated options
/// are refused where only one of them could be rewritten.
pub(crate) fn read(bytes: &[u8], base: usize) -> Result<Read, &'static str> {
    let mut read = Read::default();
    let mut next = 0;
    while let Some(&kind) = bytes.get(next) {
        match kind {
            EOL => break,
            NOP => next += 1,
            _ => {
                let len = usize::from(*bytes.get(next + 1).ok_or(LENGTH)?);
                let body = bytes.get(next + 2..next + len).ok_or(LENGTH)?;
                read_one(kind, body, base + next, &mut read)?;
                next += len;
            }
        }
    }
    Ok(read)
}

/// One option: its kind, what follows its length byte, and where its kind byte is in the frame.
fn read_one(kind: u8, body: &[u8], place: usize, read: &mut Read) -> Result<(), &'static str> {
    let options = &mut read.options;
    match kind {
        MSS => {
            let body: [u8; 2] = body.try_into().map_err(|_| LENGTH)?;
            once(&mut options.mss, u16::from_be_bytes(body))
        }
        WINDOW_SCALE => {
            let [shift] = body.try_into().map_err(|_| LENGTH)?;
            once(&mut options.window_scale, shift)
        }
        SACK_PERMITTED => {
            options.sack_permitted = true;
            sized(body.is_empty())
        }
        SACK if read.sack != 0 => Err(REPEATED),
        SACK => {
            options.sack = read_sack(body)?;
            read.sack = place as u16;
            Ok(())
        }
        TIMESTAMPS => {
            let body: [u8; 8] = body.try_into().map_err(|_| LENGTH)?;
            read.timestamps = (place + 2) as u16;
            once(&mut options.timestamps, read_timestamps(body))
        }
        MD5 => {
            options.md5 = true;
            sized(body.len() == 16)
        }
        AO => {
            options.ao = true;
            sized(body.len() >= 2)
        }
        MPTCP => {
            options.mptcp = true;
            sized(!body.is_empty())
        }
        FAST_OPEN => {
            // A request, or a cookie of 4 to 16 bytes (RFC 7413 §4.1.1).
            options.fast_open = true;
            sized(body.is_empty() || (4..=16).contains(&body.len()))
        }
        kind if EXPERIMENTS.contains(&kind) && body.starts_with(&FAST_OPEN_EXID) => {
            options.fast_open = true;
            Ok(())
        }
        EXPERIMENT if peer::is_ours(body) && read.peer != 0 => Err(REPEATED),
        EXPERIMENT if peer::is_ours(body) => {
            read.peer = place as u16;
            Ok(())
        }
        _ => {
            options.unknown = true;
            Ok(())
        }
    }
}

fn once<T>(option: &mut Option<T>, value: T) -> Result<(), &'static str> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(REPEATED),
    }
}

fn sized(right: bool) -> Result<(), &'static str> {
    if right { Ok(()) } else { Err(LENGTH) }
}

#[inline]
fn read_timestamps([a, b, c, d, e, f, g, h]: [u8; 8]) -> Timestamps {
    Timestamps {
        val: u32::from_be_bytes([a, b, c, d]),
        ecr: u32::from_be_bytes([e, f, g, h]),
    }
}

fn read_sack(body: &[u8]) -> Result<SackBlocks, &'static str> {
    let (edges, rest) = body.as_chunks::<8>();
    if !rest.is_empty() || !(1..=4).contains(&edges.len()) {
        return Err(LENGTH);
    }
    let mut sack = SackBlocks {
        count: edges.len() as u8,
        ..SackBlocks::default()
    };
    for (block, &[a, b, c, d, e, f, g, h]) in sack.blocks.iter_mut().zip(edges) {
        *block = (
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        );
    }
    Ok(sack)
}

/// The options that are in effect, each as the offset of its kind byte and its whole length; EOL
/// ends them. Wrong lengths end them too.
pub(crate) fn walk(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = 0;
    core::iter::from_fn(move || {
        let at = next;
        let len = match *bytes.get(at)? {
            EOL => return None,
            NOP => 1,
            _ => usize::from(*bytes.get(at + 1)?).max(2),
        };
        next = at + len;
        (next <= bytes.len()).then_some((at, len))
    })
}
