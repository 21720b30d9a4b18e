use super::*;
use crate::veth_pairs::VethPairs;

fn port(name: &str, number: u16, tag: Option<u16>) -> Port {
    Port {
        name: name.to_owned(),
        tag,
        vlan_mode: None,
        interfaces: vec![Interface {
            name: name.to_owned(),
            number: Some(number),
            ..Interface::default()
        }],
    }
}

fn bridge() -> Bridge {
    Bridge {
        name: "br0".to_owned(),
        ports: vec![
            port("br0", LOCAL, None),
            port("up", 1, None),
            port("vm", 2, Some(7)),
            port("vm2", 3, Some(8)),
            port("wl0-in-sw", 4, Some(4095)),
            port("wl0-out-sw", 5, Some(4095)),
        ],
        ..Bridge::default()
    }
}

fn attachment(traffic: &str, inside: &[&str], outside: &[&str]) -> Attachment {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Attachment {
        bridge: "br0".to_owned(),
        traffic: vec![traffic.parse().unwrap()],
        inside: owned(inside),
        outside: owned(outside),
        wire: VethPairs::named("wl0"),
        register: 9,
        table: 200,
        priority: 100,
        addresses: 10,
    }
}

fn texts(attachment: &Attachment) -> Vec<String> {
    rules(attachment, &bridge())
        .iter()
        .map(Rule::to_string)
        .collect()
}

fn find<'a>(texts: &'a [String], part: &str) -> &'a str {
    let mut found = texts.iter().filter(|text| text.contains(part));
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no {part} in {texts:#?}"));
    assert_eq!(found.next(), None, "{part} is there twice");
    first
}

#[test]
fn a_lone_port_needs_no_memory_and_gets_its_untagged_frames_back() {
    let texts = texts(&attachment("tcp,tp_dst=80", &["vm"], &["up"]));
    assert_eq!(
        find(&texts, "priority=105,reg9=0,in_port=\"vm\""),
        "cookie=0x77696e646c617311,table=0,priority=105,reg9=0,in_port=\"vm\",\
         vlan_tci=0x0000/0x0fff,tcp,tp_src=80,actions=mod_vlan_vid:7,output:\"wl0-in-sw\"",
    );
    assert_eq!(
        find(&texts, "in_port=\"wl0-out-sw\",tcp,"),
        "cookie=0x77696e646c617310,table=0,priority=107,in_port=\"wl0-out-sw\",tcp,\
         actions=load:1->NXM_NX_REG9[],load:0->NXM_OF_VLAN_TCI[],load:2->NXM_OF_IN_PORT[],\
         resubmit(,0)",
    );
    assert_eq!(
        find(&texts, "tp_dst=80"),
        "cookie=0x77696e646c617311,table=0,priority=100,reg9=0,in_port=\"up\",tcp,tp_dst=80,\
         actions=output:\"wl0-out-sw\"",
    );
    assert!(!texts.iter().any(|text| text.contains("learn(")));
}

/// An access port's other frames are none of its network's: `NORMAL` drops them, and so it shall.
#[test]
fn tagged_frames_at_an_access_port_do_not_go_through_the_box() {
    let texts = texts(&attachment("tcp,tp_dst=80", &["vm"], &["up"]));
    let from_vm: Vec<_> = texts
        .iter()
        .filter(|t| t.contains("in_port=\"vm\""))
        .collect();
    let [untagged, others] = from_vm.as_slice() else {
        panic!("{from_vm:#?}");
    };
    assert!(untagged.contains("priority=105") && untagged.contains("vlan_tci=0x0000"));
    assert!(others.contains("priority=104"), "{others}");
    assert!(others.ends_with("actions=load:1->NXM_NX_REG9[],resubmit(,0)"));
}

#[test]
fn of_several_ports_the_one_is_learned_that_a_packet_came_from() {
    let texts = texts(&attachment("tcp,tp_dst=80", &["vm", "vm2"], &[]));
    assert_eq!(
        find(&texts, "priority=105,reg9=0,in_port=\"vm2\""),
        "cookie=0x77696e646c617311,table=0,priority=105,reg9=0,in_port=\"vm2\",\
         vlan_tci=0x0000/0x0fff,tcp,tp_src=80,actions=mod_vlan_vid:8,load:8->NXM_NX_REG9[],\
         learn(table=200,cookie=0x77696e646c617320,priority=1,idle_timeout=300,limit=10,\
         result_dst=NXM_NX_REG9[1],in_port=\"wl0-out-sw\",NXM_OF_VLAN_TCI[0..11],\
         NXM_OF_ETH_SRC[],load:0->NXM_OF_VLAN_TCI[],load:NXM_OF_IN_PORT[]->NXM_OF_IN_PORT[]),\
         resubmit(,200)",
    );
    let any = find(&texts, "priority=100,");
    assert!(any.contains("reg9=0,tcp,tp_dst=80,actions=learn("), "{any}");
    assert!(
        any.contains("result_dst=NXM_NX_REG9[2],in_port=\"wl0-in-sw\""),
        "{any}"
    );
    let back = find(&texts, "in_port=\"wl0-in-sw\",tcp,");
    assert!(
        back.ends_with("load:1->NXM_NX_REG9[],resubmit(,200),resubmit(,0)"),
        "{back}"
    );
    // Of the outside, the ports with a tag: the network's clients may be there, too.
    for tagged in ["vm", "vm2"] {
        find(&texts, &format!("priority=102,reg9=0,in_port=\"{tagged}\""));
    }
    assert!(
        !texts
            .iter()
            .any(|text| text.contains("reg9=0,in_port=\"wl0"))
    );
}

#[test]
fn a_network_is_meant_whether_its_frames_have_a_tag_or_not() {
    let texts = texts(&attachment("tcp,tp_dst=80,dl_vlan=7", &[], &[]));
    let untagged = find(&texts, "priority=105,");
    assert!(untagged.contains("in_port=\"vm\",vlan_tci=0x0000/0x0fff,tcp,tp_src=80,actions"));
    let any = find(&texts, "priority=103,");
    assert!(
        any.contains("reg9=0,tcp,tp_src=80,dl_vlan=7,actions=learn"),
        "{any}"
    );
    let other = find(&texts, "priority=104,reg9=0,in_port=\"vm2\"");
    assert!(
        other.contains("tcp,tp_src=80,dl_vlan=7,actions=load:1"),
        "{other}"
    );
}

#[test]
fn what_a_tunnel_says_of_a_packet_is_not_lost() {
    let mut bridge = bridge();
    bridge.ports[1].interfaces[0].flow_based = true;
    let all = rules(&attachment("tcp,tp_dst=80", &["vm"], &[]), &bridge);
    let texts: Vec<String> = all.iter().map(Rule::to_string).collect();
    let tunnel = find(&texts, "in_port=\"up\"");
    assert!(tunnel.contains("priority=101"), "{tunnel}");
    assert!(
        tunnel.ends_with("actions=load:1->NXM_NX_REG9[],resubmit(,0)"),
        "{tunnel}"
    );
}

#[test]
fn the_way_back_is_there_before_the_way_in() {
    let all = rules(&attachment("tcp,tp_dst=80", &["vm"], &[]), &bridge());
    let first_steered = all.iter().position(|r| r.role == Role::Steer).unwrap();
    assert!(all[first_steered..].iter().all(|r| r.role == Role::Steer));
    let highest = all.iter().map(|r| r.priority).max();
    assert_eq!(highest, Some(100 + LEVELS - 1));
}
