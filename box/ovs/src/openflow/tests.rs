use super::*;

/// Printed by ovs-ofctl 3.1.0 with --no-stats.
const SAID: &str = "NXST_FLOW reply (xid=0x4):
 cookie=0x77696e646c617310, priority=65535,reg15=0x1,in_port=5 actions=drop
 cookie=0x77696e646c617320, table=253, idle_timeout=300, priority=1,in_port=5,vlan_tci=0x0000/0x0fff,dl_src=a6:65:a4:40:4e:4c actions=load:0->NXM_OF_VLAN_TCI[],load:0x2->NXM_OF_IN_PORT[]
 tcp,tp_dst=80 actions=drop
 cookie=0x5, priority=0 actions=NORMAL
";

#[test]
fn a_dump_is_read() {
    let all = entries(SAID);
    let short: Vec<_> = all
        .iter()
        .map(|e| (e.cookie, e.table, e.priority))
        .collect();
    let expected = [
        (COOKIE | 0x10, 0, 65535),
        (COOKIE | 0x20, 253, 1),
        (0, 0, 32768),
        (5, 0, 0),
    ];
    assert_eq!(short, expected);
    let own: Vec<_> = all.iter().map(|e| (e.is_own(), e.is_learned())).collect();
    assert_eq!(
        own,
        [(true, false), (true, true), (false, false), (false, false)]
    );
}

#[test]
fn registers_and_tables_that_rules_mention_are_not_free() {
    let with = |text: &str| free(&entries(text), "", None);
    let free_of = |text: &str| with(text).map(|f| (f.register, f.table)).unwrap();
    assert_eq!(free_of(SAID), (14, 252));
    assert_eq!(
        free_of(" actions=load:1->NXM_NX_REG15[],resubmit(,253)"),
        (14, 252)
    );
    assert_eq!(
        free_of(" actions=set_field:1->xreg7,goto_table:253"),
        (13, 252)
    );
    assert_eq!(free_of(" xxreg3=5 actions=ct(table=253)"), (11, 252));
    assert_eq!(free_of(" table=253, actions=resubmit(3,252)"), (15, 251));
    assert_eq!(
        free_of(" actions=move:NXM_NX_XXREG3[0..7]->NXM_NX_REG11[0..7]"),
        (10, 253)
    );
    let groups = "group_id=1,type=all,bucket=actions=load:1->NXM_NX_REG15[]";
    assert_eq!(free(&[], groups, None).unwrap().register, 14);
    assert_eq!(free(&[], groups, Some(15)).unwrap().register, 15);
}

#[test]
fn where_nothing_is_free_one_must_be_named() {
    let all = " xxreg0=1,xxreg1=1,xxreg2=1,xxreg3=1 actions=drop";
    let error = free(&entries(all), "", None).unwrap_err().to_string();
    assert!(error.contains("--register"), "{error}");
    assert!(free(&entries(all), "", Some(3)).is_ok());
    assert!(free(&[], "", Some(16)).is_err());
}

#[test]
fn rules_above_ours_are_named() {
    let all = entries(SAID);
    assert!(check_priority(&all, 32769).is_ok());
    let error = check_priority(&all, 32768).unwrap_err().to_string();
    assert!(error.contains("tcp,tp_dst=80 actions=drop") && error.contains("--priority"));
    assert!(check_priority(&[], u16::MAX - LEVELS + 1).is_ok());
    assert!(check_priority(&[], u16::MAX - LEVELS + 2).is_err());
}

#[test]
fn rules_are_exchanged_at_once_where_the_bridge_can() {
    let speech = |protocols: &[&str]| {
        Speech::with(&Bridge {
            name: "br0".to_owned(),
            protocols: protocols.iter().map(|p| (*p).to_owned()).collect(),
            ..Bridge::default()
        })
    };
    let at_once = speech(&[]).install(&[], true);
    assert_eq!(at_once.len(), 1);
    let text = at_once[0].to_string();
    let start = "ovs-ofctl --timeout=10 -O OpenFlow14 --bundle add-flows br0 - <<'EOF'\n\
                 delete cookie=0x77696e646c617310/0xfffffffffffffff0\n";
    assert!(text.starts_with(start), "{text}");
    assert!(
        speech(&["OpenFlow15"]).install(&[], true)[0]
            .to_string()
            .contains("-O OpenFlow15 ")
    );
    let old = speech(&["OpenFlow10", "OpenFlow13"]).install(&[], true);
    assert_eq!(old.len(), 2);
    assert_eq!(speech(&["OpenFlow13"]).install(&[], false).len(), 1);
    assert!(
        old[0]
            .to_string()
            .contains("-O OpenFlow10,OpenFlow13 del-flows br0")
    );
}
