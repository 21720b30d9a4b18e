use super::*;
use proptest::prelude::*;

#[test]
fn the_way_back_has_the_ends_exchanged() {
    let traffic: Traffic = "tcp, ip_dst=10.0.0.0/24,tcp_dst=443,dl_vlan=7"
        .parse()
        .unwrap();
    assert_eq!(
        traffic.towards_servers(),
        "tcp,nw_dst=10.0.0.0/24,tp_dst=443"
    );
    assert_eq!(traffic.of_servers(), "tcp,nw_src=10.0.0.0/24,tp_src=443");
    assert_eq!(traffic.vlan(), Some(7));
    assert_eq!(traffic.to_string().parse(), Ok(traffic));
    let all: Traffic = "tcp6".parse().unwrap();
    assert!(all.is_symmetric());
}

#[test]
fn what_cannot_be_matched_on_is_refused_with_the_reason() {
    for (text, reason) in [
        ("udp", "must begin with `tcp`"),
        ("ip,nw_proto=6", "must begin with `tcp`"),
        ("tcp,in_port=3", "--inside PORT"),
        ("tcp,tcp_flags=+syn", "all of its packets"),
        ("tcp,ip_dscp=4", "the two directions"),
        ("tcp,reg0=1", "known are"),
        ("tcp,tp_dst", "FIELD=VALUE"),
        ("tcp,tp_dst=0", "no TCP port"),
        ("tcp,tp_dst=https", "no TCP port"),
        ("tcp,tp_dst=80,tcp_dst=81", "given twice"),
        ("tcp,dl_vlan=1,vlan_vid=2", "given twice"),
        ("tcp,dl_vlan=4095", "1 to 4094"),
        ("tcp,ipv6_dst=::1", "goes with `tcp6`"),
        ("tcp6,nw_dst=10.0.0.1", "goes with `tcp`"),
        ("tcp,nw_dst=10.0.0.1/33", "no IPv4 address"),
        ("tcp,dl_dst=02:00:00:00:00", "no MAC address"),
        ("tcp,tp_dst=80 actions=drop", "no TCP port"),
    ] {
        let error = text.parse::<Traffic>().unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains(text), "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "tcp6?(,[a-z0-9_]{0,8}=[0-9a-fx.:/]{0,12}){0,3}") {
        if let Ok(traffic) = text.parse::<Traffic>() {
            prop_assert_eq!(traffic.to_string().parse(), Ok(traffic));
        }
    }
}
