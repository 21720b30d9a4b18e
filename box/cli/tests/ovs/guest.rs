//! These very tests in a guest in virtual time, whose kernel has the module `openvswitch`.

use std::path::Path;
use std::time::Duration;

use windlass_guest::{Contents, Event, Guest, Image};
use windlass_lab::openvswitch::{NEEDED, SCHEMA};

use crate::netns::PROGRAM;
use crate::switch::{IN_KERNEL, can_be};

const PATIENCE: Duration = Duration::from_secs(1);
const MODULES: [&str; 4] = ["veth", "bridge", "openvswitch", "tcp_bbr"];
/// Those in which packets matter: how they are seen depends on the datapath. The guest has no IPv6.
const TESTS: &str = "a_bridge_or_a_daemon_that_is_gone what_is_printed_is_what_is_done \
    a_wire_that_is_gone rules_lost_with_the_switch a_transfer_goes_through_the_box \
    the_operators_own_rules_and_networks";

#[test]
fn the_same_holds_with_the_kernels_datapath() {
    if let Err(reason) = windlass_guest::check_host() {
        eprintln!("skipped: {reason:#}");
        return;
    }
    if !can_be() {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let tools: Vec<_> = NEEDED.into_iter().chain([("dash", "dash")]).collect();
    let contents = Contents {
        programs: vec![("windlass", PROGRAM.into()), ("tests", tests)],
        tools: &tools,
        files: vec![(SCHEMA.into(), SCHEMA.into())],
        modules: &MODULES,
    };
    let image = Image::prepare(&contents).unwrap();
    let folder = Path::new(PROGRAM).parent().unwrap().display();
    let command = format!(
        "mkdir -p {folder} && ln -s /usr/bin/windlass {PROGRAM}\n\
         export {IN_KERNEL}=1\n\
         tests --test-threads 1 --nocapture {TESTS} 2>&1"
    );
    let job = tempfile::tempdir().unwrap();
    let mut guest = Guest::start(&image, job, &command, b"").unwrap();
    let mut said = Vec::new();
    let status = loop {
        match guest.next(PATIENCE).unwrap() {
            Event::Line(line) => {
                println!("{line}");
                said.push(line);
            }
            Event::Quiet => {}
            Event::End { status } => break status,
        }
    };
    assert_eq!(status, 0, "{}", guest.last_words());
    assert!(
        !said.iter().any(|line| line.contains("skipped:")),
        "some did not run"
    );
    let passed = said.iter().find(|line| line.starts_with("test result: "));
    assert!(
        passed.is_some_and(|line| line.starts_with("test result: ok. 6 passed; 0 failed")),
        "{passed:?}"
    );
}
