//! The page and its interface, in front of a daemon that is made up.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_daemon::OverviewReport;
use windlass_daemon::control::{Answer, EventsReport, Request, TrialsReport};
use windlass_daemon::view::{ViewReport, ViewRow};

use crate::listen::{CONNECTION_LIMIT, CONNECTIONS_MAX};
use crate::{Page, Server, WebConfig, WebError};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Answers like a daemon with 20,000 flows.
fn answer(request: Request) -> Answer {
    match request {
        Request::Overview => Answer::Overview(Box::default()),
        Request::Events { .. } => Answer::Events(EventsReport::default()),
        Request::View(query) => Answer::View(ViewReport {
            flows: 20_000,
            matching: 20_000,
            offset: query.offset,
            rows: vec![ViewRow::default(); query.rows as usize],
            ..ViewReport::default()
        }),
        Request::Trials => Answer::Trials(TrialsReport::default()),
        Request::Bypass { on } => Answer::Bypass { on },
        _ => Answer::Error {
            error: "not now".to_owned(),
        },
    }
}

fn serve_control(path: &Path) {
    let listener = UnixListener::bind(path).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            let Ok(request) = serde_json::from_str(&line) else {
                continue;
            };
            let said = serde_json::to_string(&answer(request)).expect("JSON");
            let _ = writeln!(&stream, "{said}");
        }
    });
}

struct Site {
    address: SocketAddr,
    _server: Server,
    _folder: TempDir,
}

impl Site {
    /// With the token, and on a loopback address; `open`: as if others could reach it.
    fn start(write: bool, open: bool) -> Site {
        let folder = tempfile::tempdir().expect("a folder");
        let control = folder.path().join("w.sock");
        serve_control(&control);
        let token = folder.path().join("token");
        fs::write(&token, TOKEN).expect("written");
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).expect("set");
        let mut page = Page::bind(&WebConfig {
            listen: "127.0.0.1:0".parse().expect("an address"),
            token_file: Some(token.display().to_string()),
            write,
            hosts: vec!["box.example".to_owned()],
        })
        .unwrap_or_else(|e| panic!("{e}"));
        page.access.reading_needs_token = open;
        let address = page.listener.local_addr().expect("an address");
        Site {
            address,
            _server: page.serve(control).unwrap_or_else(|e| panic!("{e}")),
            _folder: folder,
        }
    }

    /// Head and body of the answer to this request.
    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).expect("connected");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str, more: &str) -> (String, String) {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n"
        ))
    }

    fn bypass(&self, more: &str, body: &str) -> String {
        let length = body.len();
        let (head, body) = self.ask(&format!(
            "POST /api/v1/bypass HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n{body}"
        ));
        format!("{}: {body}", status(&head))
    }
}

fn status(head: &str) -> &str {
    head.get(9..12).unwrap_or("none")
}

const JSON: &str = "Content-Type: application/json\r\n";

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[test]
fn every_file_of_the_page_is_there_and_may_do_little() {
    let site = Site::start(false, true);
    for (path, kind, text) in crate::page::FILES {
        let (head, body) = site.get(path, "");
        let head = head.to_ascii_lowercase();
        assert_eq!(status(&head), "200", "{path}");
        assert!(
            head.contains(&format!("content-type: {kind}")),
            "{path}: {head}"
        );
        assert_eq!(body, *text, "{path}");
        for must in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
            "x-content-type-options: nosniff",
            "frame-ancestors 'none'",
            "cache-control: no-store",
        ] {
            assert!(head.contains(must), "{path} lacks {must}: {head}");
        }
        assert!(
            !head.contains("access-control") && !head.contains("unsafe"),
            "{head}"
        );
    }
    // Nothing leads elsewhere, and no script or style is within the page.
    for (path, kind, text) in crate::page::FILES
        .iter()
        .filter(|file| !file.0.contains("vendor"))
    {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{path}"
        );
        let inline = ["<style", "style=\"", "onclick=\"", "<script>"];
        let html = kind.starts_with("text/html");
        assert!(
            !html || inline.iter().all(|bad| !text.contains(bad)),
            "{path}"
        );
        assert!(!text.contains("innerHTML"), "{path}");
    }
    assert_eq!(status(&site.get("/nothing", "").0), "404");
    assert_eq!(status(&site.get("/../Cargo.toml", "").0), "404");
}

