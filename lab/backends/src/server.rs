//! The server: nginx with a folder of files.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::leftovers::check_interrupted;
use crate::netns::Namespace;

/// Where it listens.
pub const PORT: u16 = 80;
const START_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running nginx. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    child: Child,
}

impl Server {
    /// Serves `root` on `address`; keeps its own files in `folder`. Returns when it answers.
    ///
    /// # Errors
    /// When it does not come up; with what nginx says.
    pub fn start(
        namespace: &Namespace,
        address: Ipv4Addr,
        root: &Path,
        folder: &Path,
    ) -> Result<Self> {
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration(root, folder, address))?;
        let log = folder.join("nginx.log");
        let output = std::fs::File::create(&log)?;
        let mut command: Command = namespace.command("nginx");
        command.arg("-c").arg(&file).arg("-e").arg(&log);
        command.stdin(Stdio::null()).stdout(output.try_clone()?);
        let child = command.stderr(output).spawn().context("cannot run nginx")?;
        let mut server = Server { child };
        let socket = SocketAddr::from((address, PORT));
        let deadline = Instant::now() + START_TIMEOUT;
        while namespace
            .inside(|| Ok(TcpStream::connect(socket)?))
            .is_err()
        {
            check_interrupted()?;
            if server.child.try_wait()?.is_some() || Instant::now() > deadline {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                bail!("nginx does not answer: {}", said.trim());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One process in the foreground, nothing outside of `folder`.
fn configuration(root: &Path, folder: &Path, address: Ipv4Addr) -> String {
    let (root, folder) = (root.display(), folder.display());
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = kinds.map(|kind| format!("  {kind}_temp_path {folder}/{kind};\n"));
    format!(
        "daemon off;\n\
         master_process off;\n\
         user root;\n\
         pid {folder}/nginx.pid;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n\
         {}  access_log off;\n  sendfile on;\n  tcp_nopush on;\n\
         \x20 server {{ listen {address}:{PORT}; root {root}; }}\n\
         }}\n",
        temporary.concat()
    )
}
