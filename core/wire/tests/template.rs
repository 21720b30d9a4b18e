//! ACKs made from other packets.

use windlass_wire::{
    AckFields, Addr, Ecn, Flags, FlowKey, FrameSpec, OptionWriter, SackBlocks, Template,
    Timestamps, parse,
};

fn keys() -> [FlowKey; 2] {
    let v4 = FlowKey {
        vlan: 5,
        inner_vlan: 6,
        ..FrameSpec::default().key
    };
    let v6 = FlowKey {
        src: Addr(0x2001_0db8 << 96 | 1),
        dst: Addr(0x2001_0db8 << 96 | 2),
        ..v4
    };
    [v4, v6]
}

fn sack(count: u8) -> SackBlocks {
    SackBlocks {
        count,
        blocks: [(10, 20), (30, 40), (50, 60), (70, 80)],
    }
}

#[test]
fn an_ack_is_what_the_end_would_have_built() {
    let ts = Timestamps { val: 1, ecr: 2 };
    for key in keys() {
        for (timestamps, blocks) in [(None, 0), (None, 4), (Some(ts), 0), (Some(ts), 3)] {
            let seen = FrameSpec {
                key,
                ecn: Ecn::Ect0,
                ttl: 57,
                payload: b"data".to_vec(),
                options: OptionWriter::new().mss(1460).into(),
                ..FrameSpec::default()
            };
            let frame = seen.build();
            let template = Template::of(&frame, &parse(&frame, frame.len() as u32).unwrap());
            let fields = AckFields {
                seq: 1000,
                ack: 2000,
                flags: Flags::ACK,
                window: 300,
                timestamps,
                sack: sack(blocks),
            };
            let mut options = OptionWriter::new();
            if let Some(ts) = timestamps {
                options = options.nop().nop().timestamps(ts);
            }
            if blocks > 0 {
                options = options
                    .nop()
                    .nop()
                    .sack(&sack(4).blocks[..usize::from(blocks)]);
            }
            let want = FrameSpec {
                ecn: Ecn::NotEct,
                seq: 1000,
                ack: 2000,
                window: 300,
                payload: Vec::new(),
                options: options.into(),
                ..seen
            };
            let mut buf = [0xff; 128];
            let len = template.write_ack(&mut buf, &fields).unwrap();
            assert_eq!(buf[..len], want.build());
        }
    }
}

#[test]
fn only_three_blocks_fit_beside_timestamps() {
    let frame = FrameSpec::default().build();
    let template = Template::of(&frame, &parse(&frame, frame.len() as u32).unwrap());
    let fields = AckFields {
        timestamps: Some(Timestamps::default()),
        sack: sack(4),
        ..AckFields::default()
    };
    let mut buf = [0; 128];
    let len = template.write_ack(&mut buf, &fields).unwrap();
    assert_eq!(len, 14 + 20 + 60);
    let ack = parse(&buf[..len], len as u32).unwrap();
    assert_eq!(
        ack.options.sack.iter().collect::<Vec<_>>(),
        [(10, 20), (30, 40), (50, 60)]
    );
}

#[test]
fn the_ip_header_is_normalised_but_keeps_its_class() {
    let mut frame = FrameSpec::default().build();
    frame[15] = 0xba; // DSCP 46, ECT(0)
    frame.splice(34..34, [0x94, 4, 0, 0]);
    frame[14] = 0x46;
    frame[17] += 4;
    let template = Template::of(&frame, &parse(&frame, frame.len() as u32).unwrap());
    let mut buf = [0; 64];
    assert_eq!(
        template.write_ack(&mut buf, &AckFields::default()),
        Some(54)
    );
    assert_eq!((buf[14], buf[15]), (0x45, 0xb8));
    assert_eq!(buf[18..22], [0, 0, 0x40, 0]);

    let [_, key] = keys();
    let key = FlowKey {
        vlan: 0,
        inner_vlan: 0,
        ..key
    };
    let mut frame = FrameSpec {
        key,
        ..FrameSpec::default()
    }
    .build();
    frame[14..18].copy_from_slice(&[0x6b, 0xb5, 0x43, 0x21]);
    let template = Template::of(&frame, &parse(&frame, frame.len() as u32).unwrap());
    let mut buf = [0; 80];
    assert_eq!(
        template.write_ack(&mut buf, &AckFields::default()),
        Some(74)
    );
    assert_eq!(buf[14..18], [0x6b, 0x85, 0x43, 0x21]);
}
