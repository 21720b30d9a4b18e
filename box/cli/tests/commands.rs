//! The program from outside: what it prints, refuses, and exits with.

mod program;

use std::fs;
use std::process::Command;

use program::{stderr, stdout, windlass};

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[test]
fn help_names_every_command_and_version_is_the_crates() {
    let help = windlass(&["--help"]);
    assert!(help.status.success());
    for command in [
        "run",
        "attach",
        "detach",
        "doctor",
        "flow",
        "algorithm",
        "policy",
        "auto",
        "guard",
        "trial",
        "bypass",
        "counters",
        "status",
        "events",
        "top",
        "completions",
    ] {
        assert!(
            stdout(&help).contains(&format!("\n  {command} ")),
            "{command}"
        );
        assert!(windlass(&[command, "--help"]).status.success(), "{command}");
    }
    for handed_over in ["demo", "lab", "send", "recv"] {
        let line = format!("\n  {handed_over} ");
        assert!(stdout(&help).contains(&line), "{handed_over}");
    }
    let version = windlass(&["--version"]);
    assert_eq!(
        stdout(&version),
        format!("windlass {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn algorithms_are_listed_as_json() {
    let list = windlass(&["algorithm", "list", "-j"]);
    let all: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let names: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["name"].as_str().unwrap())
        .collect();
    let expected = "reno cubic bbr bbr3 dctcp prague highspeed scalable hybla illinois compound vegas westwood htcp \
                    yeah veno bic fast copa ledbat mystique_bbr sourdough";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    let shown = windlass(&["algorithm", "list"]);
    assert_eq!(stdout(&shown).lines().count(), names.len());
}

#[test]
fn what_is_no_plugin_is_not_added() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.wasm");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let kept = folder.path().join("kept");
        command
            .args(arguments)
            .env("WINDLASS_PLUGINS", kept)
            .output()
            .unwrap()
    };
    let add = [
        "algorithm",
        "add",
        file.to_str().unwrap(),
        "--control",
        "/nonexistent/w.sock",
    ];
    let missing = run(&add);
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        stderr(&missing).contains("x.wasm: No such file"),
        "{}",
        stderr(&missing)
    );
    fs::write(&file, "not a module").unwrap();
    let wrong = run(&add);
    assert!(
        stderr(&wrong).contains("not a module that can be run here"),
        "{}",
        stderr(&wrong)
    );
    let unknown = run(&["algorithm", "remove", "x"]);
    assert!(stderr(&unknown).contains("no plugin is called x; there are: none"));
    assert!(!folder.path().join("kept").exists(), "nothing was written");

    // One that was damaged on the disk is told, and the command does its work.
    fs::create_dir(folder.path().join("kept")).unwrap();
    fs::write(folder.path().join("kept/bad.wasm"), "damaged").unwrap();
    let listed = run(&["algorithm", "list"]);
    assert!(listed.status.success() && stderr(&listed).contains("kept/bad.wasm: not a module"));
    assert!(run(&["algorithm", "remove", "bad"]).status.success());
    assert_eq!(stderr(&run(&["algorithm", "list"])), "");
}

/// What a windlass that was killed leaves behind is no windlass that runs.
#[test]
fn a_socket_without_a_daemon_keeps_no_plugin_from_being_added_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("w.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let file = folder.path().join("late_loop.wasm");
    fs::write(
        &file,
        wat::parse_str(include_str!("late_loop.wat")).unwrap(),
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(arguments)
            .args(["--control", socket.to_str().unwrap()]);
        command.env("WINDLASS_PLUGINS", folder.path().join("kept"));
        command.output().unwrap()
    };
    let added = run(&["algorithm", "add", file.to_str().unwrap()]);
    assert!(added.status.success(), "{}", stderr(&added));
    assert!(
        stdout(&added).contains("no windlass is running"),
        "{}",
        stdout(&added)
    );
    let listed = run(&["algorithm", "list"]);
    assert!(listed.status.success(), "{}", stderr(&listed));
    assert!(
        stdout(&listed).contains("late_loop     [plugin] s"),
        "{}",
        stdout(&listed)
    );
}

