//! The OpenFlow rules that lead packets through the box, and only once.
//!
//! A packet of the traffic in question is led to the box from table 0, before any rule of the
//! operator, just as it came. When it comes back, its ingress port and its tag are put back, a mark
//! is set in a register, and it is submitted to table 0 again: with the mark no rule of ours
//! matches, so the operator's own rules treat it as what came from that port.
//!
//! Where it came from: if a side has one port, that one. Otherwise `learn` keeps it, by VLAN and
//! source address, as a switch does. What cannot be remembered does not go through the box.
//!
//! Both directions of a flow must be in the same VLAN for the box, but `NORMAL` has untagged frames
//! at an access port and tagged ones at a trunk. So they get the access port's tag for the box.

use crate::attachment::Attachment;
use crate::database::{Bridge, Interface, Port, Tagging};
use crate::rule::{Role, Rule};
use crate::side::Side;
use crate::traffic::Traffic;

/// Rules, of all our levels, in table 0.
pub(crate) const LEVELS: u16 = 9;
/// What nobody uses is forgotten after, s: `NORMAL` does the same.
const IDLE_S: u32 = 300;

/// Bits of the register. While it is zero, a packet may go to the box.
const RETURNED: u32 = 1;
const TO_INSIDE: u32 = 2;
const TO_OUTSIDE: u32 = 4;
const TAG_PUSHED: u32 = 8;

/// All rules, for the bridge as it is. Those for packets on their way back come first.
pub(crate) fn rules(attachment: &Attachment, bridge: &Bridge) -> Vec<Rule> {
    let writer = Writer {
        attachment,
        bridge,
        rules: Vec::new(),
    };
    writer.write()
}

struct Writer<'a> {
    attachment: &'a Attachment,
    bridge: &'a Bridge,
    rules: Vec<Rule>,
}

/// From the lowest; those on what comes from the inside and from the outside by this number more.
const PER_SIDE: u16 = 3;
const ANY_PORT: u16 = 0;
const OTHER_TAGS: u16 = 1;
const UNTAGGED: u16 = 2;
const OF_THE_BOX: u16 = 2 * PER_SIDE;

impl<'a> Writer<'a> {
    fn write(mut self) -> Vec<Rule> {
        for side in Side::BOTH {
            self.returned(side);
        }
        self.destinations();
        for side in Side::BOTH {
            for traffic in &self.attachment.traffic {
                self.steered(side, traffic);
            }
        }
        self.rules
    }

    fn add(&mut self, role: Role, level: u16, matching: String, actions: String) {
        self.rules.push(Rule {
            role,
            table: 0,
            priority: self.attachment.priority + level,
            matching,
            actions,
        });
    }

    /// Rules for packets of `origin` that the box gives back.
    fn returned(&mut self, origin: Side) {
        let exit = format!("in_port=\"{}\"", self.attachment.wire.port(origin.other()));
        let register = self.attachment.register;
        let mark = self.load(RETURNED);
        let origin_port = match self.lone_port(origin) {
            Some((port, interface)) => {
                let untag = match port.tagging() {
                    Tagging::Trunk => "",
                    _ => UNTAG,
                };
                let number = interface.number.unwrap_or_default();
                format!("{untag}load:{number}->NXM_OF_IN_PORT[]")
            }
            None => format!("resubmit(,{})", self.attachment.table),
        };
        // Whose port is not known any more: its sender will repeat it, and be known again.
        let lost = format!("{exit},reg{register}={RETURNED}");
        self.add(Role::Return, OF_THE_BOX + 2, lost, "drop".to_owned());
        for protocol in ["tcp", "tcp6"] {
            let actions = format!("{mark},{origin_port},resubmit(,0)");
            let matching = format!("{exit},{protocol}");
            self.add(Role::Return, OF_THE_BOX + 1, matching, actions);
        }
        self.add(Role::Return, OF_THE_BOX, exit, "drop".to_owned());
    }

    /// Where to, once `learn` has said whether it can remember where from.
    fn destinations(&mut self) {
        let (register, mark) = (self.attachment.register, self.load(RETURNED));
        let port = |side| format!("output:\"{}\"", self.attachment.wire.port(side));
        let [inside, outside] = Side::BOTH.map(port);
        let past = format!("{mark},resubmit(,0)");
        let all = [
            (TO_INSIDE, inside.clone()),
            (TO_INSIDE | TAG_PUSHED, inside),
            (TO_OUTSIDE, outside.clone()),
            (TO_OUTSIDE | TAG_PUSHED, outside),
            (0, past.clone()),
            (TAG_PUSHED, format!("{UNTAG}{past}")),
        ];
        for (value, actions) in all {
            self.rules.push(Rule {
                role: Role::Return,
                table: self.attachment.table,
                priority: 2,
                matching: format!("reg{register}={value}"),
                actions,
            });
        }
    }

