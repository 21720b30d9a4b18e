//! Boots guests. Skips with the reason where QEMU, busybox or the kernel package cannot be had.

use std::time::{Duration, Instant};

use windlass_guest::{Contents, Event, Guest, Image};

const PATIENCE: Duration = Duration::from_secs(1);

/// Runs a command in a guest: its lines, its exit status or why there is none, the console.
fn run(command: &str, input: &[u8]) -> Option<(Vec<String>, Result<i32, String>, String)> {
    let contents = Contents {
        programs: Vec::new(),
        tools: &[("ip", "iproute2")],
        files: vec![("/etc/protocols".into(), "/etc/protocols".into())],
        modules: &["veth", "bridge", "tcp_bbr"],
    };
    if let Err(reason) = windlass_guest::check_host() {
        println!("skipped: {reason:#}");
        return None;
    }
    let image = Image::prepare(&contents).expect("an image");
    let folder = tempfile::tempdir().expect("a folder");
    let mut guest = Guest::start(&image, folder, command, input).expect("QEMU starts");
    let mut lines = Vec::new();
    let end = loop {
        match guest.next(PATIENCE) {
            Ok(Event::Line(line)) => lines.push(line),
            Ok(Event::Quiet) => {}
            Ok(Event::End { status }) => break Ok(status),
            Err(error) => break Err(format!("{error:#}")),
        }
    };
    Some((lines, end, guest.last_words()))
}

#[test]
fn a_command_runs_and_much_output_comes_whole() {
    let command = "cat /job/input\n\
        /usr/bin/ip link add a0 type veth peer name a1 && /usr/bin/ip -o link show a1 | grep -c a1@a0\n\
        cat /proc/sys/net/ipv4/tcp_available_congestion_control\n\
        grep -m1 resolution /proc/timer_list\n\
        grep -c ^tcp /etc/protocols\n\
        seq 200000\n\
        exit 7";
    let started = Instant::now();
    let Some((lines, end, console)) = run(command, b"hello\n") else {
        return;
    };
    println!("{:.1} s\n{console}", started.elapsed().as_secs_f64());
    assert_eq!(end, Ok(7), "{console}");
    assert_eq!(&lines[..2], ["hello", "1"]);
    assert!(lines[2].contains("cubic") && lines[2].contains("bbr"));
    assert_eq!(lines[3].trim(), ".resolution: 1 nsecs");
    assert_ne!(lines[4], "0");
    let numbers = (1..=200_000).map(|n| n.to_string());
    assert!(lines[5..].iter().cloned().eq(numbers));
}

/// Ten minutes of sleep are no time at all, and the same job sees the same clock to the nanosecond.
#[test]
fn idle_time_is_skipped_and_the_clock_is_the_same_again() {
    let command = "cat /proc/uptime; sleep 600; cat /proc/uptime; head -c 8 /dev/urandom | hexdump";
    let Some((first, end, console)) = run(command, b"") else {
        return;
    };
    assert_eq!(end, Ok(0), "{console}");
    let seconds = |line: &str| -> f64 {
        let word = line.split_whitespace().next().expect("two figures");
        word.parse().expect("a figure")
    };
    let slept = seconds(&first[1]) - seconds(&first[0]);
    assert!((600.0..600.5).contains(&slept), "{slept}");
    let (second, ..) = run(command, b"").expect("as before");
    assert_eq!(first, second);
}

#[test]
fn a_panic_is_reported_with_the_last_words_of_the_console() {
    let command = "echo before; sleep 1; echo c > /proc/sysrq-trigger; sleep 5";
    let Some((lines, end, _)) = run(command, b"") else {
        return;
    };
    assert_eq!(lines, ["before"]);
    let error = end.expect_err("it died");
    assert!(error.contains("the guest died"), "{error}");
    assert!(error.contains("Kernel panic"), "{error}");
}
