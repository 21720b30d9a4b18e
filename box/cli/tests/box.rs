//! The whole box between two namespaces: a transfer goes on through everything that happens to it.

#[allow(dead_code)]
mod netns;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use netns::{Daemon, MEGABYTE, PLACE, PROGRAM, Transfer, lab};

#[test]
fn a_transfer_goes_on_through_bypass_and_sigterm() {
    let Some(lab) = lab() else { return };
    let trace = lab.folder.path().join("trace.jsonl");
    let daemon = Daemon::start(
        &lab,
        &[&PLACE[..], &["--trace", trace.to_str().unwrap()]].concat(),
    );
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);

    let flow = daemon.flow(8001);
    assert_eq!(
        (&flow["mode"], &flow["algorithm"]),
        (&"enforce".into(), &"bbr".into())
    );
    assert_eq!(flow["passed"], Value::Null, "{flow}");
    assert!(flow["bytes_acked"].as_u64().unwrap() > MEGABYTE, "{flow}");
    for key in [
        "cwnd_bytes",
        "srtt_us",
        "min_rtt_us",
        "delivery_rate_bps",
        "pacing_rate_bps",
    ] {
        assert!(flow[key].as_u64().is_some_and(|v| v > 0), "{key} in {flow}");
    }
    is_as_described(&daemon);
    let shown = daemon.ask(&["flow", "show"]);
    assert!(
        shown.contains("10.77.0.1:8001>") && shown.contains("cwnd:"),
        "{shown}"
    );
    let wanted = |more: &[&str]| {
        let flows = daemon.json(&[&["flow", "show", "-j"], more].concat());
        flows.as_array().unwrap().len()
    };
    assert_eq!(wanted(&["--client", "10.77.0.0/24"]), 1);
    assert_eq!(wanted(&["--client", "10.77.0.1"]), 0);
    assert_eq!(wanted(&["--rule", "nobody"]), 0);
    assert_eq!(wanted(&["--slow", "1kbit"]), 0);
    let refused = daemon.refused(&["flow", "show", "--limited-by", "nothing"]);
    assert!(refused.contains("receiver"), "{refused}");
    watch_three_times(&daemon);
    assert!(daemon.counter("engine", "flows_governed") >= 1);
    assert_eq!(daemon.json(&["status", "-j"])["bypass"], false);

    daemon.ask(&["bypass", "on"]);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.json(&["status", "-j"])["bypass"], true);
    assert!(daemon.counter("xdp", "passed_bypass") > 100);
    daemon.ask(&["bypass", "off"]);
    let second = Transfer::start(&lab, 8002);
    second.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8002)["passed"], Value::Null);

    let control = daemon.control.clone();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    assert!(!control.exists());
    for transfer in [&transfer, &second] {
        transfer.wait_for(5 * MEGABYTE);
    }
    transfer.finish();
    second.finish();

    let text = std::fs::read_to_string(trace).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert!(lines.len() > 10, "{} lines of trace", lines.len());
    assert!(
        lines
            .iter()
            .all(|l| l["time_ns"].is_u64() && l["cwnd_bytes"].is_u64())
    );
}

/// Lines of JSON come until their reader goes.
/// Of a flow that runs, `flow show -j` has the fields of `flow schema`, and values of their types.
fn is_as_described(daemon: &Daemon) {
    let schema = Command::new(PROGRAM).args(["flow", "schema"]).output();
    let schema: Value = serde_json::from_slice(&schema.unwrap().stdout).unwrap();
    let item = &schema["items"];
    let flows = daemon.json(&["flow", "show", "-j"]);
    let flow = flows[0].as_object().unwrap();
    for name in item["required"].as_array().unwrap() {
        assert!(flow.contains_key(name.as_str().unwrap()), "{name}");
    }
    for (name, value) in flow {
        let described = &item["properties"][name]["type"];
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            other => panic!("{name}: {other}"),
        };
        let fits = match described {
            Value::Array(kinds) => kinds.iter().any(|one| one == kind),
            one => one == kind,
        };
        assert!(fits, "{name} is {value}, and should be {described}");
    }
}

