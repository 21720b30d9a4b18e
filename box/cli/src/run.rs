//! `windlass run`.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use windlass_cc::{AlgorithmId, Catalog};
use windlass_daemon::{
    Opened, Reload, RunError, SUCCESSOR_VARIABLE, Settings, TraceSettings, config_files, log,
};
use windlass_engine::Redundancy;
use windlass_io::Mode as Io;
use windlass_io::handover::Channel;
use windlass_ovs::Side;
use windlass_policy::{Config, Extent, IoMode, Overrides};
use windlass_terminal::print;
use windlass_terminal::shipped::POLICIES;

use crate::capabilities::Effective;
use crate::place::Place;
use crate::{values, web};

/// Govern the flows between two interfaces, until SIGTERM or Ctrl-C. SIGHUP reads the
/// configuration file again.
///
/// Flags replace what the configuration file says, those on how to govern for all of its rules.
/// When it stops or dies, the bridge between the interfaces carries every flow on. An interface that is
/// deleted is waited for, and taken back when it is made again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Stand in this Open vSwitch bridge, to which `windlass attach` has been, and keep its rules in
    /// place.
    #[arg(long, value_name = "BRIDGE", conflicts_with_all = ["inside", "outside"])]
    ovs: Option<String>,
    /// Interface towards the governed senders.
    #[arg(long, value_name = "IF")]
    inside: Option<String>,
    /// Interface towards the network.
    #[arg(long, value_name = "IF")]
    outside: Option<String>,
    /// Configuration file (TOML) [default: /etc/windlass/windlass.toml, if there is one]. The files
    /// `conf.d/*.toml` beside it add rules and tenants.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Congestion control of the governed flows.
    #[arg(long, value_name = "NAME")]
    algorithm: Option<AlgorithmId>,
    /// How far to go: leave flows alone, measure only, also compute what would be done, or do it.
    #[arg(long, value_parser = values::mode())]
    mode: Option<Extent>,
    /// Second copies: none, of what is repaired, or also of the first segments of a flow.
    #[arg(long, value_parser = values::redundancy())]
    redundancy: Option<Redundancy>,
    /// TCP ports of the governed services, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    ports: Option<Vec<u16>>,
    /// How packets are obtained. `packet` needs no bridge, and is not fail-open.
    #[arg(long, value_parser = values::io_mode())]
    io: Option<IoMode>,
    /// Control socket [default: /run/windlass/windlass.sock].
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Record every governed flow at intervals: JSON lines, or CSV if the name ends in .csv.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Time between two records of a flow.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = values::interval)]
    trace_interval: Duration,
}

pub(crate) fn run(args: Args, catalog: Catalog) -> Result<ExitCode> {
    let named = args.config.map(|named| POLICIES.file(&named));
    let file = named.or_else(default_config);
    let mut config = match &file {
        Some(path) => Config::parse_all(&config_files::read(path)?, &catalog)?,
        None => Config::default(),
    };
    let device = &mut config.device;
    replace(&mut device.inside, args.inside.map(Some));
    replace(&mut device.outside, args.outside.map(Some));
    replace(&mut device.mode, args.io);
    let control = args.control;
    let control = control.unwrap_or_else(|| PathBuf::from(&device.control_socket));
    check_capabilities()?;
    let place = args
        .ovs
        .map(|bridge| Place::take(&bridge, device.mode, control.clone()));
    let place = place.transpose()?;
    if let Some(place) = &place {
        device.inside = Some(place.interface(Side::Inside));
        device.outside = Some(place.interface(Side::Outside));
    }
    let overrides = Overrides {
        mode: args.mode,
        algorithm: args.algorithm,
        redundancy: args.redundancy,
        ports: args.ports,
    };
    config.override_with(&overrides);
    let page = web::bind(&config)?;
    let interval = args.trace_interval;
    let trace = args.trace.map(|path| TraceSettings { path, interval });
    let mut settings = Settings::new(&config, trace)?;
    settings.control_socket = control;
    // An attachment whose ports are gone has been detached, or is repaired at the next start.
    settings.waits = place.is_none();
    settings.reload = file.map(|path| Reload { path, overrides });
    let (inside, outside) = (
        settings.driver.inside.clone(),
        settings.driver.outside.clone(),
    );
    let (control, mut server) = (settings.control_socket.clone(), None);
    let opened = |opened: &Opened<'_>| {
        announce(opened, &inside, &outside);
        server = web::serve(page, control);
    };
    let ended = windlass_daemon::run(settings, catalog, predecessor()?, opened);
    drop(server);
    let detached = place.is_some_and(Place::leave);
    match ended {
        Err(RunError::InterfaceGone { .. }) if detached => print("windlass: detached\n"),
        ended => {
            ended?;
            print("windlass: stopped\n")
        }
    }
}

/// An error that names the capabilities which this process needs and does not have.
fn check_capabilities() -> Result<()> {
    let missing = Effective::get().missing();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        bail!("not permitted: this needs {missing} (run it as root: sudo windlass run …)");
    }
    Ok(())
}

/// The channel to the process that this one takes over from, if it was started for that.
fn predecessor() -> Result<Option<Channel>> {
    if std::env::var_os(SUCCESSOR_VARIABLE).is_none() {
        return Ok(None);
    }
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.context("the channel to the windlass that runs")?;
    Ok(Some(Channel::of(input)))
}

fn default_config() -> Option<PathBuf> {
    let path = PathBuf::from(config_files::DEFAULT_CONFIG);
    path.exists().then_some(path)
}

fn replace<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// What was obtained, and last the line that says that flows are governed from now on.
fn announce(opened: &Opened<'_>, inside: &str, outside: &str) {
    for warning in opened.warnings {
        log::warning(format_args!(
            "warning: {} (mend it with: {})",
            warning.what, warning.fix
        ));
    }
    if let Some(bridge) = opened.bridge.filter(|b| b.created) {
        let name = &bridge.name;
        say(&format!(
            "windlass: made bridge {name} of {inside} and {outside}; it stays, to forward without \
             windlass (remove it with: ip link del {name})\n"
        ));
    }
    let driver = opened.driver;
    let io = match driver.mode {
        Io::Native => "AF_XDP native",
        Io::Generic => "AF_XDP generic",
        Io::Packet => "AF_PACKET",
    };
    let copy = if driver.zero_copy {
        "zero-copy"
    } else {
        "copy"
    };
    let queues = driver.queues;
    let plural = if queues == 1 { "" } else { "s" };
    let fail = match opened.bridge {
        Some(bridge) => format!("bridge {} takes over when windlass ends", bridge.name),
        None => "NOT fail-open: the wire is cut when windlass ends".to_owned(),
    };
    say(&format!(
        "windlass: ready: {inside} > {outside}, {io}, {copy}, {queues} queue{plural}; {fail}\n"
    ));
}

/// Whether somebody reads it or not, the box runs.
fn say(line: &str) {
    let _ = print(line);
}
