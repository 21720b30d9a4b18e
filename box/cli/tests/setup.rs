//! `windlass setup` and its undoing, between two veths, with and without a systemd.

#[allow(dead_code, unused_imports)]
mod netns;
#[allow(dead_code)]
mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use netns::{Daemon, Lab, PLACE, PROGRAM, lab};
use nix::sys::signal::Signal;

/// A systemd that only writes down what it is told, and says that what was enabled or started is so.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$FAKE/said"
case "$1" in
    is-active) test -e "$FAKE/active" ;;
    is-enabled) test -e "$FAKE/enabled" ;;
    enable) : > "$FAKE/enabled" ;;
    start|restart) : > "$FAKE/active" ;;
    stop) rm -f "$FAKE/active" ;;
    disable) rm -f "$FAKE/enabled" ;;
esac
"#;

struct Bench {
    lab: Lab,
    config: PathBuf,
    record: PathBuf,
    systemd: bool,
}

impl Bench {
    fn new(systemd: bool) -> Option<Bench> {
        let lab = lab()?;
        let tool = Command::new("ethtool").arg("--version").output();
        if !tool.is_ok_and(|o| o.status.success()) {
            eprintln!("skipped: ethtool is not installed");
            return None;
        }
        // As a network card's driver has it.
        for port in ["m0", "m1"] {
            let mut ethtool = lab.command("m", "ethtool");
            assert!(
                ethtool
                    .args(["-K", port, "gro", "on"])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let folder = lab.folder.path().to_owned();
        for name in ["fake", "system"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let fake = folder.join("fake/systemctl");
        fs::write(&fake, SYSTEMCTL).unwrap();
        fs::set_permissions(fake, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Bench {
            config: folder.join("etc/windlass.toml"),
            record: folder.join("state/record.json"),
            lab,
            systemd,
        })
    }

    /// In file systems of its own: a systemd has started the machine or has not, and its units are in a folder of the lab.
    fn setup(&self, arguments: &[&str]) -> Output {
        let folder = self.lab.folder.path().display();
        let mut script = format!(
            "set -e; mount --bind {folder}/system /etc/systemd/system; mount -t tmpfs none /run; "
        );
        if self.jit().exists() {
            script += &format!("mount --bind {folder}/core /proc/sys/net/core; ");
        }
        if self.systemd {
            script += "mkdir -p /run/systemd/system; ";
        }
        script += "exec \"$@\"";
        let mut command = self.lab.command("m", "unshare");
        command.args([
            "--mount", "sh", "-c", &script, "sh", PROGRAM, "setup", "--config",
        ]);
        command.arg(&self.config).arg("--record").arg(&self.record);
        command
            .arg("--control")
            .arg(self.lab.folder.path().join("w.sock"))
            .args(arguments);
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{folder}/fake:{path}"))
            .env("FAKE", format!("{folder}/fake"));
        command
            .env("WINDLASS_PLUGINS", "/nowhere")
            .output()
            .unwrap()
    }

    /// What setup takes for the kernel's `net.core.bpf_jit_enable`, if it is there.
    fn jit(&self) -> PathBuf {
        self.lab.folder.path().join("core/bpf_jit_enable")
    }

    fn set_jit(&self, value: &str) {
        fs::create_dir_all(self.jit().parent().unwrap()).unwrap();
        fs::write(self.jit(), value).unwrap();
    }

    fn does(&self, arguments: &[&str]) -> String {
        let done = self.setup(arguments);
        assert!(
            done.status.success(),
            "{arguments:?}: {}{}",
            program::stdout(&done),
            program::stderr(&done)
        );
        program::stdout(&done)
    }

    fn refuses(&self, arguments: &[&str]) -> String {
        let done = self.setup(arguments);
        assert_eq!(done.status.code(), Some(1), "{}", program::stdout(&done));
        program::stderr(&done)
    }

    fn has_gro(&self, port: &str) -> bool {
        let shown = self
            .lab
            .command("m", "ethtool")
            .args(["-k", port])
            .output()
            .unwrap();
        program::stdout(&shown).contains("generic-receive-offload: on")
    }

    fn bridge(&self) -> bool {
        let shown = self
            .lab
            .command("m", "ip")
            .args(["link", "show", "windlass0"])
            .output();
        shown.unwrap().status.success()
    }

    fn unit_files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.lab.folder.path().join("system")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push(path.file_name().unwrap().to_str().unwrap().to_owned()),
                }
            }
        }
        files.sort();
        files
    }

    /// What systemd was told since it was last asked, without questions.
    fn orders(&self) -> Vec<String> {
        let said = self.lab.folder.path().join("fake/said");
        let text = fs::read_to_string(&said).unwrap_or_default();
        let _ = fs::remove_file(said);
        let orders = text.lines().filter(|line| !line.starts_with("is-"));
        orders.map(str::to_owned).collect()
    }
}

