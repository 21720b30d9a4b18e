//! What has to change on the machine, and how it was before.

use std::fs;

use serde::{Deserialize, Serialize};
use windlass_io::interface::Interface;

use super::command;

/// Descriptors of a receive ring that are enough for what a busy machine delays.
const RING_WANTED: u32 = 4096;
/// Compiles BPF programs; without it they are interpreted.
const BPF_JIT: &str = "net.core.bpf_jit_enable";

/// One change, and its undoing. Both are commands, word by word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    pub why: String,
    pub apply: Vec<String>,
    pub restore: Vec<String>,
}

impl Step {
    fn new(why: String, apply: &str, restore: &str) -> Step {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Step {
            why,
            apply: words(apply),
            restore: words(restore),
        }
    }
}

/// The changes that two interfaces and the kernel need.
pub(super) fn steps(interfaces: &[&Interface]) -> Vec<Step> {
    let mut steps = Vec::new();
    for interface in interfaces {
        steps.extend(of_interface(interface));
        let rings = command::output(&["ethtool", "-g", &interface.name]);
        steps.extend(
            rings
                .ok()
                .and_then(|rings| of_ring(&interface.name, &rings)),
        );
    }
    let jit = format!("/proc/sys/{}", BPF_JIT.replace('.', "/"));
    if fs::read_to_string(jit).is_ok_and(|value| value.trim() == "0") {
        steps.push(Step::new(
            "the kernel interprets BPF programs".to_owned(),
            &format!("sysctl -q -w {BPF_JIT}=1"),
            &format!("sysctl -q -w {BPF_JIT}=0"),
        ));
    }
    steps
}

fn of_interface(i: &Interface) -> Vec<Step> {
    let (name, offloads) = (&i.name, &i.offloads);
    let mut steps = Vec::new();
    if !i.up {
        steps.push(Step::new(
            format!("{name} is down"),
            &format!("ip link set dev {name} up"),
            &format!("ip link set dev {name} down"),
        ));
    }
    let merges = "merges segments on their way in";
    let features = [
        ("lro", offloads.lro, merges),
        ("gro", offloads.gro, merges),
        (
            "rxvlan",
            offloads.rx_vlan && i.driver != "veth",
            "takes VLAN tags out of frames",
        ),
    ];
    for (feature, _, what) in features.into_iter().filter(|(_, on, _)| *on) {
        steps.push(Step::new(
            format!("{name} has {feature} on, which {what}"),
            &format!("ethtool -K {name} {feature} off"),
            &format!("ethtool -K {name} {feature} on"),
        ));
    }
    if i.rx_queues > 1 {
        let word = if i.driver == "veth" { "rx" } else { "combined" };
        steps.push(Step::new(
            format!(
                "{name} spreads the two directions of a flow over {} queues",
                i.rx_queues
            ),
            &format!("ethtool -L {name} {word} 1"),
            &format!("ethtool -L {name} {word} {}", i.rx_queues),
        ));
    }
    steps
}

/// `text` is what `ethtool -g` says: the maxima first, then what is set.
fn of_ring(name: &str, text: &str) -> Option<Step> {
    let sizes = text.lines().filter_map(|line| line.strip_prefix("RX:"));
    let mut sizes = sizes.filter_map(|size| size.trim().parse::<u32>().ok());
    let (most, now) = (sizes.next()?, sizes.next()?);
    let wanted = most.min(RING_WANTED);
    (now < wanted).then(|| {
        Step::new(
            format!("the receive ring of {name} has {now} descriptors: bursts do not fit"),
            &format!("ethtool -G {name} rx {wanted}"),
            &format!("ethtool -G {name} rx {now}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_grows_to_what_the_card_has_and_no_further() {
        let text = |most: &str, now: &str| {
            format!(
                "Ring parameters for eth1:\nPre-set maximums:\nRX:\t\t{most}\nRX Mini:\tn/a\nTX:\t\t{most}\n\
                 Current hardware settings:\nRX:\t\t{now}\nRX Mini:\tn/a\nTX:\t\t256\n"
            )
        };
        let step = of_ring("eth1", &text("1024", "256")).unwrap();
        assert_eq!(step.apply, ["ethtool", "-G", "eth1", "rx", "1024"]);
        assert_eq!(step.restore, ["ethtool", "-G", "eth1", "rx", "256"]);
        let large = of_ring("eth1", &text("8192", "512")).unwrap();
        assert_eq!(large.apply[4], "4096");
        for enough in [("1024", "1024"), ("8192", "4096"), ("n/a", "n/a")] {
            assert_eq!(of_ring("eth1", &text(enough.0, enough.1)), None);
        }
    }
}