fn watch_three_times(daemon: &Daemon) {
    let mut command = Command::new(PROGRAM);
    command.args(["flow", "show", "-j", "--watch", "20ms", "--control"]);
    let command = command.arg(&daemon.control).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acked = |line: String| {
        let flows: Value = serde_json::from_str(&line).unwrap();
        flows[0]["bytes_acked"].as_u64().unwrap()
    };
    let seen: Vec<u64> = lines.take(3).map(|line| acked(line.unwrap())).collect();
    assert!(seen.len() == 3 && seen[0] < seen[2], "{seen:?}");
    assert!(child.wait().unwrap().success(), "its reader has gone");
}

#[test]
fn a_transfer_goes_on_after_kill_9_and_a_new_windlass_takes_its_place() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8001)["passed"], Value::Null);
    let control = daemon.control.clone();
    assert_eq!(daemon.end(Signal::SIGKILL), None);
    transfer.wait_for(5 * MEGABYTE);
    assert!(control.exists(), "the socket of a killed process is left");

    let daemon = Daemon::start(&lab, &PLACE);
    let second = Transfer::start(&lab, 8002);
    second.wait_for(5 * MEGABYTE);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8002)["passed"], Value::Null);
    second.finish();
    transfer.finish();
    let other = lab
        .command("m", PROGRAM)
        .args(["run", "--inside", "m0", "--outside", "m1", "--control"])
        .arg(&daemon.control)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(1));
    assert!(said.contains("another windlass runs: pid "), "{said}");
    assert_eq!(daemon.end(Signal::SIGINT), Some(0));
}

#[test]
fn two_workers_and_a_packet_socket_carry_a_transfer_too() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &[&PLACE[..], &["--io", "packet"]].concat());
    let status = daemon.json(&["status", "-j"]);
    assert_eq!(
        (&status["io"], &status["fail_open"]),
        (&"packet".into(), &false.into())
    );
    let transfer = Transfer::start(&lab, 8001);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.flow(8001)["passed"], Value::Null);
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));

    for port in ["m0", "m1"] {
        let mut channels = lab.command("m", "ethtool");
        let output = channels.args(["-L", port, "rx", "2", "tx", "2"]).output();
        if !output.is_ok_and(|o| o.status.success()) {
            eprintln!("skipped: ethtool cannot give {port} two queues");
            return;
        }
    }
    let daemon = Daemon::start(&lab, &PLACE);
    assert_eq!(daemon.json(&["status", "-j"])["workers"], 2);
    let transfer = Transfer::start(&lab, 8002);
    transfer.wait_for(5 * MEGABYTE);
    daemon.ask(&["flow", "show", "-j"]);
    daemon.ask(&["bypass", "on"]);
    transfer.wait_for(5 * MEGABYTE);
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    transfer.wait_for(5 * MEGABYTE);
    transfer.finish();
}

