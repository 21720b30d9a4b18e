//! What must be true of the two interfaces, and the command for each thing that is not.

use std::io;

use super::Interface;
use super::bridging::bridged;
use crate::netlink;

/// What every host must be able to receive in one piece (RFC 791), bytes.
const MTU_MIN: u32 = 576;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Works, but some flows may go by the bridge, ungoverned.
    Warning,
    /// Cannot work; [`Session::open`](crate::Session::open) refuses.
    Refusal,
}

/// Something about the interfaces that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// What puts it right: a command, or the flag to give.
    pub fix: String,
}

impl Problem {
    pub(crate) fn refusal(what: String, fix: String) -> Problem {
        Problem {
            severity: Severity::Refusal,
            what,
            fix,
        }
    }

    fn warning(what: String, fix: String) -> Problem {
        Problem {
            severity: Severity::Warning,
            what,
            fix,
        }
    }
}

/// What keeps AF_XDP from working between two interfaces. Empty: nothing.
///
/// What the interfaces' peers do cannot be seen from here: with veth, the peer's TSO (in generic
/// mode; native mode turns it off) shows as [`passed_too_long`](crate::XdpCounters), and the
/// peer's `txvlan` takes VLAN tags out of frames before any program sees them.
pub fn check(inside: &str, outside: &str) -> Vec<Problem> {
    match both(inside, outside) {
        Ok((a, b)) => [bridged(&a, &b), links(&a, &b)].concat(),
        Err(problems) => problems,
    }
}

/// The part of [`check`] that has nothing to do with their bridge.
pub fn check_links(inside: &str, outside: &str) -> Vec<Problem> {
    match both(inside, outside) {
        Ok((a, b)) => links(&a, &b),
        Err(problems) => problems,
    }
}

fn links(a: &Interface, b: &Interface) -> Vec<Problem> {
    let mut problems = common(a, b);
    for i in [a, b] {
        let name = &i.name;
        if i.offloads.rx_vlan && i.driver != "veth" {
            problems.push(Problem::refusal(
                format!("{name} takes VLAN tags out of received frames: they would be lost"),
                format!("ethtool -K {name} rxvlan off"),
            ));
        }
        if i.offloads.gro {
            problems.push(Problem::warning(
                format!("{name} has GRO on: in generic mode its merged segments are not governed"),
                format!("ethtool -K {name} gro off"),
            ));
        }
        if i.rx_queues > 1 {
            problems.push(Problem::warning(
                format!(
                    "{name} spreads packets over {} queues: the two directions of a flow may come \
                     to different workers, and such flows are not governed",
                    i.rx_queues
                ),
                format!("ethtool -L {name} {} 1", channel_word(i)),
            ));
        }
    }
    problems
}

/// What keeps AF_PACKET from working between two interfaces. Empty: nothing.
pub fn check_packet(inside: &str, outside: &str) -> Vec<Problem> {
    let (a, b) = match both(inside, outside) {
        Ok(both) => both,
        Err(problems) => return problems,
    };
    let mut problems = common(&a, &b);
    for i in [&a, &b] {
        if let Some(bridge) = &i.bridge {
            problems.push(Problem::refusal(
                format!(
                    "{} is a port of {bridge}, which would forward every frame twice",
                    i.name
                ),
                format!("ip link set {} nomaster", i.name),
            ));
        }
    }
    problems
}

fn channel_word(i: &Interface) -> &'static str {
    match i.driver.as_str() {
        "veth" => "rx",
        _ => "combined",
    }
}

fn both(inside: &str, outside: &str) -> Result<(Interface, Interface), Vec<Problem>> {
    let sides = [("--inside", inside), ("--outside", outside)];
    let [a, b] = sides.map(|(_, name)| Interface::get(name));
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => {
            let failed = sides.into_iter().zip([a.err(), b.err()]);
            let failed = failed.filter_map(|(side, e)| Some((side, e?)));
            Err(failed
                .map(|((flag, name), e)| unusable(flag, name, &e, &[inside, outside]))
                .collect())
        }
    }
}

/// An interface that cannot be looked at. Only `ENODEV` says that there is none.
fn unusable(flag: &str, name: &str, error: &io::Error, taken: &[&str]) -> Problem {
    let (what, fix) = match error.raw_os_error() {
        Some(libc::ENODEV) => (
            format!("there is no interface {name} in this network namespace"),
            other_name(flag, taken),
        ),
        Some(libc::EMFILE | libc::ENFILE) => (
            format!("interface {name} cannot be looked at: {error}"),
            "ulimit -n 65536 (or LimitNOFILE=65536 in the unit of systemd)".to_owned(),
        ),
        _ => (
            format!("interface {name} cannot be looked at: {error}"),
            "make room if memory is what lacks, then try again".to_owned(),
        ),
    };
    Problem::refusal(what, fix)
}

