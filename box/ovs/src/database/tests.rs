use super::*;

/// Printed by ovs-vsctl 3.1.0, shortened.
const SAID: &str = r#"{"data":[["br0",["set",[["uuid","1"],["uuid","2"]]],["map",[["windlass-state","attached"]]],["set",[]]],["br1",["uuid","3"],["map",[]],["set",["OpenFlow10","OpenFlow13"]]]],"headings":["name","ports","external_ids","protocols"]}
{"data":[[["uuid","2"],"vm",["uuid","b"],7,["set",[]]],[["uuid","1"],"bond",["set",[["uuid","a"],["uuid","c"]]],["set",[]],["set",[]]],[["uuid","3"],"gre",["uuid","d"],7,"native-untagged"]],"headings":["_uuid","name","interfaces","tag","vlan_mode"]}
{"data":[[["uuid","a"],"e0",5,1500,["set",[]],"",["map",[]]],[["uuid","b"],"vm",-1,["set",[]],"could not open","",["map",[]]],[["uuid","c"],"e1",6,9000,["set",[]],"",["map",[]]],[["uuid","d"],"gre",1,1500,["set",[]],"gre",["map",[["key","flow"]]]]],"headings":["_uuid","name","ofport","mtu","error","type","options"]}
"#;

#[test]
fn a_bridge_with_its_ports() {
    let bridge = Bridge::parse("br0", SAID).unwrap();
    assert_eq!(bridge.external_ids["windlass-state"], "attached");
    assert!(bridge.protocols.is_empty());
    let names: Vec<&str> = bridge.ports.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["bond", "vm"]);
    let bond = bridge.port("bond").unwrap();
    assert_eq!(bond.tagging(), Tagging::Trunk);
    let numbers: Vec<_> = bond.interfaces.iter().map(|i| i.number).collect();
    assert_eq!(numbers, [Some(5), Some(6)]);
    let vm = bridge.port("vm").unwrap();
    assert_eq!(vm.tagging(), Tagging::Access(7));
    assert_eq!(
        (vm.interfaces[0].number, vm.interfaces[0].mtu),
        (None, None)
    );
    assert_eq!(vm.interfaces[0].error.as_deref(), Some("could not open"));
}

#[test]
fn versions_and_tunnels() {
    let bridge = Bridge::parse("br1", SAID).unwrap();
    assert_eq!(bridge.protocols, ["OpenFlow10", "OpenFlow13"]);
    let port = &bridge.ports[0];
    assert_eq!(port.tagging(), Tagging::Native(7));
    assert!(port.interfaces[0].flow_based);
}

#[test]
fn a_bridge_that_is_not_there() {
    let error = Bridge::parse("br2", SAID).unwrap_err();
    assert!(error.is::<NoBridge>());
    let text = error.to_string();
    assert_eq!(text, "Open vSwitch has no bridge br2 (it has br0, br1)");
    assert!(Bridge::parse("br0", "nonsense\n").is_err());
}

#[test]
fn a_tag_that_is_none() {
    let port = |tag, mode: Option<&str>| Port {
        tag,
        vlan_mode: mode.map(str::to_owned),
        ..Port::default()
    };
    assert_eq!(port(Some(0), None).tagging(), Tagging::Trunk);
    assert_eq!(port(Some(4095), None).tagging(), Tagging::Trunk);
    assert_eq!(port(Some(7), Some("trunk")).tagging(), Tagging::Trunk);
    assert_eq!(
        port(Some(7), Some("dot1q-tunnel")).tagging(),
        Tagging::Trunk
    );
}
