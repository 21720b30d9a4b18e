//! The script runner against the box that is not there, against boxes with known faults, and the
//! scripts of the engine's rules (`scripts/*.wls`) against the engine.

mod row;

use std::path::Path;

use row::Row;
use windlass_engine::{
    AlgorithmId, Bounds, Decide, Feedback, Limits, Mode, Redundancy, Senders, Tenant, TenantId,
    Ungoverned, Verdict,
};
use windlass_sim::script;
use windlass_sim::{EngineBox, Middlebox, Nanos, NoBox, Side};
use windlass_wire::{Addr, FlowKey};

const HANDSHAKE: &str = "
option isn server 4294967000
0      client> S 0:0(0) win 65535 <mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7>
+0     >server same
+0.010 server> S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,TS val 9 ecr 1,nop,wscale 7>
+0     >client S. 0:0(0) ack 1 win 65535 <wscale 7,mss 1460,...>
+0.010 client> . 1:1(0) ack 1 win 512
+0     >server . 1:1(0) ack 1 win 512 <>
";

fn run(rest: &str, middlebox: &mut dyn Middlebox) -> Result<(), String> {
    script::run(&format!("{HANDSHAKE}{rest}"), middlebox).map_err(|e| e.to_string())
}

fn over_wire(rest: &str) -> Result<(), String> {
    run(rest, &mut NoBox::default())
}

/// What a failing script says. Its first line has number 9.
fn failure(rest: &str) -> String {
    over_wire(rest).expect_err("this script must fail")
}

#[test]
fn a_wire_passes_everything() {
    let script = "
+0.1   server> P. 1:3001(3000) ack 1 win 500 <nop,nop,TS val 10 ecr 1> by 1448 # three segments
+0     >client . 1:1449(1448) ack 1 win 500 <TS val 10 ecr *>
+0     >client *
+0     >client . 2897:3001(104) <TS val * ecr 1>
+0.05  client> . 1:1(0) ack 1449 win 512 <nop,nop,sack 2897:3001>
+0     >server . 1:1(0) ack 1449 <sack 2897:3001>
0.5    client> F. 1:1(0) ack 3001 win 512 ecn ect1 <raw 1e020101>
+0     >server same
+0     >server nothing for 0.2
0.8    server> R 3001:3001(0) win 0
+0     >client R 3001:3001(0) ecn none
expect counter frames == 9
expect held == 0
";
    assert_eq!(over_wire(script), Ok(()));
}

#[test]
fn a_difference_names_the_line_what_was_expected_and_what_came() {
    let script = "+0.1 server> . 1:11(10) ack 1 win 500\n+0 >client . 1:11(10) ack 1 win 499\n";
    assert_eq!(
        failure(script),
        "line 10: +0 >client . 1:11(10) ack 1 win 499\
         \n    expected: . 1:11(10) ack 1 win 499 at 0.120000 s\
         \n    came: . 1:11(10) ack 1 win 500 <> at 0.120000 s\
         \n    win differs"
    );
}

#[test]
fn each_part_is_compared() {
    let sent = "+0.1 server> . 1:11(10) ack 1 win 500 <sack 5:9>\n+0 >client ";
    for (expected, why) in [
        ("F. 1:11(10)", "flags differ"),
        (". 1:12(11)", "sequence numbers differ"),
        (". 1:11(10) ack 2", "ack differs"),
        (". ecn ce", "ecn is NotEct"),
        (". <>", "options differ"),
        (". <sack 5:10>", "options differ"),
        (". <sack 5:9,mss 1>", "options differ"),
        (
            ". port 40001",
            "its addresses are 192.0.2.1:443>198.51.100.2:40000",
        ),
    ] {
        let said = failure(&format!("{sent}{expected}\n"));
        assert!(said.ends_with(why), "{expected}: {said}");
    }
}

#[test]
fn what_is_not_expected_is_an_error() {
    let sent = "+0.1 server> . 1:11(10) ack 1 win 500\n";
    assert!(failure(sent).ends_with(
        "expected: nothing more toward the client\
         \n    came: . 1:11(10) ack 1 win 500 <> at 0.120000 s"
    ));
    assert!(
        failure(&format!("{sent}+0 >client nothing for 0.1\n"))
            .contains("expected: nothing until 0.220000 s\n    came: . 1:11(10) ack 1 win 500")
    );
    assert_eq!(over_wire(&format!("{sent}+0 >client skip\n")), Ok(()));
}

#[test]
fn what_does_not_come_is_an_error() {
    let said = failure("+0.1 >client . 1:11(10)\n");
    assert!(
        said.ends_with("expected: . 1:11(10) at 0.120000 s\n    came: nothing until 0.120500 s"),
        "{said}"
    );
    let said = failure("expect counter frames == 4\n");
    assert!(
        said.ends_with("expected: frames Equal 4\n    is: 3"),
        "{said}"
    );
    let said = failure("expect counter frame == 3\n");
    assert!(said.ends_with("the box counts frames"), "{said}");
}

