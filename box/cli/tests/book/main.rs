//! The commands of the manual, run as they stand there, page by page: on a machine between a server and a client (needs root).

mod blocks;
#[allow(dead_code, unused_imports)]
#[path = "../netns/mod.rs"]
mod netns;
mod place;
mod traffic;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use blocks::{Block, Kind};
use place::{Given, Place};

/// Blocks of commands that nothing runs.
const NOT_RUN_MAX: usize = 12;

/// A test for each page that has commands.
macro_rules! pages {
    ($($test:ident: $page:literal, $given:expr;)+) => {
        const PAGES: &[&str] = &[$($page),+];
        $(#[test]
        fn $test() {
            follow($page, &$given);
        })+
    };
}

/// With the page in the browser.
const WEB: &str = "version = 1\n[box]\ninside = \"eth1\"\noutside = \"eth2\"\nbypass_after_ms = 0\n\
    [web]\nlisten = \"127.0.0.1:9470\"\ntoken_file = \"/etc/windlass/web.token\"\nwrite = true\n\
    [[rule]]\nname = \"downloads\"\nports = [443]\n";
/// As most pages take it for granted. On a busy machine, too, the recording is to be without gaps.
const RULE: &str = "version = 1\n[box]\ninside = \"eth1\"\noutside = \"eth2\"\nbypass_after_ms = 0\n\
    [recorder]\nseconds = 60\n[guard]\n\
    [[rule]]\nname = \"downloads\"\nports = [443]\n";

pages! {
    readme: "README.md", Given { config: RULE, switch: true, runs: false };
    algorithms: "docs/algorithms.md", Given::default();
    events: "docs/events.md", Given { config: RULE, runs: true, switch: false };
    experiments: "docs/experiments.md", Given::default();
    flow_fields: "docs/flow-fields.md", Given { config: RULE, runs: true, switch: false };
    first_hour: "docs/first-hour.md", Given::default();
    install: "docs/install.md", Given { config: RULE, runs: true, switch: false };
    openvswitch: "docs/openvswitch.md", Given { switch: true, ..Given::default() };
    operating: "docs/operating.md", Given { config: RULE, runs: true, switch: false };
    plugins: "docs/plugins.md", Given { config: RULE, runs: true, switch: false };
    policy: "docs/policy.md", Given { config: RULE, runs: true, switch: false };
    recorder: "docs/recorder.md", Given { config: RULE, runs: true, switch: false };
    reproductions: "docs/reproductions.md", Given::default();
    security: "docs/security.md", Given { config: RULE, runs: true, switch: false };
    standby: "docs/standby.md", Given::default();
    troubleshooting: "docs/troubleshooting.md", Given { config: RULE, runs: true, switch: false };
    upgrade: "docs/upgrade.md", Given { config: RULE, runs: true, switch: false };
    watch: "docs/watch.md", Given { config: WEB, runs: true, switch: false };
}

fn follow(page: &str, given: &Given) {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: needs root for network namespaces");
        return;
    }
    let all = blocks::all();
    let run = |block: &&Block| matches!(block.kind, Kind::Commands | Kind::Session);
    let (mut blocks, mut skipped) = (Vec::new(), 0);
    for block in all.iter().filter(|block| block.page == page).filter(run) {
        let missing = place::missing_tools(block);
        if missing.is_empty() {
            blocks.push(block);
        } else {
            eprintln!(
                "skipped: {page}:{}: {} is not here",
                block.line,
                missing.join(", ")
            );
            skipped += 1;
        }
    }
    assert!(blocks.len() + skipped > 0, "{page} has no commands");
    // One after the other: what a page takes for granted is a machine that has time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Place::new(given).follow(given, &blocks);
}

#[test]
fn every_page_with_commands_has_its_test() {
    let all = blocks::all();
    let with = all
        .iter()
        .filter(|block| matches!(block.kind, Kind::Commands | Kind::Session));
    let with: BTreeSet<&str> = with.map(|block| block.page.as_str()).collect();
    assert_eq!(with, PAGES.iter().copied().collect());
    for block in all.iter().filter(|block| block.kind == Kind::Other) {
        let hidden = block.text.lines().any(|line| line.starts_with("$ "));
        assert!(!hidden, "{}:{}: commands", block.page, block.line);
    }
    let recipes = all.iter().filter(|block| block.kind == Kind::Recipe);
    assert!(
        recipes
            .map(|block| &block.page)
            .all(|page| page == "docs/placements.md")
    );
}

/// Each with its reason, for whoever reads what this prints.
#[test]
fn few_commands_are_not_run() {
    let all = blocks::all();
    let mut count = 0;
    for block in &all {
        if let Kind::NotRun(reason) = &block.kind {
            eprintln!("not run: {}:{}: {reason}", block.page, block.line);
            assert!(
                reason.len() > 10,
                "{}:{}: what for?",
                block.page,
                block.line
            );
            count += 1;
        }
    }
    let commands = all.iter().filter(|block| block.kind != Kind::Other).count();
    eprintln!("{count} of {commands} blocks of commands are not run");
    assert!(count <= NOT_RUN_MAX, "{count} blocks are not run");
}
