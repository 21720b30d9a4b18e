//! Arbitrary frames.

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_wire::{Addr, Ecn, Flags, FlowKey, FrameSpec, OptionWriter, Timestamps};

/// One option, each kind at most once in a frame.
#[derive(Clone, Copy, Debug)]
pub enum Opt {
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    Timestamps(u32, u32),
    Sack(u8, u32),
    Nop,
}

pub fn encode(options: &[Opt]) -> Vec<u8> {
    let write = |w: OptionWriter, option: &Opt| match *option {
        Opt::Mss(mss) => w.mss(mss),
        Opt::WindowScale(shift) => w.window_scale(shift),
        Opt::SackPermitted => w.sack_permitted(),
        Opt::Timestamps(val, ecr) => w.timestamps(Timestamps { val, ecr }),
        Opt::Sack(count, at) => {
            let block = |i: u32| (at.wrapping_add(i * 3000), at.wrapping_add(i * 3000 + 1460));
            w.sack(&(0..u32::from(count)).map(block).collect::<Vec<_>>())
        }
        Opt::Nop => w.nop(),
    };
    let mut encoded = Vec::new();
    for option in options {
        let one: Vec<u8> = write(OptionWriter::new(), option).into();
        if encoded.len() + one.len() <= 40 {
            encoded.extend(one);
        }
    }
    encoded
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    (
        any::<(u16, u8, (u32, u32), u32)>(),
        1..=4u8,
        proptest::sample::subsequence((0..10).collect::<Vec<_>>(), 0..=10).prop_shuffle(),
    )
        .prop_map(|((mss, shift, ts, edge), blocks, kinds)| {
            let option = |kind: &i32| match kind {
                0 => Opt::Mss(mss),
                1 => Opt::WindowScale(shift),
                2 => Opt::SackPermitted,
                3 => Opt::Timestamps(ts.0, ts.1),
                4 => Opt::Sack(blocks, edge),
                _ => Opt::Nop,
            };
            encode(&kinds.iter().map(option).collect::<Vec<_>>())
        })
}

fn addresses() -> impl Strategy<Value = (Addr, Addr)> {
    let v4 = |a: u32| Addr(0xffff_0000_0000 | u128::from(a));
    prop_oneof![
        any::<(u32, u32)>().prop_map(move |(a, b)| (v4(a), v4(b))),
        any::<(u128, u128)>().prop_map(|(a, b)| (Addr(a | 1 << 127), Addr(b | 1 << 127))),
    ]
}

fn key() -> impl Strategy<Value = FlowKey> {
    (
        addresses(),
        any::<(u16, u16)>(),
        prop_oneof![
            Just((0, 0)),
            (1..4096u16).prop_map(|v| (v, 0)),
            (1..4096u16, 1..4096u16)
        ],
    )
        .prop_map(
            |((src, dst), (src_port, dst_port), (vlan, inner_vlan))| FlowKey {
                src,
                dst,
                src_port,
                dst_port,
                vlan,
                inner_vlan,
            },
        )
}

pub fn ecn() -> impl Strategy<Value = Ecn> {
    proptest::sample::select(vec![Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce])
}

pub fn spec() -> impl Strategy<Value = FrameSpec> {
    (
        key(),
        any::<(u32, u32, u16, u8)>(),
        0..512u16,
        ecn(),
        options(),
        vec(any::<u8>(), 0..200),
    )
        .prop_map(
            |(key, (seq, ack, window, ttl), flags, ecn, options, payload)| FrameSpec {
                key,
                seq,
                ack,
                flags: Flags(flags),
                window,
                ecn,
                options,
                payload,
                ttl,
                ..FrameSpec::default()
            },
        )
}
