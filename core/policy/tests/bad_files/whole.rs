//! The file as a whole, `[box]` and `[limits]`.

use super::Bad;

pub const BAD: &[Bad] = &[
    ("", (1, 1), "no version", "version = 1"),
    ("[box]\n", (1, 1), "no version", "first line"),
    ("version = 2\n", (1, 11), "version 2", "version = 1"),
    ("version = \"1\"\n", (1, 11), "whole number", "version = 1"),
    ("version = 1\nversion = 1\n", (2, 1), "duplicate", "TOML"),
    ("version = 1\n[box\n", (2, 5), "", "TOML"),
    (
        "version = 1\nalgoritm = \"bbr\"\n",
        (2, 1),
        "unknown key \"algoritm\"",
        "version",
    ),
    (
        "version = 1\n[boxx]\n",
        (2, 2),
        "unknown key \"boxx\"",
        "did you mean \"box\"",
    ),
    (
        "version = 1\nbox = 3\n",
        (2, 7),
        "[box] is a table",
        "on a line of its own",
    ),
    (
        "version = 1\n[box]\ninsde = \"a\"\n",
        (3, 1),
        "\"insde\" in [box]",
        "did you mean \"inside\"",
    ),
    (
        "version = 1\n[box]\ninside = 5\n",
        (3, 10),
        "a string, not an integer",
        "inside = \"eth0\"",
    ),
    (
        "version = 1\n[box]\ninside = \"much-too-long-a-name\"\n",
        (3, 10),
        "name of an interface",
        "ip link show",
    ),
    (
        "version = 1\n[box]\ninside = \"a\"\noutside = \"a\"\n",
        (4, 11),
        "same interface",
        "other side",
    ),
    (
        "version = 1\n[box]\nframes = 12\n",
        (3, 10),
        "frames is out of range: 12",
        "8192 to",
    ),
    (
        "version = 1\n[box]\nframe_size = 3000\n",
        (3, 14),
        "frame_size",
        "2048 or 4096",
    ),
    (
        "version = 1\n[box]\nmode = \"nativ\"\n",
        (3, 8),
        "unknown mode",
        "did you mean \"native\"",
    ),
    (
        "version = 1\n[box]\ncontrol_socket = \"run/w.sock\"\n",
        (3, 18),
        "absolute",
        "/run/windlass",
    ),
    (
        "version = 1\n[limits]\nflows = 0\n",
        (3, 9),
        "out of range: 0",
        "1 to 16777216 flows",
    ),
    (
        "version = 1\n[limits]\nmemory_mb = 0\n",
        (3, 13),
        "out of range: 0",
        "1 to 1048576 MB",
    ),
    (
        "version = 1\n[limits]\nsyns_per_second = -1\n",
        (3, 19),
        "out of range: -1",
        "0 to 10000000 SYNs a second",
    ),
    (
        "version = 1\n[limits]\nhalf_open = 0\n",
        (3, 13),
        "out of range: 0",
        "1 to 16777216 handshakes",
    ),
    (
        "version = 1\n[limits]\nsegments_total = 2_000_000_000\n",
        (3, 18),
        "out of range: 2000000000",
        "1 to 1073741824 segments",
    ),
    (
        "version = 1\n[limits]\nflows = -4\n",
        (3, 9),
        "out of range: -4",
        "flows",
    ),
    (
        "version = 1\n[limits]\nflows = 1.5\n",
        (3, 9),
        "not a float",
        "flows = 1",
    ),
    (
        "version = 1\n[limits]\nheld_bytes_total = 10\n",
        (3, 20),
        "out of range",
        "bytes",
    ),
    (
        "version = 1\n[limits]\nidle_timeout = 60\n",
        (3, 1),
        "unknown key \"idle_timeout\" in [limits]",
        "did you mean \"idle_timeout_s\"",
    ),
    (
        "version = 1\n[limits]\nidle_timeout_s = 0\n",
        (3, 18),
        "out of range",
        "1 to 604800 s",
    ),
];
