//! Every mistake is found where it is, and its remedy named.

use windlass_policy::Config;

/// Text; line and column of the mistake; a part of what is wrong; a part of the remedy.
type Bad = (&'static str, (usize, usize), &'static str, &'static str);

const BAD: &[Bad] = &[
    (
        "version = 1\n[auto]\narms = []\n",
        (3, 8),
        "arms is empty",
        "[\"bbr\", \"cubic\"]",
    ),
    (
        "version = 1\n[auto]\narms = [\"bbr\", \"auto\"]\n",
        (3, 16),
        "unknown algorithm \"auto\"",
        "known: reno",
    ),
    (
        "version = 1\n[auto]\nunsafe = [\"bbr\", \"cubic\", \"bbr3\"]\n",
        (2, 1),
        "0 algorithms to choose among",
        "that are not unsafe",
    ),
    (
        "version = 1\n[auto]\nexplore = 5\n",
        (3, 11),
        "explore is out of range: 5",
        "0 to 1",
    ),
    (
        "version = 1\n[auto]\nfile = \"auto.json\"\n",
        (3, 8),
        "\"auto.json\" is not an absolute path",
        "/var/lib/windlass/auto.json",
    ),
    (
        "version = 1\n[auto]\npriors = \"ordre\"\n",
        (3, 10),
        "unknown priors \"ordre\"",
        "did you mean \"order\"",
    ),
    (
        "version = 1\n[auto]\nprefix_v4 = 33\n",
        (3, 13),
        "prefix_v4 is out of range: 33",
        "0 to 32 bits",
    ),
    (
        "version = 1\n[[rule]]\nalgorithm = \"auto\"\n[[rule.switch]]\nwhen = \"true\"\nalgorithm = \"bbr\"\n",
        (2, 1),
        "auto chooses by experience",
        "leave switch out",
    ),
    (
        "version = 1\n[[rule]]\nmatch = \"sport == '443'\"\n",
        (3, 19),
        "a whole number cannot be compared with a string",
        "write for example 443",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'src == \"10.0.0.1\"'\n",
        (3, 17),
        "an address cannot be compared with a string",
        "ip(\"192.0.2.7\")",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'src.startsWith(\"10.\")'\n",
        (3, 24),
        "startsWith compares the text",
        "interface.startsWith",
    ),
    (
        "version = 1\n[[rule]]\nmatch = \"\"\"\nsport == 443\n&& dprt == 5\"\"\"\n",
        (5, 4),
        "there is no variable \"dprt\" in match",
        "did you mean \"dport\"",
    ),
    (
        "version = 1\n[[rule]]\nmatch = \"src == ip(\\\"10.0.0.1\\\") && dprt == 5\"\n",
        (3, 9),
        "there is no variable \"dprt\" in match",
        "did you mean \"dport\"",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'rtt < duration(\"50ms\")'\n",
        (3, 10),
        "there is no variable \"rtt\" in match",
        "src, dst",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'cidr(\"10.0.0.1/8\").containsIP(src)'\n",
        (3, 15),
        "cidr(\"10.0.0.1/8\") is not understood",
        "write \"10.0.0.0/8\"",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'sport == 443 and vlan == 1'\n",
        (3, 23),
        "not understood",
        "write && for and",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'sport = 443'\n",
        (3, 16),
        "not understood",
        "write == to compare",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'sport'\n",
        (3, 10),
        "sport is no condition",
        "compare it with something",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 443\n",
        (3, 9),
        "match is a string, not an integer",
        "match = \"cidr",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'time > 22'\n",
        (3, 17),
        "a point in time cannot be compared",
        "time.getHours() >= 22",
    ),
    (
        "version = 1\n[[rule]]\nmatch = 'time.getHours(\"CET\") > 5'\n",
        (3, 23),
        "the distance from UTC",
        "+01:00",
    ),
    (
        "version = 1\n[default]\ndwell_ms = 5\n",
        (3, 12),
        "no switch that this is about",
        "add [[rule.switch]]",
    ),
    (
        "version = 1\n[[rule]]\nhysteresis = 0.1\n",
        (3, 14),
        "no switch that this is about",
        "leave this out",
    ),
    (
        "version = 1\n[[rule]]\nswitch = \"bbr\"\n",
        (3, 10),
        "switch is a list",
        "[[rule.switch]]",
    ),
    (
        "version = 1\n[[rule]]\nhysteresis = 1.5\n[[rule.switch]]\nwhen = \"true\"\nalgorithm = \"bbr\"\n",
        (3, 14),
        "hysteresis is out of range: 1.5",
        "0 to 0.9",
    ),
    (
        "version = 1\n[[rule]]\ndwell_ms = -1\n[[rule.switch]]\nwhen = \"true\"\nalgorithm = \"bbr\"\n",
        (3, 12),
        "dwell_ms is out of range: -1",
        "0 to 3600000 ms",
    ),
    (
        "version = 1\n[[rule]]\n[[rule.switch]]\nalgorithm = \"bbr\"\n",
        (3, 1),
        "[[rule.switch]] has no when",
        "loss_ratio > 0.001",
    ),
    (
        "version = 1\n[[rule]]\n[[rule.switch]]\nwhen = \"true\"\n",
        (3, 1),
        "[[rule.switch]] has no algorithm",
        "\"bbr\"",
    ),
    (
        "version = 1\n[[rule]]\n[[rule.switch]]\nwhen = \"rtt < 50\"\nalgorithm = \"bbr\"\n",
        (4, 15),
        "a duration cannot be compared with a whole number",
        "duration(\"50ms\")",
    ),
    (
        "version = 1\n[[rule]]\n[[rule.switch]]\nwhen = \"loss > 0.1\"\nalgorithm = \"bbr\"\n",
        (4, 9),
        "there is no variable \"loss\" in when",
        "loss_ratio",
    ),
    (
        "version = 1\n[[rule]]\n[[rule.switch]]\nwhen = \"true\"\nalgorithm = \"bbrr\"\n",
        (5, 13),
        "unknown algorithm \"bbrr\"",
        "did you mean \"bbr\"",
    ),
    (
        "version = 1\n[[rule]]\n[[rule.switch]]\nwhen = \"true\"\nalgorithm = \"bbr\"\ndwell = 3\n",
        (6, 1),
        "unknown key \"dwell\" in [[rule.switch]]",
        "known: when, algorithm",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\nprefixes = [\"10.0.0.0-8\"]\n",
        (4, 13),
        "is not a prefix",
        "10.0.0.0/8",
    ),
    (
        "version = 1\n[[rule]]\nname = \"a\"\n[[rule]]\nname = \"a\"\n",
        (4, 1),
        "two rules are called \"a\"",
        "a name of its own",
    ),
    (
        "version = 1\n[[tenant]]\ncap_mbit = 5\n",
        (2, 1),
        "[[tenant]] has no name",
        "name = \"blue\"",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"a\"\n",
        (5, 8),
        "two tenants are called \"a\"",
        "a name of its own",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\ncap_mbit = 0\n",
        (4, 12),
        "cap_mbit is out of range: 0",
        "0.01 to",
    ),
    (
        "version = 1\n[[rule]]\ntenant = \"blue\"\n",
        (3, 10),
        "there is no tenant \"blue\"",
        "[[tenant]] with name = \"blue\"",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"blue\"\n[default]\ntenant = \"bleu\"\n",
        (5, 10),
        "there is no tenant \"bleu\"",
        "did you mean \"blue\"",
    ),
    (
        "version = 1\n[default]\nfeedback = \"box\"\n",
        (3, 12),
        "unknown feedback \"box\"",
        "did you mean \"boxes\"",
    ),
    (
        "version = 1\n[default]\npolice = 3\n",
        (3, 10),
        "police is true or false",
        "police = true",
    ),
    (
        "version = 1\n[default]\npolice = { tolerance_bytes = 0 }\n",
        (3, 30),
        "tolerance_bytes is out of range",
        "1 to 1048576 bytes",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\ncap_mbit = 5\n[[rule]]\npriority = 11\n",
        (6, 12),
        "priority is out of range: 11",
        "1 to 10",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\ncap_mbit = 5\n[[rule]]\npriority = 0.5\n",
        (6, 12),
        "priority is",
        "priority = 1",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"b\"\ncap_mbit = 5\n\
         [[rule]]\ntenant = \"a\"\npriority = 2\n",
        (9, 12),
        "its tenant has no limit",
        "cap_mbit",
    ),
    (
        "version = 1\n[default]\npriority = 2\n",
        (3, 12),
        "its tenant has no limit",
        "leave priority out",
    ),
    (
        "version = 1\n[default]\ncap_mbit = \"5\"\n",
        (3, 12),
        "cap_mbit is a number",
        "cap_mbit = 0.01",
    ),
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
    (
        "version = 1\n[default]\nalgorithm = \"cubik\"\n",
        (3, 13),
        "unknown algorithm \"cubik\"",
        "did you mean \"cubic\"? Known: reno, cubic, bbr",
    ),
    (
        "version = 1\n[default]\nalgorithm = 3\n",
        (3, 13),
        "a string",
        "algorithm = \"bbr\"",
    ),
    (
        "version = 1\n[default]\nalgorithm = { beta = 0.5 }\n",
        (3, 13),
        "algorithm has no name",
        "name = \"bbr\"",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"cubic\", betta = 0.5 }\n",
        (3, 31),
        "unknown key \"betta\" in algorithm",
        "did you mean \"beta\"",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"cubic\", beta = 1.5 }\n",
        (3, 38),
        "beta is out of range: 1.5",
        "0.1 to 0.95",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"cubic\", slow_start = \"hystrat\" }\n",
        (3, 44),
        "unknown slow_start \"hystrat\"",
        "did you mean \"hystart\"",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"cubic\", preset = \"abc\" }\n",
        (3, 40),
        "cubic has no preset \"abc\"",
        "did you mean \"abe\"",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"bbr\", preset = \"x\" }\n",
        (3, 38),
        "bbr has no preset \"x\"",
        "leave preset out",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"bbr\", fallback = \"cubic\" }\n",
        (3, 40),
        "bbr is no plugin and needs no fallback",
        "leave fallback out",
    ),
    (
        "version = 1\n[default]\nalgorithm = { name = \"bbr\", probe_rtt_ms = 0.5 }\n",
        (3, 44),
        "probe_rtt_ms is a whole number",
        "probe_rtt_ms = 10",
    ),
    (
        "version = 1\n[default]\nmode = \"enforced\"\n",
        (3, 8),
        "unknown mode",
        "\"enforce\"",
    ),
    (
        "version = 1\n[default]\nheadroom = \"on\"\n",
        (3, 12),
        "true or false",
        "headroom = true",
    ),
    (
        "version = 1\n[default]\nredundancy = \"earl\"\n",
        (3, 14),
        "unknown redundancy",
        "\"early\"? Known: off, repairs, early",
    ),
    (
        "version = 1\n[default]\nredundancy = { repair = true }\n",
        (3, 16),
        "unknown key \"repair\" in redundancy",
        "\"repairs\"",
    ),
    (
        "version = 1\n[default]\nredundancy = { delay_ms = 5000 }\n",
        (3, 27),
        "delay_ms is out of range: 5000",
        "0 to 1000 ms",
    ),
    (
        "version = 1\n[default]\nredundancy = { budget_permille = 1001 }\n",
        (3, 34),
        "budget_permille",
        "0 to 1000 thousandths",
    ),
    (
        "version = 1\n[default]\nports = [80]\n",
        (3, 1),
        "\"ports\" in [default]",
        "algorithm",
    ),
    (
        "version = 1\n[rule]\n",
        (2, 1),
        "rule is a list",
        "[[rule]]",
    ),
    (
        "version = 1\n[[rule]]\nport = [80]\n",
        (3, 1),
        "\"port\" in [[rule]]",
        "\"ports\"",
    ),
    (
        "version = 1\n[[rule]]\nports = 80\n",
        (3, 9),
        "ports is a list",
        "ports = [80, 443]",
    ),
    (
        "version = 1\n[[rule]]\nports = []\n",
        (3, 9),
        "ports is empty",
        "leave ports out",
    ),
    (
        "version = 1\n[[rule]]\nports = [80, 70000]\n",
        (3, 14),
        "70000",
        "1 to 65535",
    ),
    (
        "version = 1\n[[rule]]\nservers = [\"10.0.0.0/8\", \"x\"]\n",
        (3, 26),
        "\"x\"",
        "10.0.0.0/8",
    ),
    (
        "version = 1\n[[rule]]\nclients = [\"10.0.0.0/33\"]\n",
        (3, 12),
        "10.0.0.0/33",
        "0 to 32",
    ),
    (
        "version = 1\n[[rule]]\nclients = [\"10.0.0.1/8\"]\n",
        (3, 12),
        "not a prefix",
        "write \"10.0.0.0/8\"",
    ),
    (
        "version = 1\n[[rule]]\nclients = [\"2001:db8::/129\"]\n",
        (3, 12),
        "/129",
        "0 to 128",
    ),
    (
        "version = 1\n[[rule]]\nvlan = 4095\n",
        (3, 8),
        "vlan is out of range",
        "0 to 4094",
    ),
    (
        "version = 1\n[[rule]]\nsender = \"server\"\n",
        (3, 10),
        "unknown sender",
        "inside, outside",
    ),
    (
        "version = 1\n[[rule]]\ngovern = false\n",
        (2, 1),
        "no rule governs anything",
        "add a [[rule]]",
    ),
    (
        "version = 1\n[[rule]]\nname = \"a\"\n[[rule]]\nalgorithm = \"bbr2\"\n",
        (5, 13),
        "unknown algorithm \"bbr2\"",
        "did you mean",
    ),
];

/// What is not as the row says.
fn complaint(&(text, (line, column), what, help): &Bad) -> Option<String> {
    let error = match Config::parse(text, "w.toml") {
        Ok(config) => return Some(format!("accepted:\n{text}\nas {config:?}")),
        Err(error) => error,
    };
    let shown = error.to_string();
    let source = text.lines().nth(line - 1).unwrap_or("");
    let as_wanted = (error.line, error.column) == (line, column)
        && error.what.contains(what)
        && error.help.contains(help)
        && shown.starts_with(&format!("w.toml:{line}:{column}: "))
        && shown.contains(&format!("{line} | {source}\n"))
        && shown.contains('^');
    (!as_wanted).then(|| format!("{line}:{column}, {what:?}, {help:?} wanted:\n{shown}"))
}

#[test]
fn every_mistake_is_found_and_mended() {
    assert!(BAD.len() >= 40);
    let complaints: Vec<String> = BAD.iter().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn the_whole_message_reads_well() {
    let text = "version = 1\n\n[default]\nalgorithm = \"cubik\"\n";
    let shown = Config::parse(text, "/etc/w.toml").unwrap_err().to_string();
    let (head, tail) = shown.rsplit_once("Known: ").unwrap();
    assert_eq!(
        head,
        "/etc/w.toml:4:13: unknown algorithm \"cubik\"\n  4 | algorithm = \"cubik\"\n    \
         |             ^^^^^^^\n  help: did you mean \"cubic\"? "
    );
    assert!(tail.split(", ").any(|name| name == "reno"));
}

proptest::proptest! {
    /// Whatever the text: an answer with a place inside it, no panic.
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", cut in 0usize..2000) {
        let whole = BAD.iter().map(|(t, ..)| *t).collect::<String>();
        let cut = (0..=cut.min(whole.len())).rev().find(|i| whole.is_char_boundary(*i)).unwrap();
        for text in [text.clone(), format!("{}{text}", &whole[..cut])] {
            if let Err(error) = Config::parse(&text, "f") {
                proptest::prop_assert!(error.line <= text.matches('\n').count() + 1);
                proptest::prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