#[test]
fn wrong_usage_exits_with_2() {
    for (arguments, said) in [
        (&["run", "--algorithm", "cubik"][..], "cubic"),
        (&["run", "--mode", "enforced"], "enforce"),
        (&["run", "--ports", "80,0"], "1..=65535"),
        (&["run", "--trace-interval", "5"], "20ms"),
        (&["run", "--redundancy", "all"], "early"),
        (&["bypass"], "<SWITCH>"),
        (&["doctor", "--inside", "x"], "--outside"),
        (&["flows"], "flow"),
    ] {
        let output = windlass(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            stderr(&output).contains(said),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_mistake_in_the_configuration_is_shown_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    fs::write(&file, "version = 1\n[default]\nalgorithm = \"cubik\"\n").unwrap();
    let file = file.to_str().unwrap();
    let output = windlass(&["run", "--config", file]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.starts_with(&format!(
        "windlass: {file}:3:13: unknown algorithm \"cubik\"\n"
    )));
    assert!(said.contains("\n  3 | algorithm = \"cubik\"\n"), "{said}");
    assert!(said.contains("did you mean \"cubic\"?"), "{said}");

    let output = windlass(&["run", "--config", "/nonexistent/w.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("/nonexistent/w.toml: No such file"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn both_interfaces_must_be_named() {
    let output = windlass(&["run", "--inside", "a"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("--inside IF --outside IF"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn interfaces_that_do_not_exist_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let control = folder.path().join("w.sock");
    let control = control.to_str().unwrap();
    let run = [
        "run",
        "--inside",
        "wlnone0",
        "--outside",
        "wlnone1",
        "--control",
        control,
    ];
    let output = windlass(&run);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    if is_root() {
        assert!(
            said.contains("there is no interface wlnone0")
                && said.contains("there is no interface wlnone1")
                && said.contains("mend it with: --inside "),
            "{said}"
        );
    } else {
        assert!(
            said.contains("CAP_NET_ADMIN") && said.contains("sudo"),
            "{said}"
        );
    }
    assert!(!fs::exists(control).unwrap());
}

#[test]
fn without_a_daemon_every_question_says_so() {
    for command in [
        &["flow", "show"][..],
        &["flow", "show", "-j"],
        &["counters"],
        &["status"],
        &["bypass", "on"],
    ] {
        let mut arguments = command.to_vec();
        arguments.extend(["--control", "/nonexistent/w.sock"]);
        let output = windlass(&arguments);
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let said = stderr(&output);
        assert!(
            said.contains("no windlass answers at /nonexistent/w.sock"),
            "{said}"
        );
        assert!(said.contains("windlass run"), "{said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_doctor_finds_what_is_missing() {
    let output = windlass(&["doctor", "-j"]);
    let diagnosis: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diagnosis["ok"] == true, output.status.code() == Some(0));
    let findings = diagnosis["findings"].as_array().unwrap();
    for subject in ["privileges", "kernel", "af_xdp", "memlock", "bridge"] {
        assert!(
            findings.iter().any(|f| f["subject"] == subject),
            "{subject}"
        );
    }
    for finding in findings {
        assert_eq!(
            finding["state"] == "ok",
            finding["mend"].is_null(),
            "{finding}"
        );
    }

    let output = windlass(&["doctor", "--inside", "wlnone0", "--outside", "wlnone1"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(
        said.contains("MISSING") && said.contains("wlnone0"),
        "{said}"
    );
    assert!(said.ends_with("windlass cannot run here\n"), "{said}");
}

#[test]
fn completions_are_for_this_program() {
    let output = windlass(&["completions", "bash"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("_windlass()"));
}

const ALGORITHM_1: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../policies/algorithm-1.toml"
);
const FLOW: &str = "10.0.0.1:443>192.0.2.7:5555";

/// As a package installs them: the program in one folder, the policies in another beside it.
#[test]
fn policies_that_come_with_windlass_are_found_from_any_folder() {
    let root = tempfile::tempdir().unwrap();
    let programs = root.path().join("usr/bin");
    let own = programs.join("windlass");
    fs::create_dir_all(&programs).unwrap();
    // A process of its own copies it: what another test starts meanwhile would hold a file that this one writes.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_windlass"))
        .arg(&own)
        .status();
    assert!(copied.unwrap().success());
    let elsewhere = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&own);
        command.args(arguments).current_dir(elsewhere.path());
        command.output().unwrap()
    };
    let without = run(&["policy", "check", "policies/algorithm-1.toml"]);
    assert_eq!(without.status.code(), Some(1));
    let said = stderr(&without);
    assert!(
        said.contains("package windlass-lab") && said.contains("No such file"),
        "{said}"
    );
    let policies = root.path().join("usr/share/windlass/policies");
    fs::create_dir_all(&policies).unwrap();
    fs::copy(ALGORITHM_1, policies.join("algorithm-1.toml")).unwrap();
    for named in ["policies/algorithm-1.toml", "algorithm-1"] {
        let good = run(&["policy", "check", named]);
        assert!(good.status.success(), "{named}: {}", stderr(&good));
        let said = stdout(&good);
        assert!(
            said.contains("usr/share/windlass/policies/algorithm-1.toml: 1 rule(s)"),
            "{said}"
        );
        let explained = run(&["policy", "explain", "--config", named, "--flow", FLOW]);
        assert!(stdout(&explained).contains("yes  algorithm 1"), "{named}");
    }
    // A file of one's own comes first, and another path is only a path.
    fs::write(elsewhere.path().join("algorithm-1"), "version = 1\n").unwrap();
    let mine = run(&["policy", "check", "algorithm-1"]);
    assert!(
        stdout(&mine).starts_with("algorithm-1: "),
        "{}",
        stdout(&mine)
    );
    let other = run(&["policy", "check", "mine/algorithm-1.toml"]);
    assert_eq!(other.status.code(), Some(1));
}

#[test]
fn policies_are_checked() {
    let good = windlass(&["policy", "check", ALGORITHM_1]);
    assert!(good.status.success());
    assert!(
        stdout(&good).contains("1 rule(s), 1 of which govern, 1 with"),
        "{}",
        stdout(&good)
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    fs::write(
        &file,
        "version = 1\n[[rule]]\nmatch = \"sport == 443 and vlan == 1\"\n",
    )
    .unwrap();
    let bad = windlass(&["policy", "check", file.to_str().unwrap()]);
    assert_eq!(bad.status.code(), Some(1));
    let said = stderr(&bad);
    assert!(
        said.contains("w.toml:3:23: not understood") && said.contains("write && for and"),
        "{said}"
    );
    let none = windlass(&["policy", "check", "/nowhere/w.toml"]);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(
        stderr(&none).matches("No such file").count(),
        1,
        "{}",
        stderr(&none)
    );
}

#[test]
fn policies_are_explained() {
    let explain = |more: &[&str]| {
        let mut arguments = vec!["policy", "explain", "--config", ALGORITHM_1, "--flow", FLOW];
        arguments.extend(more);
        windlass(&arguments)
    };
    let text = stdout(&explain(&["--path", "rtt=80ms,loss=1%"]));
    for line in [
        "  yes  algorithm 1\n",
        "  no   rtt < duration('50ms'): \"illinois\" (rtt = 80 ms)\n",
        "this path gets \"bbr\"\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&explain(&["--path", "rtt=20ms,loss=1%", "-j"]).stdout).unwrap();
    assert_eq!(json["switching"]["algorithm"], "illinois");
    assert_eq!(json["switching"]["switches"][0]["holds"], false);
    assert_eq!(json["rules"][0]["matches"], true);
    let other = stdout(&explain(&["--sender", "outside"]));
    assert!(other.contains("no rule matches"), "{other}");
    for wrong in [
        ["--path", "rtt=80"],
        ["--path", "speed=3"],
        ["--flow", "10.0.0.1"],
    ] {
        assert_eq!(explain(&wrong).status.code(), Some(2), "{wrong:?}");
    }
}
