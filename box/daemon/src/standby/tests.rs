//! The link between two boxes, over loopback.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::key::Key;
use super::link::Link;
use super::message::Hello;

fn pair(mine: Key, theirs: Key) -> (io::Result<Link>, io::Result<Link>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let stop = Arc::default();
    let answers = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("it comes");
        Link::answer(stream, &theirs, &Arc::default())
    });
    let begun = TcpStream::connect(address).and_then(|stream| Link::begin(stream, &mine, &stop));
    (begun, answers.join().expect("no panic"))
}

#[test]
fn messages_of_any_length_come_as_they_were_said() {
    let (begun, answered) = pair(Key([7; 32]), Key([7; 32]));
    let (mut begun, mut answered) = (
        begun.expect("the same key"),
        answered.expect("the same key"),
    );
    let said: Vec<Vec<u8>> = [0, 1, 65_000, 65_535, 200_000, 3_000_000]
        .map(|len| (0..len).map(|i| (i % 251) as u8).collect())
        .into();
    let expected = said.clone();
    let hears = thread::spawn(move || {
        for message in expected {
            assert!(answered.receive::<Vec<u8>>().expect("a message") == message);
        }
        answered.send(&Hello::own()).expect("it is heard");
    });
    for message in &said {
        begun.send(message).expect("it is heard");
    }
    assert_eq!(begun.receive::<Hello>().expect("an answer"), Hello::own());
    hears.join().expect("all came");
}

#[test]
fn whoever_has_another_key_is_refused() {
    let (begun, answered) = pair(Key([7; 32]), Key([8; 32]));
    let why = answered.err().expect("refused").to_string();
    assert!(why.contains("the same key"), "{why}");
    assert!(begun.is_err());
}

/// Whoever dribbles does not hold the thread that hears.
#[test]
fn whoever_takes_his_time_is_let_go() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let slow = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        for _ in 0..40 {
            if stream.write_all(&[1]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    let (stream, _) = listener.accept().expect("it comes");
    let began = Instant::now();
    let why = Link::answer(stream, &Key([7; 32]), &Arc::default()).err();
    assert!(why.expect("refused").to_string().contains("too long"));
    assert!(began.elapsed() < Duration::from_secs(2));
    slow.join().expect("it ends");
}

#[test]
fn another_format_is_told() {
    assert_eq!(Hello::own().objection(), None);
    let other = Hello {
        format: 9999,
        ..Hello::own()
    };
    let why = other.objection().expect("another format");
    assert!(why.contains("format 9999"), "{why}");
}

#[test]
fn a_key_is_read_with_care() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("standby.key");
    let read = |text: &str, mode: u32| {
        std::fs::write(&path, text).expect("a file");
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("permissions");
        Key::read(&path).map(|key| key.0)
    };
    let digits = "0f".repeat(32);
    assert_eq!(read(&format!("{digits}\n"), 0o600), Ok([15; 32]));
    for (text, mode, why) in [
        (digits.as_str(), 0o644, "chmod 600"),
        ("0f0f", 0o600, "64 hexadecimal digits"),
        (&"zz".repeat(32), 0o600, "64 hexadecimal digits"),
        (&"0f".repeat(200), 0o600, "longer than"),
    ] {
        let error = read(text, mode).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let missing = Key::read("/nonexistent/key".as_ref())
        .map(|key| key.0)
        .unwrap_err();
    assert!(missing.contains("openssl rand"), "{missing}");
}