/// The interfaces that may be one of the two: neither a loopback interface nor a bridge.
///
/// # Errors
/// The kernel cannot be asked.
pub fn usable_names() -> io::Result<Vec<String>> {
    let usable = |l: &netlink::Link| l.flags & libc::IFF_LOOPBACK as u32 == 0 && l.kind != "bridge";
    let links = netlink::links()?.into_iter();
    Ok(links.filter(usable).map(|l| l.name).collect())
}

/// The flag with the names that it may be given.
fn other_name(flag: &str, taken: &[&str]) -> String {
    let mut names = usable_names().unwrap_or_default();
    names.retain(|name| !taken.contains(&name.as_str()));
    match names.as_slice() {
        [] => format!("{flag} NAME (there is no other interface here yet: make one first)"),
        [name] => format!("{flag} {name}"),
        names => format!("{flag} NAME (one of {})", names.join(", ")),
    }
}

fn common(a: &Interface, b: &Interface) -> Vec<Problem> {
    let mut problems = Vec::new();
    let taken = [a.name.as_str(), b.name.as_str()];
    if a.index == b.index {
        problems.push(Problem::refusal(
            format!("{} is named as both interfaces", a.name),
            other_name("--outside", &taken),
        ));
        return problems;
    }
    for (flag, i) in [("--inside", a), ("--outside", b)] {
        let name = &i.name;
        if i.loopback {
            problems.push(Problem::refusal(
                format!("{name} is the loopback interface"),
                other_name(flag, &taken),
            ));
        }
        if !i.up {
            problems.push(Problem::refusal(
                format!("{name} is down"),
                format!("ip link set {name} up"),
            ));
        }
        if i.offloads.lro {
            problems.push(Problem::refusal(
                format!("{name} has LRO on, which merges segments beyond repair"),
                format!("ethtool -K {name} lro off gro off"),
            ));
        }
    }
    problems.extend(mtu_problems([(&a.name, a.mtu), (&b.name, b.mtu)]));
    problems
}

/// What is wrong with the MTUs of two interfaces.
pub fn mtu_problems(sides: [(&str, u32); 2]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let [(a, a_mtu), (b, b_mtu)] = sides;
    let larger = a_mtu.max(b_mtu);
    for (name, mtu) in sides.into_iter().filter(|(_, mtu)| *mtu < MTU_MIN) {
        let wanted = if larger < MTU_MIN { 1500 } else { larger };
        problems.push(Problem::refusal(
            format!("{name} has an MTU of {mtu} bytes, and Windlass needs {MTU_MIN}"),
            format!("ip link set {name} mtu {wanted}"),
        ));
    }
    if a_mtu != b_mtu && problems.is_empty() {
        let large = if a_mtu > b_mtu { a } else { b };
        problems.push(Problem::refusal(
            format!(
                "{a} has an MTU of {a_mtu} bytes and {b} one of {b_mtu}: what is longer than the smaller \
                 would be lost between them"
            ),
            format!("ip link set {large} mtu {}", a_mtu.min(b_mtu)),
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtus_that_differ_or_are_too_small_come_with_the_command() {
        let found = |a, b| -> Vec<String> {
            let problems = mtu_problems([("m0", a), ("m1", b)]);
            problems.into_iter().map(|p| p.fix).collect()
        };
        assert!(found(1500, 1500).is_empty() && found(576, 576).is_empty());
        assert_eq!(found(9000, 1500), ["ip link set m0 mtu 1500"]);
        assert_eq!(found(1280, 1500), ["ip link set m1 mtu 1280"]);
        // The small one is wrong, not the other.
        assert_eq!(found(1500, 300), ["ip link set m1 mtu 1500"]);
        assert_eq!(
            found(300, 300),
            ["ip link set m0 mtu 1500", "ip link set m1 mtu 1500"]
        );
    }

    #[test]
    fn only_enodev_says_that_there_is_no_interface() {
        let error = |code| unusable("--inside", "m9", &io::Error::from_raw_os_error(code), &[]);
        let none = error(libc::ENODEV);
        assert!(none.what.contains("there is no interface m9"), "{none:?}");
        assert!(none.fix.starts_with("--inside "), "{none:?}");
        let full = error(libc::EMFILE);
        assert!(full.what.contains("cannot be looked at"), "{full:?}");
        assert!(full.fix.contains("ulimit -n"), "{full:?}");
    }
}
