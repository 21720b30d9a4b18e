use windlass_wire::Addr;

use super::*;
use core::net::IpAddr;

/// A path: `rtt` 80 ms and so on, in the order of [`PATH`].
struct Path {
    numbers: [f64; 8],
    app_limited: bool,
}

impl Facts for Path {
    fn number(&self, variable: u8) -> f64 {
        self.numbers[usize::from(variable)]
    }

    fn flag(&self, _: u8) -> bool {
        self.app_limited
    }

    fn text(&self, _: u8) -> &str {
        unreachable!("no path has names")
    }

    fn address(&self, _: u8) -> Addr {
        unreachable!("no path has addresses")
    }
}

fn path(rtt_ms: f64, loss: f64) -> Path {
    Path {
        numbers: [rtt_ms * 1e6, 40e6, 2e6, loss, 0.25, 50e6, 3e6, 10e9],
        app_limited: true,
    }
}

fn holds(text: &str, rtt_ms: f64, loss: f64, ease: f64) -> bool {
    let condition = compile(text, &PATH).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    condition.holds(&path(rtt_ms, loss), ease)
}

/// Of a path with 80 ms and 1 % loss.
#[test]
fn expressions_mean_what_cel_says() {
    for (text, wanted) in [
        ("rtt < duration('50ms')", false),
        ("rtt == duration('0.08s')", true),
        ("duration('1m30s') > rtt", true),
        ("rtt - min_rtt > duration('39ms')", true),
        ("rtt - min_rtt > duration('41ms')", false),
        ("min_rtt + duration('10ms') <= duration('50ms')", true),
        ("loss_ratio > 0.001 && rtt > duration('50ms')", true),
        ("loss_ratio > 0.02 || rtt < duration('50ms')", false),
        ("!(loss_ratio > 0.02 || rtt < duration('50ms'))", true),
        ("!(loss_ratio <= 0.02 && !(rtt < duration('50ms')))", false),
        ("app_limited", true),
        ("!app_limited || false", false),
        ("app_limited == false", false),
        ("app_limited != false", true),
        ("bytes_acked / 7 * 7 == 2999997", true),
        ("bytes_acked % 7 == 3", true),
        ("-bytes_acked < 0", true),
        ("delivery_rate * 2.0 >= 100e6", true),
        ("delivery_rate > 49000000", true),
        ("bytes_acked in [1, 3000000]", true),
        ("!(bytes_acked in [1, 3000000])", false),
        ("ce_ratio < 0.3 && age >= duration('10s')", true),
        ("true", true),
    ] {
        assert_eq!(holds(text, 80.0, 0.01, 0.0), wanted, "{text}");
    }
}

/// A bound gives way for the condition in force, in the direction that keeps it in force, also
/// through negations and with the sides exchanged.
#[test]
fn what_is_in_force_is_eased() {
    for text in [
        "rtt < duration('50ms')",
        "duration('50ms') > rtt",
        "!(rtt >= duration('50ms'))",
        "!(duration('50ms') <= rtt || loss_ratio > 0.5)",
        "rtt < duration('20ms') + duration('30ms')",
    ] {
        assert!(!holds(text, 54.0, 0.0, 0.0), "{text}");
        assert!(holds(text, 54.0, 0.0, 0.1), "{text}");
        assert!(!holds(text, 56.0, 0.0, 0.1), "{text}");
    }
    for text in ["loss_ratio >= 0.01", "!(loss_ratio < 0.01)"] {
        assert!(!holds(text, 54.0, 0.0095, 0.0), "{text}");
        assert!(holds(text, 54.0, 0.0095, 0.1), "{text}");
        assert!(!holds(text, 54.0, 0.0085, 0.1), "{text}");
    }
}

struct Flow;

impl Facts for Flow {
    fn number(&self, variable: u8) -> f64 {
        // Ports, VLAN, and Saturday, 2026-11-21, 22:15:30 UTC.
        [
            0.0,
            0.0,
            443.0,
            55_000.0,
            12.0,
            0.0,
            0.0,
            0.0,
            1_795_299_330e9,
        ][usize::from(variable)]
    }

