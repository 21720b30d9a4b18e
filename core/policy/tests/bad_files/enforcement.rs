//! How far Windlass goes, and tenants.

use super::Bad;

pub const BAD: &[Bad] = &[
    (
        "version = 1\n[[tenant]]\nname = \"a\"\nprefixes = [\"10.0.0.0-8\"]\n",
        (4, 13),
        "is not a prefix",
        "10.0.0.0/8",
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
        "version = 1\n[default]\nungoverned = \"limited\"\n",
        (3, 14),
        "unknown ungoverned \"limited\"",
        "did you mean \"limit\"",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\n[[rule]]\nungoverned = \"limit\"\n",
        (5, 14),
        "no tenant has one",
        "cap_mbit",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\ncap_mbit = 5\nnon_tcp = \"limit\"\n",
        (5, 11),
        "counts what a tenant's addresses send",
        "prefixes and a cap_mbit",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\nprefixes = [\"10.0.0.0/8\"]\ncap_mbit = 5\nnon_tcp = \"limits\"\n",
        (6, 11),
        "unknown non_tcp \"limits\"",
        "did you mean \"limit\"",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\nprefixes = [\"10.0.0.0/8\"]\nunknown_tcp = \"limit\"\n",
        (5, 15),
        "unknown_tcp = \"limit\" counts what a tenant's addresses send",
        "prefixes and a cap_mbit",
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
        "version = 1\n[[rule]]\nalgorithm = \"bbr\"\npolice = true\nguard = true\n",
        (5, 9),
        "police holds for every flow, and the guard leaves some alone",
        "leave guard out, or police",
    ),
    (
        "version = 1\n[[tenant]]\nname = \"a\"\ncap_mbit = 5\n[[rule]]\ntenant = \"a\"\nguard = true\n",
        (7, 9),
        "the tenant's cap_mbit holds for every flow",
        "leave guard out",
    ),
];