#[test]
fn lines_that_cannot_be_read_say_why() {
    for (line, why) in [
        ("+0 middle> . 1:1(0)", "\"middle>\" is none of"),
        ("x server> . 1:1(0)", "\"x\" is not a time"),
        ("+1..0.5 >client *", "ends before it begins"),
        ("+0 server> Q 1:1(0)", "'Q' is not a flag"),
        ("+0 server> . 1:5(3) ack 1", "that is not the length"),
        ("+0 server> . 1:5(4)", "go together"),
        ("+0 server> S 0:0(0) <mss x>", "\"x\" is not a number"),
        ("+0 server> S 0:0(0) <mss 1", "< without >"),
        ("+0 >client . wim 3", "\"wim\" is not a part of a packet"),
        ("+0 >client . win", "\"win\" of what?"),
        ("option nonsense", "unknown option \"nonsense\""),
        ("expect counter x ~ 3", "\"~\" is none of"),
    ] {
        let said = failure(line);
        assert!(said.contains(why) && said.starts_with("line 9:"), "{said}");
    }
}

/// Holds what comes from the inside for a while, and then damages it if told to.
#[derive(Default)]
struct Holder {
    held: Vec<(Nanos, Vec<u8>)>,
    flip: Option<usize>,
}

impl Middlebox for Holder {
    fn on_frame(&mut self, now: Nanos, from: Side, frame: Vec<u8>, out: &mut Vec<(Side, Vec<u8>)>) {
        match from {
            Side::Inside => self.held.push((now + 5_000_000, frame)),
            Side::Outside => out.push((Side::Inside, frame)),
        }
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.held.first().map(|h| h.0)
    }

    fn on_timer(&mut self, _now: Nanos, out: &mut Vec<(Side, Vec<u8>)>) {
        let (_, mut frame) = self.held.remove(0);
        if let Some(at) = self.flip.filter(|at| *at < frame.len()) {
            frame[at] ^= 1;
        }
        out.push((Side::Outside, frame));
    }

    fn held_packets(&self) -> usize {
        self.held.len()
    }
}

#[test]
fn timers_fire_at_their_time_and_tolerance_is_kept() {
    let script = |when| {
        let text = format!(
            "0 server> . 1:11(10) ack 1\nexpect held == 1\n{when} >client same\nexpect held == 0\n"
        );
        script::run(&text, &mut Holder::default()).map_err(|e| e.what)
    };
    assert_eq!(script("0.005"), Ok(()));
    assert_eq!(script("+0.0046"), Ok(()));
    assert_eq!(script("+0..0.1"), Ok(()));
    assert!(script("+0.1").is_err_and(|e| e.ends_with("it is early")));
    assert!(script("+0.001").is_err_and(|e| e.ends_with("came: nothing until 0.001500 s")));
}

#[test]
fn damage_is_never_allowed() {
    // Ethernet 14, IPv4 20, TCP 20: the payload begins at byte 54, the TCP checksum is at 50.
    for (at, why) in [
        (50, "the TCP checksum is wrong"),
        (60, "the TCP checksum is wrong"),
    ] {
        let mut damaging = Holder {
            flip: Some(at),
            ..Holder::default()
        };
        let text = "0 server> . 1:11(10) ack 1\n0.005 >client .\n";
        let error = script::run(text, &mut damaging).expect_err("damaged");
        assert!(error.what.ends_with(why), "{error}");
    }
}

#[test]
fn a_folder_of_scripts_is_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    assert_eq!(script::run_folder(&folder, |_| NoBox::default()), Ok(2));
    let failed = script::run_folder(&folder, |_| Holder::default());
    let said = failed.expect_err("this box holds packets");
    assert!(said.contains("handshake.wls, line "), "{said}");
}

/// 0.0.0.0/0, as Windlass writes IPv4 addresses.
const EVERY_IPV4: Senders = Senders {
    first: Addr(0xffff << 32),
    bits: 96,
};

/// One verdict for one direction or for both.
struct Policy {
    verdict: Verdict,
    both: bool,
    /// Of the one tenant, bytes per second.
    tenant_cap: Option<u64>,
    bounds: Bounds,
}

impl Decide for Policy {
    fn classify(&self, _flow: &FlowKey, sender: Side, _: u64) -> Option<Verdict> {
        (self.both || sender == Side::Inside).then_some(self.verdict)
    }

    fn tenants(&self) -> Vec<Tenant> {
        let name = "all".to_owned();
        let cap = self.tenant_cap;
        Vec::from_iter(cap.is_some().then_some(Tenant {
            name,
            cap,
            senders: vec![EVERY_IPV4],
            bounds: self.bounds,
        }))
    }
}

