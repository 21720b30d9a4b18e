//! What cannot work is refused, with what mends it.

use windlass_io::interface::{Severity, check};
use windlass_io::{Prefer, Session};

use crate::lab::{Lab, config, kernel_has_af_xdp, open};

#[test]
fn what_cannot_work_is_refused_with_the_command_that_helps() {
    let Some(lab) = Lab::new(1500) else { return };
    let refusals = |lab: &Lab| {
        let problems = lab.within("m", || check("b1", "a1"));
        let bad = problems
            .into_iter()
            .filter(|p| p.severity == Severity::Refusal);
        bad.collect::<Vec<_>>()
    };
    let found = refusals(&lab);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].what.contains("are in no bridge"));
    let refused = lab.within("m", || Session::open(&config(Prefer::Auto)).err());
    assert!(refused.is_some());
    assert!(lab.exec("m", &["sh", "-c", &found[0].fix]), "the fix works");
    assert_eq!(refusals(&lab), []);

    lab.ip("m", &["link", "set", "a1", "mtu", "1400"]);
    let found = refusals(&lab);
    assert_eq!(found[0].fix, "ip link set b1 mtu 1400");
    assert!(lab.exec("m", &["sh", "-c", &found[0].fix]));
    lab.ip("m", &["link", "set", "a1", "down"]);
    assert_eq!(refusals(&lab)[0].fix, "ip link set a1 up");
    assert!(lab.exec("m", &["sh", "-c", "ip link set a1 up"]));
    lab.ip(
        "m",
        &[
            "link", "add", "third", "type", "veth", "peer", "name", "fourth",
        ],
    );
    lab.ip("m", &["link", "set", "third", "master", "windlass0"]);
    assert_eq!(refusals(&lab)[0].fix, "ip link set third nomaster");

    lab.ip("m", &["link", "del", "third"]);
    lab.ip("m", &["link", "set", "a1", "nomaster"]);
    let found = refusals(&lab);
    assert_eq!(found[0].fix, "ip link set a1 master windlass0");
    lab.ip("m", &["link", "add", "other", "type", "bridge"]);
    lab.ip("m", &["link", "set", "a1", "master", "other"]);
    let found = refusals(&lab);
    assert!(
        found[0]
            .what
            .contains("b1 is a port of windlass0 and a1 one of other")
    );
    assert!(lab.exec("m", &["sh", "-c", &found[0].fix]), "the fix works");
    assert_eq!(refusals(&lab), []);

    let same = lab.within("m", || check("a1", "a1"));
    assert!(same[0].what.contains("both"));
    assert_eq!(same[0].fix, "--outside b1");
    let absent = lab.within("m", || check("b1", "a9"));
    assert!(absent[0].what.contains("there is no interface a9"));
    assert_eq!(absent[0].fix, "--outside a1");
    let packet = windlass_io::DriverConfig {
        prefer: Prefer::Packet,
        ..config(Prefer::Packet)
    };
    let refused = lab
        .within("m", move || Session::open(&packet).err())
        .expect("in a bridge");
    assert!(refused.to_string().contains("nomaster"), "{refused}");
}

/// Whoever has put it there is named.
#[test]
fn an_xdp_program_that_is_there_already_is_told_with_what_ends_it() {
    let Some(lab) = Lab::new(1500) else { return };
    if !kernel_has_af_xdp() {
        return;
    }
    let (held, refused) = lab.within("m", || {
        let session = open(&config(Prefer::Generic)).expect("session");
        let refused = Session::open(&config(Prefer::Auto)).err();
        (session, refused)
    });
    let said = refused.expect("two are too many").to_string();
    let pid = std::process::id();
    assert!(
        said.contains(&format!("another windlass, pid {pid}, governs b1")),
        "{said}"
    );
    drop(held);
    assert!(lab.within("m", || Session::open(&config(Prefer::Auto)).is_ok()));
}
