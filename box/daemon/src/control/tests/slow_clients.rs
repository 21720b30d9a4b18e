//! Clients that are slow, and the socket itself.

use super::*;

/// All places are taken by clients that send a byte now and then, or nothing, or take no answer.
#[test]
fn slow_clients_cannot_hold_the_socket() {
    let fake = Fake::start(false);
    let slow: Vec<UnixStream> = (0..48)
        .map(|n| {
            let mut stream = UnixStream::connect(fake.path()).unwrap();
            if n % 2 == 0 {
                stream.write_all(b"{\"req").unwrap();
            }
            stream
        })
        .collect();
    let (stop, dripping) = (Arc::new(AtomicBool::new(false)), slow);
    let stopped = Arc::clone(&stop);
    let drip = thread::spawn(move || {
        while !stopped.load(Ordering::Acquire) {
            for mut stream in &dripping {
                let _ = stream.write_all(b" ");
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    for _ in 0..50 {
        let start = Instant::now();
        ask(&fake.path(), Request::Status).unwrap();
        assert!(start.elapsed() < Duration::from_secs(1));
    }
    stop.store(true, Ordering::Release);
    drip.join().unwrap();
}

/// However often it sends a byte.
#[test]
fn a_deadline_is_one_for_the_whole_request() {
    let (near, far) = UnixStream::pair().unwrap();
    let drip = thread::spawn(move || {
        let mut far = far;
        while far.write_all(b" ").is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let start = Instant::now();
    let limit = Duration::from_millis(100);
    let mut line = String::new();
    let near = near.into();
    let error = BufReader::new(deadline::Deadline::new(&near, limit))
        .read_line(&mut line)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!((limit..limit * 10).contains(&start.elapsed()));
    drop(near);
    drip.join().unwrap();
}

#[test]
fn a_socket_that_was_removed_is_made_again() {
    let fake = Fake::start(false);
    fs::remove_file(fake.path()).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while ask(&fake.path(), Request::Status).is_err() {
        assert!(Instant::now() < end, "nobody can ask any more");
        thread::sleep(Duration::from_millis(20));
    }
    let mode = fs::metadata(fake.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // What has taken its place is not ours to remove.
    fs::remove_file(fake.path()).unwrap();
    fs::write(fake.path(), "precious").unwrap();
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(fs::read(fake.path()).unwrap(), b"precious");
}

#[test]
fn a_folder_that_is_not_there_is_a_mistake_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("typo/w.sock");
    let error = Socket::bind(&path).unwrap_err().to_string();
    assert!(
        error.contains("there is no folder") && error.contains("mkdir -p"),
        "{error}"
    );
    assert!(!path.parent().unwrap().exists());
}

/// The interface is gone: what needs workers says so, the rest goes on, and is found by those to come.
#[test]
fn only_the_owner_may_ask() {
    let fake = Fake::start(false);
    let mode = fs::metadata(fake.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_live_socket_is_respected_and_a_stale_one_replaced() {
    let fake = Fake::start(false);
    match Socket::bind(&fake.path()) {
        Err(RunError::AnotherRuns { pid, .. }) => assert_eq!(pid as u32, std::process::id()),
        other => panic!("{other:?}"),
    }
    let stale = fake.folder.path().join("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    assert!(stale.exists());
    assert!(UnixStream::connect(&stale).is_err());
    let bound = Socket::bind(&stale).unwrap();
    UnixStream::connect(&stale).unwrap();
    drop(bound);
    assert!(!stale.exists(), "the name goes with the socket");
    let file = fake.folder.path().join("file");
    fs::write(&file, "precious").unwrap();
    let refused = Socket::bind(&file);
    assert!(matches!(refused, Err(RunError::ControlSocket { .. })));
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

/// What has been left to the kernel at the start decides, not the policy before.
#[test]
fn nobody_there_is_said_with_the_path() {
    let error = ask(
        "/nonexistent/w.sock".as_ref(),
        Request::Flows(FlowFilter::default()),
    )
    .unwrap_err();
    assert!(matches!(error, AskError::NotRunning { .. }));
    assert!(error.to_string().contains("/nonexistent/w.sock"));
}
