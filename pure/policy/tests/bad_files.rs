//! Every mistake is found where it is, and its remedy named.

use windlass_policy::Config;

/// Text; line and column of the mistake; a part of what is wrong; a part of the remedy.
type Bad = (&'static str, (usize, usize), &'static str, &'static str);

const BAD: &[Bad] = &[
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

#[test]
fn every_mistake_is_found_and_mended() {
    for (text, (line, column), what, help) in BAD {
        let error = match Config::parse(text, "w.toml") {
            Ok(config) => panic!("accepted:\n{text}\nas {config:?}"),
            Err(error) => error,
        };
        let shown = error.to_string();
        assert_eq!(
            (error.line, error.column),
            (*line, *column),
            "{text}\n{shown}"
        );
        assert!(error.what.contains(what), "{shown}\nlacks {what:?}");
        assert!(error.help.contains(help), "{shown}\nlacks {help:?}");
        assert!(
            shown.starts_with(&format!("w.toml:{line}:{column}: ")),
            "{shown}"
        );
        let source = text.lines().nth(line - 1).unwrap_or("");
        assert!(shown.contains(&format!("{line} | {source}\n")), "{shown}");
        assert!(shown.contains('^'), "{shown}");
    }
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