/// The engine under BBR, unless the script's lines `# box: ...` say otherwise.
fn engine_for(file: &Path) -> EngineBox {
    let text = std::fs::read_to_string(file).expect("it has just been listed");
    let mut policy = Policy {
        verdict: Verdict::enforce(AlgorithmId::Bbr),
        both: false,
        tenant_cap: None,
        bounds: Bounds::default(),
    };
    let mut limits = Limits::default();
    for line in text.lines().filter_map(|l| l.strip_prefix("# box: ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let verdict = &mut policy.verdict;
        match words[..] {
            ["observe"] => verdict.mode = Mode::Observe,
            ["advise"] => verdict.mode = Mode::Advise,
            ["both"] => policy.both = true,
            ["boxes"] => verdict.feedback = Feedback::Boxes,
            ["ungoverned", "drop"] => verdict.ungoverned = Ungoverned::Drop,
            ["ungoverned", "limit"] => verdict.ungoverned = Ungoverned::Limit,
            ["unknown_tcp", "limit"] => policy.bounds.unknown_tcp = true,
            ["tenant_cap", cap] => {
                policy.tenant_cap = Some(cap.parse().expect("a number"));
                verdict.tenant = Some(TenantId(0));
            }
            ["police"] => verdict.police_tolerance = Some(3000),
            ["early"] => verdict.redundancy = Redundancy::EARLY,
            ["repairs"] => verdict.redundancy = Redundancy::REPAIRS,
            ["headroom", "off"] => verdict.headroom = false,
            ["insert_sack", "off"] => verdict.insert_sack = false,
            ["algorithm", name] => verdict.algorithm = algorithm(name).into(),
            [limit, value] => set_limit(&mut limits, limit, value.parse().expect("a number")),
            _ => panic!("{}: {line:?} is no box", file.display()),
        }
    }
    EngineBox::new(Box::new(policy), limits, 1)
}

fn algorithm(name: &str) -> AlgorithmId {
    name.parse().expect("an algorithm")
}

fn set_limit(limits: &mut Limits, name: &str, value: u64) {
    match name {
        "flows" => limits.flows = value as usize,
        "held_bytes_per_flow" => limits.held_bytes_per_flow = value,
        "held_bytes_total" => limits.held_bytes_total = value,
        "held_packets_per_prefix" => limits.held_packets_per_prefix = value,
        "held_packets_total" => limits.held_packets_total = value,
        "segments_per_flow" => limits.segments_per_flow = value as usize,
        _ => panic!("{name:?} is no limit"),
    }
}

/// Each rule of the engine, packet by packet. `WINDLASS_SCRIPTS` names another folder.
#[test]
#[allow(clippy::disallowed_methods)]
fn the_engine_keeps_its_rules() {
    let folder = std::env::var("WINDLASS_SCRIPTS").unwrap_or("scripts".into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    match script::run_folder(&folder, engine_for) {
        Ok(files) => assert!(files > 0, "{} holds no scripts", folder.display()),
        Err(failures) => panic!("\n{failures}"),
    }
}

/// What two boxes in a row let the ends see: in the same folder, `row`.
#[test]
fn two_boxes_in_a_row_do_not_fight() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/row");
    let row = |file: &Path| Row::new(engine_for(file), engine_for(file));
    match script::run_folder(&folder, row) {
        Ok(files) => assert!(files > 0, "{} holds no scripts", folder.display()),
        Err(failures) => panic!("\n{failures}"),
    }
}

proptest::proptest! {
    /// Whatever the text: it is read or refused, and a box that is not there passes it on.
    #[test]
    fn no_text_breaks_the_runner(words in proptest::collection::vec(word(), 0..60)) {
        let _ = script::run(&words.concat(), &mut NoBox::default());
    }

    #[test]
    fn no_bytes_break_the_parser(text in "\\PC{0,80}") {
        let _ = script::run(&text, &mut NoBox::default());
    }
}

fn word() -> impl proptest::strategy::Strategy<Value = String> {
    let words = [
        "0 ",
        "+0 ",
        "+0..1 ",
        "\n",
        "server> ",
        "client> ",
        ">server ",
        ">client ",
        "S ",
        ". ",
        "* ",
        "0:0(0) ",
        "1:11(10) ",
        "ack 1 ",
        "win 9 ",
        "by 3 ",
        "ecn ce ",
        "port 2 ",
        "same ",
        "skip ",
        "nothing for 1 ",
        "<mss 9,",
        "TS val * ecr 1,",
        "sack 1:2",
        ",raw 01",
        ",...",
        "> ",
        "expect ",
        "held ",
        "counter frames ",
        "== 0 ",
        "option v6",
        "9999999999 ",
        "4294967295:0(1) ",
    ];
    proptest::sample::select(words.map(String::from).to_vec())
}