#[test]
fn without_systemd_it_prepares_says_how_to_start_and_undoes_all() {
    let Some(bench) = Bench::new(false) else {
        return;
    };
    let planned = bench.does(&[&PLACE[..], &["--dry-run"]].concat());
    assert!(
        planned.contains("ethtool -K m0 gro off\n") && planned.contains("inside = \"m0\""),
        "{planned}"
    );
    assert!(
        bench.has_gro("m0") && !bench.config.exists() && !bench.record.exists(),
        "{planned}"
    );

    let done = bench.does(&PLACE);
    assert!(
        done.contains("No systemd runs here: windlass was not started"),
        "{done}"
    );
    assert!(
        done.contains("After each boot, these come first:\n  ethtool -K m0 gro off\n"),
        "{done}"
    );
    assert!(done.contains("Windlass observes"), "{done}");
    assert!(!bench.has_gro("m0") && !bench.has_gro("m1"));
    let (config, record) = (
        fs::read_to_string(&bench.config).unwrap(),
        fs::read_to_string(&bench.record).unwrap(),
    );

    let again = bench.does(&PLACE);
    assert!(
        !again.contains("gro off\nwrote") && !again.contains("wrote "),
        "{again}"
    );
    assert_eq!(fs::read_to_string(&bench.config).unwrap(), config);
    assert_eq!(fs::read_to_string(&bench.record).unwrap(), record);

    let daemon = Daemon::with(&bench.lab, &["--config", bench.config.to_str().unwrap()]);
    assert_eq!(daemon.json(&["status", "-j"])["state"], "governing");
    let refused = bench.refuses(&["--undo"]);
    assert!(refused.contains("stop it first"), "{refused}");
    assert!(bench.bridge() && !bench.has_gro("m0"));
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));

    let planned = bench.does(&["--undo", "--dry-run"]);
    assert!(
        planned.contains("ip link del dev windlass0\n") && bench.bridge(),
        "{planned}"
    );
    let undone = bench.does(&["--undo"]);
    assert!(undone.contains("everything is as it was"), "{undone}");
    assert!(bench.has_gro("m0") && bench.has_gro("m1") && !bench.bridge());
    assert!(!bench.config.exists() && !bench.record.exists());
    assert!(bench.does(&["--undo"]).contains("there is nothing to undo"));
}

#[test]
fn with_systemd_the_service_is_started_once_and_what_was_there_comes_back() {
    let Some(bench) = Bench::new(true) else {
        return;
    };
    fs::create_dir(bench.config.parent().unwrap()).unwrap();
    let own = "version = 1\n# mine\n[[rule]]\nname = \"web\"\nports = [443]\n";
    fs::write(&bench.config, own).unwrap();
    let done = bench.does(&PLACE);
    assert!(
        done.contains("windlass.service is started, and starts at boot"),
        "{done}"
    );
    assert_eq!(
        bench.orders(),
        [
            "daemon-reload",
            "enable --quiet windlass.service",
            "start windlass.service"
        ]
    );
    // No package has brought a unit here.
    assert_eq!(bench.unit_files(), ["10-setup.conf", "windlass.service"]);
    let system = bench.lab.folder.path().join("system");
    let lasting = fs::read_to_string(system.join("windlass.service.d/10-setup.conf")).unwrap();
    assert!(
        lasting.contains("\nExecStartPre=-+ethtool -K m0 gro off\n"),
        "{lasting}"
    );
    let unit = fs::read_to_string(system.join("windlass.service")).unwrap();
    assert!(unit.contains(&format!("ExecStart={PROGRAM} run")), "{unit}");
    assert!(
        fs::read_to_string(&bench.config)
            .unwrap()
            .contains("# mine")
    );

    let again = bench.does(&PLACE);
    assert!(again.contains("nothing was to be changed"), "{again}");
    assert_eq!(
        bench.orders(),
        ["daemon-reload", "enable --quiet windlass.service"]
    );

    fs::write(&bench.config, "version = 1\n# edited since\n").unwrap();
    let undone = bench.does(&["--undo"]);
    assert_eq!(
        bench.orders(),
        [
            "stop windlass.service",
            "disable --quiet windlass.service",
            "daemon-reload"
        ]
    );
    assert_eq!(fs::read_to_string(&bench.config).unwrap(), own);
    let aside = bench.config.with_extension("before-undo");
    assert!(
        fs::read_to_string(aside).unwrap().contains("edited since"),
        "{undone}"
    );
    assert_eq!(bench.unit_files(), Vec::<String>::new());
    assert!(bench.has_gro("m0"));
}

