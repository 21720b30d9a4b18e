//! `windlass top` in a real terminal (tmux), in front of a box with traffic.

#[allow(dead_code)]
mod netns;

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use netns::{Daemon, MEGABYTE, PLACE, PROGRAM, Transfer, lab};

const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal of its own tmux server; ended when dropped.
struct Screen {
    socket: String,
}

impl Screen {
    /// None, with the reason printed, where there is no tmux. `command` is run by a shell that stays.
    fn start(command: &str) -> Option<Screen> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !Command::new("tmux")
            .arg("-V")
            .output()
            .is_ok_and(|o| o.status.success())
        {
            eprintln!("skipped: tmux is not here (apt install tmux)");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let screen = Screen {
            socket: format!("wltop-{}-{number}", std::process::id()),
        };
        screen.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "150",
            "-y",
            "30",
            "env PS1='$ ' TERM=screen sh",
        ]);
        screen.keys(&[command, "Enter"]);
        Some(screen)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        let output = tmux
            .args(["-L", &self.socket])
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// The process that the shell runs.
    fn child(&self) -> i32 {
        let shell = self.tmux(&["list-panes", "-F", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        children.unwrap().trim().parse().unwrap()
    }

    fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < deadline, "not {what}:\n{text}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .args(["-L", &self.socket, "kill-server"])
            .output();
    }
}

/// In which lines these are, from above.
fn order(text: &str, what: [&str; 2]) -> Option<[usize; 2]> {
    let line = |what: &str| text.lines().position(|line| line.contains(what));
    Some([line(what[0])?, line(what[1])?])
}

#[test]
fn flows_are_seen_sorted_filtered_and_looked_at() {
    let Some(lab) = lab() else { return };
    let daemon = Daemon::start(&lab, &PLACE);
    let control = daemon.control.display().to_string();
    let Some(screen) = Screen::start(&format!(
        "{PROGRAM} top --control {control} --interval 200ms"
    )) else {
        return;
    };
    let transfers = [8001, 8002].map(|port| Transfer::start(&lab, port));
    for transfer in &transfers {
        transfer.wait_for(2 * MEGABYTE);
    }
    let flows = ["10.77.0.1:8001>", "10.77.0.1:8002>"];
    let text = screen.wait_for("both flows with a rate", |text| {
        order(text, flows).is_some() && text.matches("Mbit/s").count() >= 3
    });
    assert!(
        text.contains("m0 > m1") && text.contains("governing"),
        "{text}"
    );
    assert!(
        text.contains("2 of 2 flows") && text.contains("rate v"),
        "{text}"
    );
    // By name, and the other way around.
    screen.keys(&["s"]);
    let by_name = |text: &str, up: bool| {
        order(text, flows).is_some_and(|[a, b]| (a < b) == up) && text.contains("sort (flow)")
    };
    screen.wait_for("in the order of names", |text| by_name(text, true));
    screen.keys(&["r"]);
    screen.wait_for("the other way around", |text| {
        by_name(text, false) && text.contains("flow ^")
    });
    // A filter that none meets, one that is wrong, and none.
    screen.keys(&["/", "--client 10.77.0.1", "Enter"]);
    screen.wait_for("no flow", |text| {
        text.contains("0 of 2 flows") && text.contains("no flow is like that")
    });
    screen.keys(&["/", " --slow quick", "Enter"]);
    screen.wait_for("a complaint", |text| text.contains("--slow"));
    screen.keys(&["C-c"]);
    screen.wait_for("the shell again", |text| text.trim_end().ends_with('$'));
    screen.keys(&[
        &format!(
            "{PROGRAM} top --control {control} --interval 200ms --client 10.77.0.2 --sort flow"
        ),
        "Enter",
    ]);
    screen.wait_for("flows", |text| by_name(text, true));
    // The pane of a flow, its numbers and its line.
    screen.keys(&["Down", "Enter"]);
    let pane = screen.wait_for("the flow more closely", |text| {
        text.contains("smallest")
            && text.contains("last minute, at most")
            && text.contains("limited by")
    });
    assert!(pane.contains("┌10.77.0.1:8002>"), "{pane}");
    screen.wait_for("its line", |text| ('▁'..='█').any(|bar| text.contains(bar)));
    screen.keys(&["?"]);
    screen.wait_for("the keys", |text| text.contains("Any key closes this"));
    screen.keys(&["x"]);
    // Another size.
    screen.tmux(&["resize-window", "-x", "60", "-y", "12"]);
    screen.wait_for("fewer columns", |text| {
        let head = text.lines().find(|line| line.starts_with("flow v"));
        head.is_some_and(|head| !head.contains("rtt")) && order(text, flows).is_some()
    });
    screen.keys(&["q"]);
    screen.wait_for("the shell again", |text| text.trim_end().ends_with('$'));
    screen.keys(&[
        "stty -a | grep -o -w -e icanon -e echo | tr '\\n' ' '; echo rc=$?",
        "Enter",
    ]);
    screen.wait_for("a terminal as before", |text| {
        text.contains("icanon echo rc=0")
    });
    drop(screen);
    for transfer in transfers {
        transfer.finish();
    }
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}

#[test]
fn a_box_that_is_not_there_is_told_and_waited_for() {
    let Some(lab) = lab() else { return };
    let control = lab.folder.path().join("w.sock");
    let Some(screen) = Screen::start(&format!(
        "{PROGRAM} top --interval 200ms --control {}",
        control.display()
    )) else {
        return;
    };
    screen.wait_for("a reason", |text| {
        text.contains("no windlass answers at") && text.contains("as soon as it runs")
    });
    let daemon = Daemon::start(&lab, &PLACE);
    screen.wait_for("the box", |text| {
        text.contains("governing") && text.contains("no flow is governed")
    });
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
    screen.wait_for("a reason", |text| text.contains("what is below is old"));
    let daemon = Daemon::start(&lab, &PLACE);
    screen.wait_for("the box again", |text| {
        text.contains("governing") && !text.contains("below is old")
    });
    lab.middle(&["link", "set", "m0", "down"]);
    screen.wait_for("why nothing is governed", |text| {
        text.contains("m0 is down (mend it with")
    });
    // A signal ends it as well as a key does, and so does the end of its terminal.
    let pid = screen.child();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    screen.wait_for("the shell again", |text| text.trim_end().ends_with('$'));
    screen.keys(&[
        &format!("{PROGRAM} top --control {}", control.display()),
        "Enter",
    ]);
    screen.wait_for("the box again", |text| text.contains("windlass 0"));
    let pid = screen.child();
    drop(screen);
    let deadline = Instant::now() + PATIENCE;
    while std::path::Path::new(&format!("/proc/{pid}/exe")).exists() {
        assert!(Instant::now() < deadline, "it goes on without a terminal");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(daemon.end(Signal::SIGTERM), Some(0));
}
