//! What joins the box with the bridge: two veth pairs. Their outer ends are ports of the Open
//! vSwitch bridge, their inner ends ports of a Linux bridge that forwards when nothing else does.
//!
//! ```text
//! Open vSwitch bridge                              windlass run
//!   wl0-in-sw ──────── wl0-in  ┐                 (takes what it governs
//!                              ├ Linux bridge wl0 from wl0-in and wl0-out)
//!   wl0-out-sw ─────── wl0-out ┘
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::command::Command;
use crate::side::Side;

/// Names tried: `wl0` to `wl99`.
const WIRES: u32 = 100;
/// How the Linux bridge's alias begins; the name of Open vSwitch's bridge follows.
const ALIAS: &str = "windlass: box of Open vSwitch bridge ";
/// A VLAN that no network has: `NORMAL` neither floods to a port of it nor learns from it.
const NO_NETWORK: u16 = 4095;

/// There if the kernel has IPv6.
const IPV6: &str = "/proc/sys/net/ipv6";

/// The interfaces between the bridge and the box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VethPairs {
    name: String,
}

/// The network interfaces of this namespace, as far as they matter here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Links(BTreeMap<String, Link>);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Link {
    up: bool,
    master: Option<String>,
    alias: Option<String>,
}

impl Links {
    /// Asks the kernel.
    pub(crate) fn read() -> Result<Links> {
        Links::parse(&Command::new("ip -json link show").run()?)
    }

    fn parse(said: &str) -> Result<Links> {
        let all: Vec<Value> = serde_json::from_str(said).context("`ip -json link show`")?;
        let text = |link: &Value, key: &str| Some(link.get(key)?.as_str()?.to_owned());
        let links = all.iter().filter_map(|link| {
            let flags = link.get("flags").and_then(Value::as_array);
            let parsed = Link {
                up: flags.is_some_and(|flags| flags.iter().any(|flag| flag == "UP")),
                master: text(link, "master"),
                alias: text(link, "ifalias"),
            };
            Some((text(link, "ifname")?, parsed))
        });
        Ok(Links(links.collect()))
    }
}

impl VethPairs {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> VethPairs {
        VethPairs {
            name: name.to_owned(),
        }
    }

    /// A name of which nothing is there yet, and that no bridge has in its record.
    ///
    /// # Errors
    /// When all are taken.
    pub(crate) fn free(links: &Links, recorded: &[String]) -> Result<VethPairs> {
        let mut wires = (0..WIRES).map(|n| VethPairs::named(&format!("wl{n}")));
        let is_there = |interface: &String| links.0.contains_key(interface);
        wires
            .find(|w| !recorded.contains(&w.name) && !w.interfaces().iter().any(is_there))
            .context("interfaces wl0 to wl99 exist already (`ip link show` lists them)")
    }

    /// The one that was made for this bridge, if the kernel still has it.
    pub(crate) fn of_bridge(bridge: &str, links: &Links) -> Option<VethPairs> {
        let alias = format!("{ALIAS}{bridge}");
        let mut links = links.0.iter();
        let (name, _) = links.find(|(_, link)| link.alias.as_deref() == Some(&alias))?;
        Some(VethPairs::named(name))
    }

    /// The Linux bridge.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The box's interface.
    pub fn interface(&self, side: Side) -> String {
        match side {
            Side::Inside => format!("{}-in", self.name),
            Side::Outside => format!("{}-out", self.name),
        }
    }

    /// The port of the Open vSwitch bridge.
    pub fn port(&self, side: Side) -> String {
        format!("{}-sw", self.interface(side))
    }

    fn interfaces(&self) -> [String; 5] {
        let [inside, outside] = Side::BOTH;
        [
            self.name.clone(),
            self.interface(inside),
            self.interface(outside),
            self.port(inside),
            self.port(outside),
        ]
    }

    /// All is there, joined and up.
    pub(crate) fn is_whole(&self, links: &Links) -> bool {
        let up = |name: &String| links.0.get(name).is_some_and(|link| link.up);
        let joined = |side| {
            let link = links.0.get(&self.interface(side));
            link.is_some_and(|link| link.master.as_ref() == Some(&self.name))
        };
        self.interfaces().iter().all(up) && Side::BOTH.into_iter().all(joined)
    }

