//! `[auto]`, and how an algorithm is named and set.

use super::Bad;

pub const BAD: &[Bad] = &[
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
        "no algorithm to choose",
        "that is not unsafe",
    ),
    (
        "version = 1\n[auto]\narms = [\"observe\"]\n",
        (3, 8),
        "no algorithm to choose",
        "one at least is an algorithm",
    ),
    (
        "version = 1\n[auto]\narms = [\"reno\", \"cubic\", \"bbr\", \"bic\", \"veno\", \"yeah\", \"vegas\", \"fast\", \"observe\"]\n",
        (3, 8),
        "9 arms to choose among",
        "write 1 to 8",
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
];
