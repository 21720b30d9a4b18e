//! Writes the seeds of the fuzzer's corpus: `cargo run -p windlass-wire --example fuzz_seeds`.

use std::path::Path;
use windlass_wire::{Addr, Ecn, Flags, FlowKey, FrameSpec, OptionWriter, Timestamps};

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire_parse");
    std::fs::create_dir_all(&corpus)?;
    for (link, key) in keys() {
        for (kind, spec) in packets(key) {
            let frame = match kind {
                "partial" => spec.build_partial(),
                _ => spec.build(),
            };
            std::fs::write(corpus.join(format!("{link}-{kind}")), frame)?;
        }
    }
    for (name, frame) in oddities() {
        std::fs::write(corpus.join(name), frame)?;
    }
    Ok(())
}

fn keys() -> [(&'static str, FlowKey); 4] {
    let v4 = FrameSpec::default().key;
    let v6 = FlowKey {
        src: Addr(0x2001_0db8 << 96 | 1),
        dst: Addr(0x2001_0db8 << 96 | 2),
        ..v4
    };
    [
        ("v4", v4),
        ("v4-vlan", FlowKey { vlan: 100, ..v4 }),
        ("v6", v6),
        (
            "v6-qinq",
            FlowKey {
                vlan: 100,
                inner_vlan: 7,
                ..v6
            },
        ),
    ]
}

/// Timestamps of all packets.
const STAMPS: Timestamps = Timestamps {
    val: 1000,
    ecr: 2000,
};

fn stamped() -> OptionWriter {
    OptionWriter::new().nop().nop().timestamps(STAMPS)
}

fn spec(key: FlowKey, flags: Flags, options: OptionWriter, payload: &[u8]) -> FrameSpec {
    FrameSpec {
        key,
        flags,
        options: options.into(),
        payload: payload.to_vec(),
        ecn: Ecn::Ect0,
        ..FrameSpec::default()
    }
}

fn packets(key: FlowKey) -> Vec<(&'static str, FrameSpec)> {
    let syn = OptionWriter::new()
        .mss(1460)
        .sack_permitted()
        .timestamps(STAMPS)
        .nop()
        .window_scale(7);
    let fast_open = OptionWriter::new().mss(1400).fast_open(&[7; 8]);
    let (push, fin) = (Flags::ACK.with(Flags::PSH), Flags::FIN.with(Flags::ACK));
    let end = OptionWriter::new().mss(9).nop().raw(&[0, 9, 9]);
    let strange = OptionWriter::new().raw(&[30, 4, 0, 1, 174, 5, 1, 2, 3]);
    let spec = |flags, options, payload: &[u8]| spec(key, flags, options, payload);
    let mut all = vec![
        ("syn", spec(Flags::SYN, syn, b"")),
        ("fast-open", spec(Flags::SYN, fast_open, b"GET /")),
        ("plain", spec(push, OptionWriter::new(), b"plain payload")),
        ("data", spec(push, stamped(), b"payload with timestamps")),
        ("partial", spec(push, stamped(), b"payload")),
    ];
    for (name, options, payload) in acknowledgements() {
        all.push((name, spec(Flags::ACK, options, payload)));
    }
    all.push(("end", spec(fin, end, b"x")));
    all.push(("strange", spec(Flags(0x1ff), strange, b"")));
    all
}

/// What a receiver says of holes.
fn acknowledgements() -> [(&'static str, OptionWriter, &'static [u8]); 3] {
    let three = stamped().nop().nop().sack(&[(5, 9), (20, 30), (40, 50)]);
    let four = OptionWriter::new().nop().sack(&[(5, 9); 4]).nop();
    let odd = OptionWriter::new().nop().timestamps(STAMPS).sack(&[(1, 2)]);
    [
        ("sack", three, b""),
        ("sack4", four, b""),
        ("odd", odd, b"odd"),
    ]
}

/// Things that the builder does not make.
fn oddities() -> Vec<(&'static str, Vec<u8>)> {
    let v4 = FrameSpec::default();
    let v6 = FrameSpec {
        key: keys()[2].1,
        ..v4.clone()
    };
    let mut padded = v4.build();
    padded.resize(60, 0);
    let mut ip_options = v4.build();
    ip_options.splice(34..34, [0x94, 4, 0, 0]);
    (ip_options[14], ip_options[17]) = (0x46, 44);
    let mut fragment = v4.build();
    fragment[20] = 0x20;
    let mut udp = v4.build();
    udp[23] = 17;
    udp[38..40].copy_from_slice(&[0, 20]);
    let extended = |first: u8, bytes: &[u8]| {
        let mut frame = v6.build();
        frame.splice(54..54, bytes.iter().copied());
        frame[19] += bytes.len() as u8;
        frame[20] = first;
        frame
    };
    vec![
        ("v4-padded", padded),
        ("v4-ip-options", ip_options),
        ("v4-fragment", fragment),
        ("v4-udp", udp),
        (
            "v6-hop-by-hop",
            extended(0, &[60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0]),
        ),
        ("v6-routing", extended(43, &[6, 0, 4, 0, 0, 0, 0, 0])),
        (
            "v6-atomic-fragment",
            extended(44, &[6, 0, 0, 0, 1, 2, 3, 4]),
        ),
    ]
}