    /// Rules for packets that come from this side.
    fn steered(&mut self, side: Side, traffic: &Traffic) {
        let listed = self.listed(side);
        let ports = self.bridge.ports.iter();
        let ports = ports.filter(|p| match listed {
            [] => Side::BOTH
                .map(|side| self.attachment.wire.port(side))
                .iter()
                .all(|own| *own != p.name),
            listed => listed.contains(&p.name),
        });
        let is_listed = !listed.is_empty();
        for port in ports {
            for interface in &port.interfaces {
                self.steered_from(side, traffic, port, interface, is_listed);
            }
        }
        if !is_listed {
            let actions = self.towards_box(side, None);
            self.steer(side, ANY_PORT, "", (traffic, true), actions);
        }
    }

    fn steered_from(
        &mut self,
        side: Side,
        traffic: &Traffic,
        port: &Port,
        interface: &Interface,
        listed: bool,
    ) {
        if interface.number.is_none() {
            return;
        }
        let from = format!(",in_port={}", in_port(interface));
        let past = format!("{},resubmit(,0)", self.load(RETURNED));
        if interface.flow_based {
            // What the tunnel says of a packet would be lost in the box.
            self.steer(side, OTHER_TAGS, &from, (traffic, true), past);
            return;
        }
        let tagging = port.tagging();
        if let Tagging::Access(tag) | Tagging::Native(tag) = tagging
            && traffic.vlan().is_none_or(|vlan| vlan == tag)
        {
            let actions = self.towards_box(side, Some(tag));
            let untagged = format!("{from},vlan_tci=0x0000/0x0fff");
            self.steer(side, UNTAGGED, &untagged, (traffic, false), actions);
        }
        if let Tagging::Access(_) = tagging {
            self.steer(side, OTHER_TAGS, &from, (traffic, true), past);
        } else if listed {
            let actions = self.towards_box(side, None);
            self.steer(side, ANY_PORT, &from, (traffic, true), actions);
        }
    }

    fn steer(
        &mut self,
        side: Side,
        level: u16,
        from: &str,
        (traffic, in_its_vlan): (&Traffic, bool),
        actions: String,
    ) {
        let (above, fields) = match side {
            Side::Inside => (PER_SIDE, traffic.of_servers()),
            Side::Outside => (0, traffic.towards_servers()),
        };
        let vlan = match traffic.vlan().filter(|_| in_its_vlan) {
            Some(vlan) => format!(",dl_vlan={vlan}"),
            None => String::new(),
        };
        let register = self.attachment.register;
        let matching = format!("reg{register}=0{from},{fields}{vlan}");
        self.add(Role::Steer, above + level, matching, actions);
    }

    /// Into the box from this side, with a tag if untagged frames are of that VLAN.
    fn towards_box(&self, side: Side, tag: Option<u16>) -> String {
        let Attachment {
            wire,
            register,
            table,
            addresses,
            ..
        } = self.attachment;
        let push = tag.map_or(String::new(), |tag| format!("mod_vlan_vid:{tag},"));
        if self.lone_port(side).is_some() {
            return format!("{push}output:\"{}\"", wire.port(side));
        }
        let pushed = tag.map_or(String::new(), |_| format!("{},", self.load(TAG_PUSHED)));
        let untag = tag.map_or("", |_| UNTAG);
        let bit = match side {
            Side::Inside => TO_INSIDE.trailing_zeros(),
            Side::Outside => TO_OUTSIDE.trailing_zeros(),
        };
        format!(
            "{push}{pushed}learn(table={table},cookie={:#x},priority=1,idle_timeout={IDLE_S},\
             limit={addresses},result_dst=NXM_NX_REG{register}[{bit}],in_port=\"{}\",\
             NXM_OF_VLAN_TCI[0..11],NXM_OF_ETH_SRC[],{untag}\
             load:NXM_OF_IN_PORT[]->NXM_OF_IN_PORT[]),resubmit(,{table})",
            Role::Learned.cookie(),
            wire.port(side.other()),
        )
    }

    fn load(&self, value: u32) -> String {
        format!("load:{value}->NXM_NX_REG{}[]", self.attachment.register)
    }

    fn listed(&self, side: Side) -> &'a [String] {
        match side {
            Side::Inside => &self.attachment.inside,
            Side::Outside => &self.attachment.outside,
        }
    }

    /// The one interface of this side, if it has one only, and all frames of it are tagged or none:
    /// then nothing needs to be remembered.
    fn lone_port(&self, side: Side) -> Option<(&'a Port, &'a Interface)> {
        let [name] = self.listed(side) else {
            return None;
        };
        let port = self.bridge.port(name)?;
        match port.interfaces.as_slice() {
            [interface] if interface.number.is_some() => match port.tagging() {
                Tagging::Native(_) => None,
                _ => Some((port, interface)),
            },
            _ => None,
        }
    }
}

/// Takes the tag off.
const UNTAG: &str = "load:0->NXM_OF_VLAN_TCI[],";
/// The OpenFlow number of a bridge's own port (`OFPP_LOCAL` in OpenFlow 1.0).
const LOCAL: u16 = 65534;

fn in_port(interface: &Interface) -> String {
    match interface.number {
        Some(LOCAL) => "LOCAL".to_owned(),
        _ => format!("\"{}\"", interface.name),
    }
}

#[cfg(test)]
mod tests;
