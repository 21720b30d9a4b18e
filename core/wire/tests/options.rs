//! TCP options: every kind, wrong ones, and where they are.

use windlass_wire::{FrameSpec, SackBlocks, Segment, TcpOptions, Timestamps, Unparsed, parse};

/// A frame whose header has just these options, filled up with `filler`.
fn with_options(options: &[u8], filler: u8) -> Result<Segment, Unparsed> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), filler);
    let spec = FrameSpec {
        options,
        ..FrameSpec::default()
    };
    let frame = spec.build();
    parse(&frame, frame.len() as u32)
}

#[test]
fn every_kind_of_option() {
    let none = TcpOptions::default();
    let ts = Timestamps {
        val: 0x0102_0304,
        ecr: 0x0506_0708,
    };
    let mut sack = SackBlocks {
        count: 2,
        ..SackBlocks::default()
    };
    sack.blocks[..2].copy_from_slice(&[(1, 2), (3, 4)]);
    let mut md5 = vec![19, 18];
    md5.extend([7; 16]);
    let table: Vec<(Vec<u8>, TcpOptions)> = vec![
        (vec![], none),
        (vec![1, 1, 1, 1], none),
        (vec![0, 2, 99, 99], none),
        (
            vec![2, 4, 5, 180],
            TcpOptions {
                mss: Some(1460),
                ..none
            },
        ),
        (
            vec![3, 3, 14],
            TcpOptions {
                window_scale: Some(14),
                ..none
            },
        ),
        (
            vec![4, 2],
            TcpOptions {
                sack_permitted: true,
                ..none
            },
        ),
        (
            vec![5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4],
            TcpOptions { sack, ..none },
        ),
        (
            vec![8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
            TcpOptions {
                timestamps: Some(ts),
                ..none
            },
        ),
        (
            vec![1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
            TcpOptions {
                timestamps: Some(ts),
                ..none
            },
        ),
        (
            vec![34, 2],
            TcpOptions {
                fast_open: true,
                ..none
            },
        ),
        (
            vec![34, 6, 1, 2, 3, 4],
            TcpOptions {
                fast_open: true,
                ..none
            },
        ),
        (
            vec![254, 4, 0xf9, 0x89],
            TcpOptions {
                fast_open: true,
                ..none
            },
        ),
        (
            vec![253, 8, 0xf9, 0x89, 1, 2, 3, 4],
            TcpOptions {
                fast_open: true,
                ..none
            },
        ),
        (
            vec![254, 4, 0xe2, 0xd4],
            TcpOptions {
                unknown: true,
                ..none
            },
        ),
        (
            vec![253, 2],
            TcpOptions {
                unknown: true,
                ..none
            },
        ),
        (
            vec![30, 4, 0, 0x81],
            TcpOptions {
                mptcp: true,
                ..none
            },
        ),
        (md5, TcpOptions { md5: true, ..none }),
        (
            vec![29, 16, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            TcpOptions { ao: true, ..none },
        ),
        // AccECN orders 0 and 1, and a kind nobody has assigned.
        (
            vec![172, 11, 0, 0, 1, 0, 0, 1, 0, 0, 1],
            TcpOptions {
                unknown: true,
                ..none
            },
        ),
        (
            vec![174, 5, 0, 0, 1],
            TcpOptions {
                unknown: true,
                ..none
            },
        ),
        (
            vec![99, 2],
            TcpOptions {
                unknown: true,
                ..none
            },
        ),
        (
            vec![1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 4, 2],
            TcpOptions {
                timestamps: Some(ts),
                sack_permitted: true,
                ..none
            },
        ),
    ];
    for (bytes, want) in table {
        for filler in [0, 1] {
            let seg = with_options(&bytes, filler).unwrap_or_else(|e| panic!("{bytes:?}: {e:?}"));
            assert_eq!(seg.options, want, "{bytes:?}");
        }
    }
}

#[test]
fn wrong_option_lengths() {
    let table: &[&[u8]] = &[
        &[2, 3, 0],
        &[2, 4, 5, 180, 3, 4, 7, 1],
        &[4, 3, 0],
        &[5, 2],
        &[5, 9, 0, 0, 0, 0, 0, 0, 0],
        &[8, 9, 0, 0, 0, 0, 0, 0, 0],
        &[19, 3, 0],
        &[29, 3, 0],
        &[30, 2],
        &[34, 5, 0, 0, 0],
        &[99, 0, 1, 1],
        &[99, 1, 1, 1],
        &[99, 5, 1, 1],
        &[1, 1, 1, 99],
        &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 2, 5, 0, 0],
    ];
    for bytes in table {
        assert_eq!(
            with_options(bytes, 1),
            Err(Unparsed::Malformed("option length")),
            "{bytes:?}"
        );
    }
}

#[test]
fn places_of_options() {
    let seg = with_options(&[1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0], 1).unwrap();
    assert_eq!((seg.at.ip, seg.at.tcp, seg.at.payload), (14, 34, 66));
    assert_eq!((seg.at.timestamps, seg.at.sack), (58, 0));
    let seg = with_options(&[1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1], 1).unwrap();
    assert_eq!((seg.at.timestamps, seg.at.sack), (0, 55));
}

#[test]
fn repeated_options_are_refused() {
    let repeated = Err(Unparsed::Malformed("option repeated"));
    let aligned = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(with_options(&aligned.repeat(2), 1), repeated);
    assert_eq!(with_options(&[2, 4, 5, 180].repeat(2), 1), repeated);
    assert_eq!(
        with_options(&[5, 10, 0, 0, 0, 1, 0, 0, 0, 2].repeat(2), 1),
        repeated
    );
    assert_eq!(with_options(&[3, 3, 7].repeat(2), 1), repeated);
}
