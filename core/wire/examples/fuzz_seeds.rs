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

fn packets(key: FlowKey) -> Vec<(&'static str, FrameSpec)> {
    let ts = Timestamps {
        val: 1000,
        ecr: 2000,
    };
    let stamped = || OptionWriter::new().nop().nop().timestamps(ts);
    let syn = OptionWriter::new()
        .mss(1460)
        .sack_permitted()
        .timestamps(ts)
        .nop()
        .window_scale(7);
    let spec = |flags: Flags, options: OptionWriter, payload: &[u8]| FrameSpec {
        key,
        flags,
        options: options.into(),
        payload: payload.to_vec(),
        ecn: Ecn::Ect0,
        ..FrameSpec::default()
    };
    let push = Flags::ACK.with(Flags::PSH);
    vec![
        ("syn", spec(Flags::SYN, syn, b"")),
        (
            "fast-open",
            spec(
                Flags::SYN,
                OptionWriter::new().mss(1400).fast_open(&[7; 8]),
                b"GET /",
            ),
        ),
        ("plain", spec(push, OptionWriter::new(), b"plain payload")),
        ("data", spec(push, stamped(), b"payload with timestamps")),
        ("partial", spec(push, stamped(), b"payload")),
        (
            "sack",
            spec(
                Flags::ACK,
                stamped().nop().nop().sack(&[(5, 9), (20, 30), (40, 50)]),
                b"",
            ),
        ),
        (
            "sack4",
            spec(
                Flags::ACK,
                OptionWriter::new().nop().sack(&[(5, 9); 4]).nop(),
                b"",
            ),
        ),
        (
            "odd",
            spec(
                Flags::ACK,
                OptionWriter::new().nop().timestamps(ts).sack(&[(1, 2)]),
                b"odd",
            ),
        ),
        (
            "end",
            spec(
                Flags::FIN.with(Flags::ACK),
                OptionWriter::new().mss(9).nop().raw(&[0, 9, 9]),
                b"x",
            ),
        ),
        (
            "strange",
            spec(
                Flags(0x1ff),
                OptionWriter::new().raw(&[30, 4, 0, 1, 174, 5, 1, 2, 3]),
                b"",
            ),
        ),
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