    fn flag(&self, _: u8) -> bool {
        unreachable!("no flow has flags")
    }

    fn text(&self, variable: u8) -> &str {
        ["", "", "", "", "", "lan0", "inside", "blue"][usize::from(variable)]
    }

    fn address(&self, variable: u8) -> Addr {
        let text = ["10.1.2.3", "2001:db8::7"][usize::from(variable)];
        text.parse::<IpAddr>().unwrap().into()
    }
}

#[test]
fn flows_are_matched_by_addresses_names_and_the_clock() {
    for (text, wanted) in [
        ("cidr('10.0.0.0/8').containsIP(src)", true),
        ("!cidr('10.0.0.0/8').containsIP(src)", false),
        ("cidr('10.0.0.0/8').containsIP(dst)", false),
        ("src == ip('10.1.2.3')", true),
        ("src != ip('10.1.2.4') && src != dst", true),
        ("dst in [ip('2001:db8::6'), ip('2001:db8::7')]", true),
        ("sport in [80, 443] && dport > 1024", true),
        ("vlan == 12", true),
        (
            "interface.startsWith('lan') && !interface.endsWith('1')",
            true,
        ),
        (
            "interface.contains('wan') || tenant in ['red', 'green']",
            false,
        ),
        ("tenant == \"blue\" && side != 'outside'", true),
        ("time.getHours() == 22 && time.getMinutes() == 15", true),
        (
            "time.getHours('+02:00') == 0 && time.getDayOfWeek('+02:00') == 0",
            true,
        ),
        (
            "time.getDayOfWeek() == 6 && time.getHours('-05:30') == 16",
            true,
        ),
    ] {
        let condition = compile(text, &FLOW).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert_eq!(condition.holds(&Flow, 0.0), wanted, "{text}");
    }
}

/// Text; what the mistake's place covers; part of what is wrong; part of the remedy.
#[test]
fn mistakes_are_found_where_they_are() {
    for (text, place, what, help) in [
        (
            "rtt < 50",
            "50",
            "a duration cannot be compared with a whole number",
            "duration(\"50ms\")",
        ),
        (
            "0.1 > rtt",
            "0.1",
            "cannot be compared",
            "duration(\"50ms\")",
        ),
        (
            "rttt < duration('5ms')",
            "rttt",
            "no variable \"rttt\"",
            "did you mean \"rtt\"",
        ),
        ("rtt", "rtt", "rtt is no condition", "compare it"),
        ("rtt <", "", "ends too early", "CEL expression"),
        ("", "", "ends too early", "CEL expression"),
        (
            "rtt < duration('5 ms')",
            "'5 ms'",
            "not understood",
            "\"50ms\"",
        ),
        (
            "rtt < duration(5)",
            "(",
            "one constant string",
            "duration(\"50ms\")",
        ),
        ("app_limited and true", "and", "not understood", "&&"),
        ("loss_ratio = 0.1", "=", "not understood", "=="),
        ("max(rtt)", "(", "no function \"max\"", "known: duration"),
        ("[1].exists(x, x == 1)", "(", "macros", "&&"),
        ("age in [1]", "1", "cannot be compared", "duration"),
        ("bytes_acked in 5", "5", "in wants a list", "[80, 443]"),
        (
            "bytes_acked + 1.0 > 5.0",
            "+",
            "cannot be joined",
            "1.0 for 1",
        ),
        ("rtt.x == 1", ".", "no field \"x\"", "rtt"),
        ("app_limited ? true : false", "?", "not known here", "&&"),
        ("loss_ratio > null", "null", "null", "numbers"),
    ] {
        let mistake = compile(text, &PATH).expect_err(text);
        assert!(mistake.what.contains(what), "{text}: {mistake:?}");
        assert!(mistake.help.contains(help), "{text}: {mistake:?}");
        let covered: String = text
            .chars()
            .skip(mistake.at.start)
            .take(mistake.at.len())
            .collect();
        assert_eq!(covered, place, "{text}: {mistake:?}");
    }
    let deep = format!("{}true{}", "(".repeat(200), ")".repeat(200));
    assert!(compile(&deep, &PATH).is_err(), "nesting has a limit");
}