/// An algorithm that is added while the box runs, named by rules that are applied, and that ends up in a
/// loop in the midst of a transfer.
#[test]
fn a_plugin_that_fails_leaves_its_flow_to_the_fallback() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    let module = lab.folder.path().join("late_loop.wasm");
    fs::write(
        &module,
        wat::parse_str(include_str!("late_loop.wat")).unwrap(),
    )
    .unwrap();
    let added = daemon.ask(&["algorithm", "add", module.to_str().unwrap()]);
    assert!(added.contains("the running windlass has it"), "{added}");
    assert!(daemon.plugins.join("late_loop.wasm").is_file());

    let policy = lab.folder.path().join("policy.toml");
    let text =
        "version = 1\n[default]\nalgorithm = { name = \"late_loop\", fallback = \"reno\" }\n";
    fs::write(&policy, text).unwrap();
    daemon.ask(&["policy", "apply", policy.to_str().unwrap()]);
    let transfer = Transfer::start(&lab, 8005);
    transfer.wait_for(4 * MEGABYTE);
    let early = daemon.flow(8005);
    transfer.wait_for(76 * MEGABYTE);
    let flow = daemon.flow(8005);
    assert_eq!(early["algorithm"], "late_loop", "{early}");
    assert_eq!(flow["algorithm"], "reno", "{flow}");
    let failed = flow["plugin_failed"].as_str().unwrap();
    assert_eq!(failed, "late_loop: it did not end within its instructions");
    assert_eq!(daemon.counter("engine", "plugin_faults"), 1);
    let all = daemon.json(&["algorithm", "list", "-j"]);
    let plugin = all.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&plugin["name"], &plugin["plugin"]),
        (&"late_loop".into(), &true.into())
    );
    assert_eq!(plugin["running"]["faults"], 1);
    let shown = daemon.ask(&["flow", "show"]);
    assert!(
        shown.contains("plugin_failed:\"late_loop: it did not end"),
        "{shown}"
    );
    transfer.finish();
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

/// Half of the flows are only observed. What came of all is shown, put on a page, and known after a restart.
#[test]
fn the_guard_compares_keeps_what_it_knows_and_tells() {
    let Some(lab) = lab() else { return };
    let file = |name: &str| lab.folder.path().join(name).display().to_string();
    let (config, kept, page) = (file("w.toml"), file("guard.json"), file("guard.html"));
    let text = format!(
        "version = 1\n[guard]\nshare = 0.5\nfirst_share = 0.5\nfile = \"{kept}\"\n\
         [[rule]]\nname = \"all\"\nalgorithm = \"bbr\"\n"
    );
    fs::write(&config, text).unwrap();
    let arguments = [&PLACE[..], &["--config", &config]].concat();
    let daemon = Daemon::start(&lab, &arguments);
    let mut observed = 0.0;
    for port in 8100..8112 {
        let transfer = Transfer::start(&lab, port);
        transfer.wait_for(MEGABYTE / 2);
        let flow = daemon.flow(port);
        let held_out = flow["held_out"].as_bool().unwrap();
        assert_eq!(flow["mode"] == "observe", held_out, "{flow}");
        observed += f64::from(u8::from(held_out));
        transfer.finish();
    }
    let rule = |daemon: &Daemon| daemon.json(&["guard", "show", "-j"])["rules"][0].clone();
    let transfers =
        |rule: &Value| [0, 1].map(|lot| rule["transfers"][lot].as_f64().unwrap().round());
    let found = rule(&daemon);
    assert_eq!(found["places"][0]["prefix"], "10.77.0.0/24");
    // A pause of the machine may split a transfer in two.
    let flows = [12.0 - observed, observed];
    let first = transfers(&found);
    let counted = first.iter().zip(flows).all(|(n, flows)| *n >= flows);
    assert!(counted && first.iter().sum::<f64>() <= 18.0, "{found}");
    let shown = daemon.ask(&["guard", "show"]);
    assert!(shown.contains("all (bbr): open"), "{shown}");
    daemon.ask(&["guard", "report", "--html", &page, "--since", "1d"]);
    let html = fs::read_to_string(&page).unwrap();
    let left_alone = format!("left alone for comparison {:.1} %", observed / 12.0 * 100.0);
    let told = ["Rule all", "12 flows", &left_alone, "10.77.0.0/24", "<svg"];
    let quantiles = ["median", "p95", "p99"].map(|name| format!("<td>{name}</td>"));
    for text in told.into_iter().chain(quantiles.iter().map(String::as_str)) {
        assert!(html.contains(text), "{text} is not in {html}");
    }

    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    let again = Daemon::start(&lab, &arguments);
    assert_eq!(transfers(&rule(&again)), transfers(&found));
    again.end(Signal::SIGTERM);
}
