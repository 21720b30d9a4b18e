//! A server that speaks HTTPS, its file, and downloads of it.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use windlass_experiment::setup::server_address;
use windlass_lab::command::{Needed, run};
use windlass_sim::Rng;

use crate::lab::Lab;

pub const CURL: Needed = ("curl", "curl");
pub const OPENSSL: Needed = ("openssl", "openssl");

const PORT: u16 = 443;
const NAME: &str = "file.bin";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
const LOG: &str = "server.log";
/// What the server says when it listens.
const READY: &str = "ACCEPT";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// A download that has not ended by then has failed, s.
const LIMIT_S: &str = "120";

/// Dropping it ends the server.
pub struct Site {
    server: Child,
    folder: PathBuf,
    sum: Vec<u8>,
}

impl Site {
    /// A file of random bytes, which the lab's server hands out; its certificate is made here.
    pub fn open(lab: &Lab, bytes: usize) -> Site {
        let folder = lab.folder.path().to_owned();
        let mut random = Rng::new(bytes as u64, 0);
        let content: Vec<u8> = std::iter::repeat_with(|| random.bits().to_le_bytes())
            .flatten()
            .take(bytes)
            .collect();
        std::fs::write(folder.join(NAME), &content).expect("written");
        make_certificate(&folder);
        let log = File::create(folder.join(LOG)).expect("a log");
        let mut command = lab.topology.servers[0].command("openssl");
        command.args(["s_server", "-WWW", "-accept", &PORT.to_string()]);
        command.args(["-cert", CERTIFICATE, "-key", KEY]);
        command.current_dir(&folder).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        let site = Site {
            server: command.spawn().expect("cannot run ip"),
            folder,
            sum: Sha256::digest(&content).to_vec(),
        };
        site.wait_until_ready();
        site
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + START_TIMEOUT;
        let said = || std::fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
        while !said().contains(READY) {
            assert!(Instant::now() < deadline, "no server: {}", said());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// What the lab's client takes for all of it, s.
    ///
    /// # Errors
    /// When it does not get it in time, or not all of it, or something else.
    pub fn download(&self, lab: &Lab) -> Result<f64> {
        let got = self.folder.join("got.bin");
        let mut curl = lab.topology.clients[0].command("curl");
        curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*"]);
        curl.args(["--max-time", LIMIT_S, "--write-out", "%{time_total}"]);
        curl.arg("--cacert").arg(self.folder.join(CERTIFICATE));
        curl.arg("--output").arg(&got);
        curl.arg(format!("https://{}:{PORT}/{NAME}", server_address(0)));
        let said = run(&mut curl)?;
        let content = std::fs::read(&got)?;
        std::fs::remove_file(&got)?;
        let sum = Sha256::digest(&content);
        ensure!(
            sum.as_slice() == self.sum,
            "{} bytes, and not those that the server has",
            content.len()
        );
        said.trim().parse().context("curl told no time")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Signed by its own key, for the address of the server.
fn make_certificate(folder: &std::path::Path) {
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-nodes", "-days", "2"]);
    command.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    command.args(["-subj", "/CN=windlass", "-keyout", KEY, "-out", CERTIFICATE]);
    command.arg("-addext");
    command.arg(format!("subjectAltName=IP:{}", server_address(0)));
    run(command.current_dir(folder)).expect("a certificate");
}