#[test]
fn another_name_is_refused() {
    let site = Site::start(true, false);
    for host in ["evil.example", "evil.example:80", ""] {
        for path in ["/", "/api/v1/overview"] {
            let (head, body) = site.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(status(&head), "421", "{host}");
            assert!(body.contains("not one of the box"), "{body}");
        }
    }
    assert_eq!(status(&site.ask("GET / HTTP/1.0\r\n\r\n").0), "421");
    let named = site.ask("GET /api/v1/overview HTTP/1.1\r\nHost: box.example:9470\r\n\r\n");
    assert_eq!(status(&named.0), "200");
    let report: OverviewReport = serde_json::from_str(&named.1).expect("an overview");
    assert_eq!(report, OverviewReport::default());
}

#[test]
fn bypass_needs_the_token_and_leave() {
    let on = "{\"on\":true}";
    let site = Site::start(true, false);
    assert!(
        site.bypass(JSON, on).starts_with("401"),
        "{}",
        site.bypass(JSON, on)
    );
    let wrong = format!("{JSON}{}", bearer("0123456789abcdef0123456789abcdeF"));
    assert!(site.bypass(&wrong, on).starts_with("401"));
    let right = format!("{JSON}{}", bearer(TOKEN));
    assert_eq!(site.bypass(&right, on), "200: {\"on\":true}");
    // A form of another page, which needs no leave, is not understood even with the token.
    let form = format!("Content-Type: text/plain\r\n{}", bearer(TOKEN));
    assert!(site.bypass(&form, on).starts_with("415"));
    assert!(site.bypass(&right, "{\"on\":1}").starts_with("422"));
    assert!(site.bypass(&right, "{").starts_with("400"));
    assert!(site.bypass(&right, &" ".repeat(5000)).starts_with("413"));
    let preflight = site
        .ask("OPTIONS /api/v1/bypass HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\n\r\n");
    assert_eq!(status(&preflight.0), "401");
    let shows = Site::start(false, false);
    assert!(shows.bypass(&right, on).starts_with("403"));
}

#[test]
fn others_read_nothing_without_the_token() {
    let site = Site::start(false, true);
    assert_eq!(status(&site.get("/api/v1/overview", "").0), "401");
    assert_eq!(status(&site.get("/api/openapi.json", "").0), "401");
    assert_eq!(status(&site.get("/", "").0), "200");
    assert_eq!(
        status(&site.get("/api/v1/overview", &bearer(TOKEN)).0),
        "200"
    );
    let near = Site::start(false, false);
    let (_, about) = near.get("/api/v1/about", &bearer(TOKEN));
    let about: serde_json::Value = serde_json::from_str(&about).expect("JSON");
    assert_eq!(
        (&about["has_token"], &about["write"]),
        (&true.into(), &false.into())
    );
}

#[test]
fn questions_are_understood_or_refused() {
    let site = Site::start(false, false);
    let (head, body) = site.get(
        "/api/v1/flows?order=rtt&rows=7&offset=40&client=192.0.2.0/24",
        "",
    );
    assert_eq!(status(&head), "200", "{body}");
    let view: ViewReport = serde_json::from_str(&body).expect("a view");
    assert_eq!((view.rows.len(), view.offset), (7, 40));
    for wrong in [
        "order=weather",
        "rows=-1",
        "client=nowhere",
        "limited_by=weather",
        "slow_bps=x",
        "colour=red",
    ] {
        let (head, body) = site.get(&format!("/api/v1/flows?{wrong}"), "");
        assert_eq!(status(&head), "400", "{wrong}");
        assert!(body.starts_with("{\"error\":\""), "{wrong}: {body}");
    }
    let (head, body) = site.get("/api/v1/rules", "");
    assert_eq!(
        (status(&head), body.as_str()),
        ("409", "{\"error\":\"not now\"}")
    );
}

