//! Both interfaces must be the only ports of one bridge.

use super::{Interface, Problem, bridge_of};
use crate::{bridge, netlink};

/// What is wrong with the bridges of two interfaces.
pub(super) fn bridged(a: &Interface, b: &Interface) -> Vec<Problem> {
    if a.index == b.index {
        return Vec::new();
    }
    match (&a.bridge, &b.bridge) {
        (Some(bridge), Some(other)) if bridge == other => third_ports(bridge, a, b),
        (Some(bridge), Some(other)) => vec![Problem::refusal(
            format!(
                "{} is a port of {bridge} and {} one of {other}: they must be in the same bridge",
                a.name, b.name
            ),
            format!("ip link set {} master {bridge}", b.name),
        )],
        (Some(bridge), None) => vec![alone(a, bridge, b)],
        (None, Some(bridge)) => vec![alone(b, bridge, a)],
        (None, None) => vec![Problem::refusal(
            format!("{} and {} are in no bridge", a.name, b.name),
            new_bridge(&a.name, &b.name),
        )],
    }
}

fn alone(port: &Interface, bridge: &str, other: &Interface) -> Problem {
    Problem::refusal(
        format!(
            "{} is a port of {bridge} and {} of no bridge: they must be in the same bridge",
            port.name, other.name
        ),
        format!("ip link set {} master {bridge}", other.name),
    )
}

/// The commands that make a bridge of both, under a name that is free.
fn new_bridge(a: &str, b: &str) -> String {
    let links = netlink::links().unwrap_or_default();
    let name = bridge::free_name(&links).unwrap_or_else(|| "br0".to_owned());
    format!(
        "ip link add {name} type bridge && ip link set {name} up && \
         ip link set {a} master {name} && ip link set {b} master {name}"
    )
}

fn third_ports(bridge: &str, a: &Interface, b: &Interface) -> Vec<Problem> {
    let links = netlink::links().unwrap_or_default();
    let others = links.iter().filter(|l| {
        bridge_of(&links, l).is_some_and(|m| m.name == bridge)
            && l.index != a.index
            && l.index != b.index
    });
    others
        .map(|other| {
            Problem::refusal(
                format!(
                    "{bridge} has a third port, {}: its traffic would be misled",
                    other.name
                ),
                format!("ip link set {} nomaster", other.name),
            )
        })
        .collect()
}
