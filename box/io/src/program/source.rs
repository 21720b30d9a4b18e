//! What stands in the XDP program's source and object is what the rest says.

use windlass_wire::{EXTENSION_BYTES_MAX, EXTENSION_HEADERS_MAX, LINK_LAYERS_MAX};

use super::QUEUES_PER_SIDE;

#[test]
fn both_have_the_same_limits() {
    let source = concat!(
        include_str!("../../bpf/wire/limits.h"),
        include_str!("../../bpf/settings.h")
    );
    let defined = |name: &str| -> usize {
        let mut lines = source.lines();
        let value = lines.find_map(|line| {
            let mut words = line.strip_prefix("#define ")?.split_whitespace();
            (words.next() == Some(name)).then(|| words.next())?
        });
        value.and_then(|value| value.parse().ok()).expect(name)
    };
    assert_eq!(defined("LINK_LAYERS_MAX"), LINK_LAYERS_MAX);
    assert_eq!(defined("EXTENSION_HEADERS_MAX"), EXTENSION_HEADERS_MAX);
    assert_eq!(defined("EXTENSION_BYTES_MAX"), EXTENSION_BYTES_MAX);
    assert_eq!(defined("OUTSIDE_FIRST"), QUEUES_PER_SIDE as usize);
    assert_eq!(defined("MAX_SOCKETS"), 2 * QUEUES_PER_SIDE as usize);
}

/// Where there is no clang, what is committed is what runs. `build.rs` puts the hash of the source into the object.
#[test]
fn the_committed_object_is_of_the_committed_source() {
    let object = include_bytes!("../../bpf/windlass.bpf.o");
    let mark = concat!("windlass source ", env!("WINDLASS_XDP_SOURCE_HASH"));
    assert!(
        object
            .windows(mark.len())
            .any(|bytes| bytes == mark.as_bytes()),
        "build, and copy windlass.bpf.o from OUT_DIR over box/io/bpf/windlass.bpf.o"
    );
}