/// The description names all that is served, and describes what is answered.
#[test]
fn the_interface_is_described() {
    let site = Site::start(false, false);
    let described: serde_json::Value =
        serde_json::from_str(&site.get("/api/openapi.json", "").1).expect("JSON");
    let paths = described["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 11);
    for path in paths.keys().filter(|path| *path != "/api/v1/bypass") {
        let needs = if path.ends_with("/flow") || path.ends_with("/explain") {
            "?flow=10.0.0.1:1%3E10.0.0.2:2"
        } else {
            ""
        };
        let found = site.get(&format!("{path}{needs}"), "").0;
        assert!(["200", "409"].contains(&status(&found)), "{path}: {found}");
    }
    let schemas = described["components"]["schemas"]
        .as_object()
        .expect("schemas");
    for name in [
        "OverviewReport",
        "ViewReport",
        "FlowReport",
        "EventReport",
        "TrialsReport",
        "TrialReport",
        "AutoTried",
        "Problem",
    ] {
        assert!(
            schemas.contains_key(name),
            "{name} is not described: {:?}",
            schemas.keys()
        );
    }
    let text = described.to_string();
    assert!(
        text.contains("cwnd_bytes") && text.contains("Congestion window."),
        "{text}"
    );
    // The page asks for nothing else.
    for (file, _, text) in crate::page::FILES {
        for asked in text
            .split("await get(\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let path = format!("/api/v1/{asked}");
            assert!(
                paths.contains_key(&path) || file.contains("vendor"),
                "{file} asks for {path}"
            );
        }
    }
}

#[test]
fn who_is_slow_holds_nothing() {
    let site = Site::start(false, false);
    // More connections than there may be, which say half of a request.
    let begun = Instant::now();
    let slow: Vec<TcpStream> = (0..CONNECTIONS_MAX + 8)
        .map(|_| {
            let mut stream = TcpStream::connect(site.address).expect("connected");
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: local");
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(status(&site.get("/api/v1/overview", "").0), "200");
    }
    assert!(begun.elapsed() < CONNECTION_LIMIT, "{:?}", begun.elapsed());
    // And in the end each of them is cut off.
    for mut stream in slow {
        let left = (CONNECTION_LIMIT + Duration::from_secs(5)).saturating_sub(begun.elapsed());
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .expect("set");
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let waits = ended
            .as_ref()
            .is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!waits, "{ended:?}");
    }
    let long = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let mut stream = TcpStream::connect(site.address).expect("connected");
    let _ = stream.write_all(long.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
}

#[test]
fn a_daemon_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = WebConfig {
        listen: "127.0.0.1:0".parse().expect("an address"),
        token_file: None,
        write: false,
        hosts: Vec::new(),
    };
    let page = Page::bind(&config).unwrap_or_else(|e| panic!("{e}"));
    let address = page.listener.local_addr().expect("an address");
    let taken = Page::bind(&WebConfig {
        listen: address,
        ..config
    });
    assert!(matches!(taken, Err(WebError::Listen { .. })));
    let server = page.serve(folder.path().join("w.sock"));
    let site = Site {
        address,
        _server: server.unwrap_or_else(|e| panic!("{e}")),
        _folder: folder,
    };
    let (head, body) = site.get("/api/v1/overview", "");
    assert_eq!(status(&head), "503");
    assert!(body.contains("is `windlass run` running"), "{body}");
    assert_eq!(status(&site.get("/", "").0), "200");
}
