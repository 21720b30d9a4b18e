//! The downloads.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use windlass_daemon::TraceLine;
use windlass_experiment::setup::server_address;
use windlass_io::monotonic_ns;

use super::progress::Progress;
use super::run::Run;
use super::{Case, Options};
use crate::client::download;
use crate::emulator::{Emulator, Ends, Record};
use crate::leftovers::{check_interrupted, lab_folder, lab_name};
use crate::payload::{self, Hash};
use crate::sample::{Sampler, SocketSample, check_algorithm, wait_until_idle};
use crate::server::{PORT, Server};
use crate::topology::{Shape, Topology};
use crate::trace;
use crate::windlass::Windlass;

const FILE: &str = "file.bin";
const TRACE_INTERVAL: Duration = Duration::from_millis(20);
/// A download may take this long, however small it is, s.
const PATIENCE_SECONDS: u64 = 60;
/// And this many times as long as the link's rate demands.
const PATIENCE_FACTOR: u64 = 100;
/// The connection's last packets may take this long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// A download and its time series.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its figures.
    pub run: Run,
    /// `CLOCK_MONOTONIC` when curl was started, ns.
    pub start_ns: u64,
    /// The server's socket.
    pub sockets: Vec<SocketSample>,
    /// The link.
    pub record: Record,
    /// The flow on the box; empty without Windlass.
    pub trace: Vec<TraceLine>,
}

struct Lab<'a> {
    options: &'a Options,
    hash: Hash,
    // Dropped in this order: the processes before the namespaces before the files.
    _server: Server,
    topology: Topology,
    folder: TempDir,
}

/// Every case in turn, as often as asked.
pub(super) fn all(options: &Options) -> Result<Vec<Measured>> {
    let lab = Lab::create(options)?;
    let total = options.cases.len() * options.runs as usize;
    let mut progress = Progress::new(total, options.bytes);
    let mut measured = Vec::with_capacity(total);
    for repetition in 0..options.runs {
        for &case in &options.cases {
            check_interrupted()?;
            let title = case.title(&options.algorithm);
            progress.begin(&title, repetition + 1);
            let one = lab.measure(case, repetition, &mut progress);
            let one = one.with_context(|| format!("{title}, repetition {}", repetition + 1))?;
            progress.end(&one.run);
            measured.push(one);
        }
    }
    Ok(measured)
}

impl<'a> Lab<'a> {
    fn create(options: &'a Options) -> Result<Lab<'a>> {
        let name = lab_name();
        let folder = lab_folder(&name)?;
        let root = folder.path().join("www");
        std::fs::create_dir(&root)?;
        let hash = payload::write(&root.join(FILE), options.bytes, options.seed)?;
        let topology = Topology::create(&name, Shape::LINE)?;
        topology.set_sysctls()?;
        let server = Server::start(
            &topology.servers[0],
            server_address(0),
            &root,
            folder.path(),
        )?;
        Ok(Lab {
            options,
            hash,
            _server: server,
            topology,
            folder,
        })
    }

    fn measure(&self, case: Case, repetition: u32, progress: &mut Progress) -> Result<Measured> {
        let options = self.options;
        let algorithm = case.server_algorithm();
        self.topology.set_congestion_control(algorithm)?;
        let seed = options.seed.wrapping_add(u64::from(repetition));
        let link = Emulator::start(Ends::open(&self.topology)?, &options.path().setup(seed))?;
        let windlass = match case {
            Case::WindlassBbr => Some(Windlass::start(
                &self.topology.middle,
                &options.windlass,
                &options.arguments(),
                Some(TRACE_INTERVAL),
                self.folder.path(),
            )?),
            Case::Cubic | Case::NativeBbr => None,
        };
        let sampler = Sampler::start(&self.topology.servers[0], PORT)?;
        let start_ns = monotonic_ns();
        let file = self.folder.path().join("download");
        let result = self.download(&file, |bytes| progress.at(bytes));
        let end_ns = monotonic_ns();
        let elapsed = (end_ns - start_ns) as f64 / 1e9;
        let mut sockets = sampler.stop()?;
        check_interrupted()?;
        wait_until_idle(&self.topology.servers[0], IDLE_TIMEOUT)?;
        let port = result.as_ref().map_or(0, |done| done.port);
        let trace =
            windlass.map(|windlass| windlass.stop().map(|text| trace::of_port(&text, port)));
        check_interrupted()?;
        let (record, _) = link.stop()?;
        record.check()?;
        let mut run = Run::new(case, repetition, elapsed, &record);
        let mut samples = Vec::new();
        match result {
            Ok(done) => {
                sockets.retain(|s| s.peer_port == port);
                check_algorithm(&sockets, algorithm)?;
                run.server_retransmissions = sockets.last().map_or(0, |s| s.retrans);
                (run.seconds, run.bytes, run.http_code) =
                    (done.seconds, done.bytes, done.http_code);
                run.sha256_ok = done.http_code == 200 && payload::hash(&file)? == self.hash;
                if !run.sha256_ok {
                    run.error = Some(format!("HTTP {}, wrong bytes", done.http_code));
                }
            }
            Err(e) => run.error = Some(format!("{e:#}")),
        }
        match trace {
            Some(Ok(mut trace)) => {
                // Later ones show how Windlass lets go of the flow as it ends.
                trace.retain(|s| s.time_ns <= end_ns);
                run.judge(&trace);
                samples = trace;
            }
            Some(Err(e)) => run.error = Some(format!("{e:#}")),
            None => {}
        }
        Ok(Measured {
            run,
            start_ns,
            sockets,
            record,
            trace: samples,
        })
    }

    fn download(&self, file: &Path, progress: impl FnMut(u64)) -> Result<crate::client::Download> {
        let url = format!("http://{}:{PORT}/{FILE}", server_address(0));
        let ideal = self.options.bytes * 8 / (self.options.rate_mbit * 1_000_000);
        let patience = PATIENCE_SECONDS + PATIENCE_FACTOR * ideal;
        download(&self.topology.clients[0], &url, file, patience, progress)
    }
}