/// A kernel that interprets BPF programs, which is one setting for all namespaces: a file stands for it.
#[test]
fn a_kernel_that_interprets_bpf_compiles_it_until_setup_is_undone() {
    let found = Command::new("sysctl").arg("--version").output();
    if !found.is_ok_and(|o| o.status.success()) {
        return eprintln!("skipped: sysctl is not installed (apt install procps)");
    }
    const COMMAND: &str = "sysctl -q -w net.core.bpf_jit_enable=1\n";
    let Some(bench) = Bench::new(true) else {
        return;
    };
    let jit = || fs::read_to_string(bench.jit()).unwrap();
    bench.set_jit("0\n");
    let planned = bench.does(&[&PLACE[..], &["--dry-run"]].concat());
    assert!(planned.contains(COMMAND), "{planned}");
    assert_eq!(jit(), "0\n");

    let done = bench.does(&PLACE);
    assert!(done.contains(COMMAND), "{done}");
    assert_eq!(jit(), "1\n");
    let lasting = bench.lab.folder.path();
    let lasting = lasting.join("system/windlass.service.d/10-setup.conf");
    let lasting = fs::read_to_string(lasting).unwrap();
    assert!(
        lasting.contains(&format!("\nExecStartPre=-+{COMMAND}")),
        "{lasting}"
    );
    let again = bench.does(&PLACE);
    assert!(again.contains("nothing was to be changed"), "{again}");

    let undone = bench.does(&["--undo"]);
    assert!(undone.contains("bpf_jit_enable=0\n"), "{undone}");
    assert_eq!(jit(), "0\n");

    // One that compiles them already is left as it is, also by the undoing.
    bench.set_jit("2\n");
    let done = bench.does(&PLACE);
    assert!(!done.contains("sysctl"), "{done}");
    let undone = bench.does(&["--undo"]);
    assert!(!undone.contains("sysctl"), "{undone}");
    assert_eq!(jit(), "2\n");
}

#[test]
fn it_refuses_what_would_cut_somebody_off_and_changes_nothing() {
    let Some(bench) = Bench::new(false) else {
        return;
    };
    bench
        .lab
        .middle(&["addr", "add", "10.88.0.1/24", "dev", "m1"]);
    let refused = bench.refuses(&PLACE);
    assert!(
        refused.contains("m1 has the address 10.88.0.1") && refused.contains("--lose-addresses"),
        "{refused}"
    );
    let unknown = bench.refuses(&["--inside", "m0", "--outside", "m9"]);
    assert!(unknown.contains("interface m9"), "{unknown}");
    let same = bench.refuses(&["--inside", "m0", "--outside", "m0"]);
    assert!(same.contains("cannot be both"), "{same}");
    assert!(bench.has_gro("m0") && !bench.config.exists() && !bench.record.exists());
    bench.does(&[&PLACE[..], &["--lose-addresses"]].concat());
    let other = bench.refuses(&["--inside", "m1", "--outside", "m0"]);
    assert!(other.contains("--undo first"), "{other}");

    let asked = bench.setup(&[]);
    assert_eq!(asked.status.code(), Some(2));
    assert!(
        program::stderr(&asked).contains("--inside IF"),
        "{}",
        program::stderr(&asked)
    );
    let recipe = bench.does(&["--inside", "x", "--outside", "y", "--placement", "router"]);
    assert!(
        recipe.contains("ip link add wlr type veth") && recipe.contains("Nothing was changed"),
        "{recipe}"
    );
}