    /// Makes all of it, for packets of `mtu` bytes.
    ///
    /// The Linux bridge is a mere wire: it learns no addresses, for one may be on both sides. Tags
    /// and segments are made real on the way out of Open vSwitch, or an XDP program would not see
    /// tags, and see 64 KB at once. One queue: a flow's packets keep their order.
    pub(crate) fn make(&self, bridge: &str, mtu: u32) -> Vec<Command> {
        let name = &self.name;
        // No addresses, and so no packets of their own; the kernel may be one without IPv6.
        let silent = match Path::new(IPV6).exists() {
            true => "addrgenmode none",
            false => "",
        };
        let ip = |line: String| Command::new(&format!("ip link {line}"));
        let mut all = vec![
            ip(format!(
                "add {name} type bridge forward_delay 0 stp_state 0 mcast_snooping 0"
            )),
            ip(format!("set {name} mtu {mtu} {silent} alias")).word(format!("{ALIAS}{bridge}")),
        ];
        for side in Side::BOTH {
            let (inner, outer) = (self.interface(side), self.port(side));
            all.push(ip(format!(
                "add {inner} mtu {mtu} numtxqueues 1 numrxqueues 1 type veth \
                 peer name {outer} mtu {mtu} numtxqueues 1 numrxqueues 1"
            )));
            all.push(Command::new(&format!(
                "ethtool -K {outer} tso off gso off gro off txvlan off tx-vlan-stag-hw-insert off"
            )));
            all.push(ip(format!("set {inner} master {name} {silent}")));
            all.push(ip(format!(
                "set {inner} type bridge_slave learning off flood on mcast_flood on"
            )));
            all.push(ip(format!("set {outer} {silent} up")));
            all.push(ip(format!("set {inner} up")));
        }
        all.push(ip(format!("set {name} up")));
        all
    }

    /// Removes what there is of it.
    pub(crate) fn remove(&self, links: &Links) -> Vec<Command> {
        let [inside, outside] = Side::BOTH.map(|side| self.interface(side));
        let own = [inside, outside, self.name.clone()];
        let there = own.iter().filter(|name| links.0.contains_key(*name));
        there
            .map(|name| Command::new(&format!("ip link del {name}")))
            .collect()
    }

    /// Makes the outer ends ports of the bridge.
    ///
    /// [`NO_NETWORK`] keeps `NORMAL` from flooding into the box. Spanning trees would see
    /// themselves through the wire.
    pub(crate) fn add_ports(&self, bridge: &str) -> Command {
        let mut command = Command::vsctl("--");
        for (n, side) in Side::BOTH.into_iter().enumerate() {
            let port = self.port(side);
            if n > 0 {
                command = command.word("--");
            }
            for word in ["--may-exist", "add-port", bridge, &port] {
                command = command.word(word);
            }
            let settings = [
                format!("tag={NO_NETWORK}"),
                "other_config:stp-enable=false".to_owned(),
                "other_config:rstp-enable=false".to_owned(),
                format!("external_ids:windlass={side}"),
            ];
            for word in settings {
                command = command.word(word);
            }
        }
        command
    }

    /// Takes the outer ends out of the bridge, in the words of ovs-vsctl.
    pub(crate) fn del_ports(&self, bridge: &str) -> Vec<String> {
        let [inside, outside] = Side::BOTH.map(|side| self.port(side));
        let words = [
            "--if-exists",
            "del-port",
            bridge,
            &inside,
            "--",
            "--if-exists",
            "del-port",
            bridge,
            &outside,
        ];
        words.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by iproute2 6.1, shortened.
    const SAID: &str = r#"[
        {"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"]},
        {"ifname":"wl0","flags":["BROADCAST","UP"],"ifalias":"windlass: box of Open vSwitch bridge br0"},
        {"ifname":"wl0-in","flags":["UP"],"master":"wl0","link":"wl0-in-sw"},
        {"ifname":"wl0-in-sw","flags":["UP"],"master":"ovs-system"},
        {"ifname":"wl0-out","flags":["UP"],"master":"wl0"},
        {"ifname":"wl0-out-sw","flags":["UP"]},
        {"ifname":"wl1-out-sw","flags":["UP"]}]"#;

    #[test]
    fn the_first_name_that_nothing_has_is_taken() {
        let links = Links::parse(SAID).unwrap();
        assert_eq!(VethPairs::free(&links, &[]).unwrap().name(), "wl2");
        assert_eq!(
            VethPairs::free(&Links::default(), &[]).unwrap().name(),
            "wl0"
        );
        let recorded = ["wl2".to_owned()];
        assert_eq!(VethPairs::free(&links, &recorded).unwrap().name(), "wl3");
        assert_eq!(
            VethPairs::of_bridge("br0", &links),
            Some(VethPairs::named("wl0"))
        );
        assert_eq!(VethPairs::of_bridge("br", &links), None);
    }

    #[test]
    fn a_wire_is_whole_with_all_of_its_parts() {
        let whole = Links::parse(SAID).unwrap();
        let wire = VethPairs::named("wl0");
        assert!(wire.is_whole(&whole));
        assert_eq!(wire.remove(&whole).len(), 3);
        for part in wire.interfaces() {
            let mut links = whole.clone();
            links.0.get_mut(&part).unwrap().up = false;
            assert!(!wire.is_whole(&links), "{part} is down");
            links.0.remove(&part);
            assert!(!wire.is_whole(&links), "without {part}");
        }
        let mut links = whole;
        links.0.get_mut("wl0-in").unwrap().master = None;
        assert!(!wire.is_whole(&links));
    }

    #[test]
    fn names_fit_an_interface() {
        let longest = VethPairs::named("wl99").port(Side::Outside);
        assert!(longest.len() < 16, "{longest}");
    }
}
