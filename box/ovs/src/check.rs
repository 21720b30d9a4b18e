//! What must be so before attaching, and what had better be.

use anyhow::{Result, anyhow, bail};

use crate::attach::Request;
use crate::attachment::{self, Attachment, State};
use crate::database::{Bridge, Port};
use crate::side::Side;
use crate::traffic::Traffic;
use crate::veth_pairs::VethPairs;

/// Of a bridge whose ports say nothing, bytes.
const DEFAULT_MTU: u32 = 1500;
/// Where the kernel says whether it has bridges ask iptables.
const BRIDGE_NETFILTER: [(&str, &str); 2] = [
    ("iptables", "/proc/sys/net/bridge/bridge-nf-call-iptables"),
    ("ip6tables", "/proc/sys/net/bridge/bridge-nf-call-ip6tables"),
];

/// That both of the wire's ports work.
pub(crate) fn check_ports(bridge: &Bridge, wire: &VethPairs) -> Result<()> {
    for side in Side::BOTH {
        let name = wire.port(side);
        let port = bridge.port(&name);
        let interface = port.and_then(|p| p.interfaces.first());
        let works = interface.is_some_and(|i| i.number.is_some());
        if !works {
            let said = interface.and_then(|i| i.error.clone());
            let said = said.unwrap_or_else(|| "it has got no number".to_owned());
            bail!(
                "ovs-vswitchd cannot use the port {name}: {said} (is it in another network \
                 namespace than this command?)"
            );
        }
    }
    Ok(())
}

/// For frames of all ports of the bridge.
pub(crate) fn mtu(bridge: &Bridge) -> u32 {
    let interfaces = bridge.ports.iter().flat_map(|p| &p.interfaces);
    interfaces
        .filter_map(|i| i.mtu)
        .max()
        .unwrap_or(DEFAULT_MTU)
}

/// That nothing of an attachment is recorded.
pub(crate) fn check_unattached(bridge: &Bridge) -> Result<()> {
    let name = &bridge.name;
    match Attachment::read(name, &bridge.external_ids)? {
        None if attachment::is_recorded(&bridge.external_ids) => bail!(
            "external_ids of bridge {name} have a part of an attachment (remove it: windlass detach \
             --ovs {name})"
        ),
        None => Ok(()),
        Some((State::Attached, there)) => {
            let traffic: Vec<String> = there.traffic.iter().map(Traffic::to_string).collect();
            bail!(
                "bridge {name} has the box already, for {} (remove it first: windlass detach --ovs \
                 {name})",
                traffic.join(" ")
            )
        }
        Some((state, _)) => bail!(
            "an earlier command has left bridge {name} {state} (finish it: windlass detach --ovs \
             {name})"
        ),
    }
}

/// That what is asked for can be.
pub(crate) fn check_request(request: &Request, bridge: &Bridge) -> Result<()> {
    if request.traffic.is_empty() {
        bail!("what is to go through the box must be named: --match tcp,tp_dst=443");
    }
    if let Some(traffic) = request.traffic.iter().find(|t| t.is_symmetric())
        && request.inside.is_empty()
    {
        bail!(
            "match `{traffic}` does not say which end is the server: name the servers' ports with \
             --inside, or match on an address or a port of theirs (tcp,tp_dst=443)"
        );
    }
    for name in request.inside.iter().chain(&request.outside) {
        let port = bridge.port(name).ok_or_else(|| no_port(name, bridge))?;
        if port.interfaces.iter().any(|i| i.flow_based) {
            bail!(
                "port {name} is a tunnel whose key or ends come with each packet (`flow`): in the \
                 box that would be lost; attach to the bridge on which its traffic has VLANs"
            );
        }
    }
    let both = request
        .inside
        .iter()
        .find(|name| request.outside.contains(name));
    match both {
        Some(name) => bail!("port {name} cannot be on both sides"),
        None => Ok(()),
    }
}

fn no_port(name: &str, bridge: &Bridge) -> anyhow::Error {
    let names: Vec<&str> = bridge.ports.iter().map(|p| p.name.as_str()).collect();
    let names = names.join(", ");
    anyhow!("bridge {} has no port {name} (it has {names})", bridge.name)
}

/// What may go wrong later, and what to do about it.
pub(crate) fn warnings(bridge: &Bridge) -> Vec<String> {
    let mut all = Vec::new();
    for (program, file) in BRIDGE_NETFILTER {
        if std::fs::read_to_string(file).is_ok_and(|text| text.trim() == "1") {
            let key = file.trim_start_matches("/proc/sys/").replace('/', ".");
            all.push(format!(
                "{program} is asked about bridged packets, also those in the box's Linux bridge: \
                 what it drops does not come back (turn it off: sysctl -w {key}=0)"
            ));
        }
    }
    let flow_based = |p: &&Port| p.interfaces.iter().any(|i| i.flow_based);
    for port in bridge.ports.iter().filter(flow_based) {
        all.push(format!(
            "packets from tunnel {} do not go through the box: their key or ends would be lost",
            port.name
        ));
    }
    all
}
