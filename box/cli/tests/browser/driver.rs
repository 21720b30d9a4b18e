//! Debian's Chromium, led by its driver (W3C WebDriver, https and all left out: a few requests over plain TCP).

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::netns::Lab;

const PORT: u16 = 9515;
const PATIENCE: Duration = Duration::from_secs(60);
/// How an element is named in answers (W3C WebDriver §12.1).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser in the middle namespace; ended when dropped.
pub struct Browser {
    driver: Child,
    session: String,
    /// What talks to the driver from within the namespace.
    namespace: String,
    profile: TempDir,
}

impl Browser {
    /// None, with the reason printed, where there is none.
    pub fn start(lab: &Lab) -> Option<Browser> {
        for program in ["chromium", "chromedriver"] {
            if Command::new(program).arg("--version").output().is_err() {
                eprintln!("skipped: {program} is not here (apt install chromium chromium-driver)");
                return None;
            }
        }
        let profile = tempfile::tempdir().unwrap();
        let mut command = lab.command("m", "chromedriver");
        command
            .arg(format!("--port={PORT}"))
            .env("HOME", profile.path());
        let driver = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Browser {
            driver,
            session: String::new(),
            namespace: format!("/run/netns/{}", lab.name("m")),
            profile,
        };
        browser.begin();
        Some(browser)
    }

    fn begin(&mut self) {
        let data = format!(
            "--user-data-dir={}",
            self.profile.path().join("data").display()
        );
        let arguments = json!([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,900",
            data,
        ]);
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments},
        }}});
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The driver may not listen yet.
            match self.send("POST", "/session", Some(&wanted)) {
                Ok(answer) => {
                    let session = answer["value"]["sessionId"].as_str();
                    let session = session.unwrap_or_else(|| panic!("no session: {answer}"));
                    self.session = format!("/session/{session}");
                    return;
                }
                Err(e) => assert!(Instant::now() < deadline, "{e}"),
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> io::Result<Value> {
        let body = body.map_or(String::new(), Value::to_string);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let namespace = File::open(&self.namespace)?;
        let body = thread::spawn(move || exchange(namespace, &request))
            .join()
            .unwrap()?;
        Ok(serde_json::from_slice(&body)?)
    }

    fn command(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let path = format!("{}{path}", self.session);
        let answer = self.send(method, &path, body.as_ref()).unwrap();
        assert_eq!(answer["value"]["error"], Value::Null, "{path}: {answer}");
        answer["value"].clone()
    }

    pub fn open(&self, url: &str) {
        self.command("POST", "/url", Some(json!({"url": url})));
    }

    /// What this script returns.
    pub fn run(&self, script: &str) -> Value {
        self.command(
            "POST",
            "/execute/sync",
            Some(json!({"script": script, "args": []})),
        )
    }

    /// Waits until the expression is true.
    pub fn wait_for(&self, what: &str, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.run(&format!("return Boolean({expression});")) != true {
            let text = self.run("return document.body.innerText;");
            assert!(
                Instant::now() < deadline,
                "not {what}: {expression}\n{text}"
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn element(&self, selector: &str) -> String {
        let found = self.command(
            "POST",
            "/element",
            Some(json!({"using": "css selector", "value": selector})),
        );
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.command(
            "POST",
            &format!("/element/{element}/click"),
            Some(json!({})),
        );
    }

    /// Types it; keys that are no characters have those of the Unicode private use area (W3C WebDriver §17.4.2).
    pub fn keys(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.command(
            "POST",
            &format!("/element/{element}/value"),
            Some(json!({"text": text})),
        );
    }

    /// A command of the DevTools protocol.
    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.command(
            "POST",
            "/goog/cdp/execute",
            Some(json!({"cmd": command, "params": parameters})),
        )
    }

    /// What the browser complains of: scripts that fail, and what the policy of the page forbids.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "/se/log", Some(json!({"type": "browser"})));
        let severe = log
            .as_array()
            .unwrap()
            .iter()
            .filter(|line| line["level"] == "SEVERE");
        severe
            .map(|line| line["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Into the folder that `WINDLASS_SCREENSHOTS` names, if it does.
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("WINDLASS_SCREENSHOTS") else {
            return;
        };
        let data = self.command("GET", "/screenshot", None);
        let path = std::path::Path::new(&folder).join(format!("{name}.png.base64"));
        std::fs::write(path, data.as_str().unwrap()).unwrap();
    }
}

/// Asks the driver from within its namespace.
fn exchange(namespace: File, request: &str) -> io::Result<Vec<u8>> {
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    let mut stream = TcpStream::connect(("127.0.0.1", PORT))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut part = [0; 1 << 16];
    // The driver may leave the connection open: the head says how long the answer is.
    loop {
        let count = stream.read(&mut part)?;
        answer.extend_from_slice(&part[..count]);
        if let Some(body) = whole_body(&answer) {
            return Ok(body.to_vec());
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn whole_body(answer: &[u8]) -> Option<&[u8]> {
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))?;
    let length: usize = length.trim().parse().ok()?;
    answer[end + 4..].get(..length)
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.send("DELETE", &self.session, None);
        }
        let _ = kill(Pid::from_raw(self.driver.id() as i32), Signal::SIGTERM);
        let _ = self.driver.wait();
    }
}
