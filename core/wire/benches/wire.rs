//! Cost per packet: parse, rewrite, verify.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use windlass_wire::{
    AckFields, Addr, Editor, Flags, FlowKey, FrameSpec, OptionWriter, Template, Timestamps,
    insert_option, parse, verify_tcp,
};

fn data(key: FlowKey) -> FrameSpec {
    let ts = Timestamps { val: 1, ecr: 2 };
    FrameSpec {
        key,
        options: OptionWriter::new().nop().nop().timestamps(ts).into(),
        payload: vec![0x5a; 1448],
        ..FrameSpec::default()
    }
}

fn v6() -> FlowKey {
    FlowKey {
        src: Addr(0x2001_0db8 << 96 | 1),
        dst: Addr(0x2001_0db8 << 96 | 2),
        ..FrameSpec::default().key
    }
}

/// Without a move of the result, which would cost as much as the parsing.
fn parse_in_place(frame: &[u8]) {
    let _ = black_box(&parse(black_box(frame), frame.len() as u32));
}

fn parsing(c: &mut Criterion) {
    let v4 = FrameSpec::default().key;
    let blocks = [(5, 9), (20, 30), (40, 50)];
    let sack = OptionWriter::new()
        .nop()
        .nop()
        .timestamps(Timestamps::default());
    let frames = [
        ("v4 timestamps", data(v4)),
        ("v4 vlan timestamps", data(FlowKey { vlan: 5, ..v4 })),
        ("v6 timestamps", data(v6())),
        (
            "v4 timestamps and sack",
            FrameSpec {
                options: sack.nop().nop().sack(&blocks).into(),
                ..FrameSpec::default()
            },
        ),
    ];
    for (name, spec) in frames {
        let frame = spec.build();
        c.bench_function(&format!("parse {name}"), |b| {
            b.iter(|| parse_in_place(&frame));
        });
    }
    let frame = data(v4).build_partial();
    c.bench_function("parse v4 partial", |b| {
        b.iter(|| parse_in_place(&frame));
    });
}

fn rewriting(c: &mut Criterion) {
    let mut frame = data(FrameSpec::default().key).build();
    let seg = parse(&frame, frame.len() as u32).unwrap();
    let mut window = 0u16;
    c.bench_function("set_window", |b| {
        b.iter(|| {
            window = window.wrapping_add(1);
            Editor::new(black_box(&mut frame), &seg).set_window(window);
        });
    });
    c.bench_function("set_window, set_ack, set_flags, set_timestamps", |b| {
        b.iter(|| {
            window = window.wrapping_add(1);
            let mut editor = Editor::new(black_box(&mut frame), &seg);
            editor.set_window(window);
            editor.set_ack(u32::from(window));
            editor.set_flags(Flags::ACK);
            editor.set_timestamps(Timestamps {
                val: 7,
                ecr: u32::from(window),
            });
        });
    });
    c.bench_function("insert_option into 1448 bytes", |b| {
        b.iter_batched_ref(
            || [frame.as_slice(), &[0; 8]].concat(),
            |buf| insert_option(buf, frame.len(), &seg, &[4, 2]),
            BatchSize::SmallInput,
        );
    });
    let template = Template::of(&frame, &seg);
    let fields = AckFields {
        flags: Flags::ACK,
        timestamps: Some(Timestamps::default()),
        ..AckFields::default()
    };
    let mut buf = [0; 128];
    c.bench_function("write_ack", |b| {
        b.iter(|| template.write_ack(black_box(&mut buf), black_box(&fields)));
    });
}

fn verifying(c: &mut Criterion) {
    let mut group = c.benchmark_group("verify");
    for payload in [0, 1448, 60_000] {
        let spec = FrameSpec {
            payload: vec![0x5a; payload],
            ..FrameSpec::default()
        };
        let frame = spec.build();
        let seg = parse(&frame, frame.len() as u32).unwrap();
        group.throughput(Throughput::Bytes(20 + payload as u64));
        group.bench_function(format!("{payload} bytes"), |b| {
            b.iter(|| verify_tcp(black_box(&frame), &seg));
        });
    }
}

criterion_group!(benches, parsing, rewriting, verifying);
criterion_main!(benches);
