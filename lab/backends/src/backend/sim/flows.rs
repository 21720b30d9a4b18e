//! The transfers of a setup, and the hosts at their ends.

use windlass_cc::{Catalog, Nanos, Settings, Value};
use windlass_experiment::setup::{
    FlowGroup, Host, Mtu, Pair, PathBox, Setup, Transport, client_address, server_address,
};
use windlass_wire::FlowKey;

use windlass_sim::names::{FIRST_CLIENT_PORT, SERVER_PORT};
use windlass_sim::tcp::{App, Close, EndConfig, ReceiveBuffer, ServerAlgorithm, Write};
use windlass_sim::{Connection, Ends, Rng};

/// What a client asks with, bytes.
const REQUEST_BYTES: u64 = 100;
/// Most transfers: each has a client port of its own.
const MAX_TRANSFERS: usize = (u16::MAX - FIRST_CLIENT_PORT) as usize;
/// Streams of the seed from here on are those of the transfers.
const TRANSFER_STREAMS: u64 = 0x10_0000;
/// Largest first window of Linux (half of the second value of `tcp_rmem`).
const FIRST_WINDOW_BYTES: u64 = 65_536;
/// Parameters of algorithms that Linux does not have.
const NOT_IN_LINUX: [&str; 2] = ["newcomer", "climb"];

/// One transfer, with what it takes to begin it.
pub(super) struct Transfer {
    pub group: usize,
    pub index: u32,
    pub background: bool,
    /// The server's address first.
    pub key: FlowKey,
    /// `Nanos::MAX`: when another of its group has ended.
    pub start: Nanos,
    /// What the server sends, bytes.
    bytes: u64,
    pair: usize,
    algorithm: ServerAlgorithm,
    /// Of the payload and of the initial numbers.
    stream: u64,
}

/// Every transfer of `setup`, in order of group and index, if all of it can be run here.
pub(super) fn transfers(setup: &Setup, catalog: &Catalog) -> Result<Vec<Transfer>, String> {
    if matches!(setup.path_box, PathBox::Command { .. }) {
        return Err("another program cannot stand in the path in virtual time: \
                    use the back end netns or vm"
            .to_owned());
    }
    check_network(setup)?;
    let mut transfers = Vec::new();
    for (number, group) in setup.flows.iter().enumerate() {
        let no_pair = |pair: usize| {
            let name = &group.name;
            format!("flows \"{name}\" run between pair {pair}, which there is not")
        };
        if group.transport == Transport::Quic {
            return Err(format!(
                "flows \"{}\" are carried by QUIC, which runs on the back ends netns and vm",
                group.name
            ));
        }
        let mut starts = group.starts(setup.seed).into_iter();
        for index in 0..group.count {
            let at = group.pair_of(index);
            let pair = setup.pairs.get(at).ok_or_else(|| no_pair(at))?;
            let algorithm = algorithm(setup, group, pair, catalog)?;
            let port = transfers.len();
            if port >= MAX_TRANSFERS {
                return Err(format!("more than {MAX_TRANSFERS} transfers in one run"));
            }
            transfers.push(Transfer {
                group: number,
                index,
                background: group.background,
                key: FlowKey {
                    src: server_address(pair.server).into(),
                    dst: client_address(pair.client).into(),
                    src_port: SERVER_PORT,
                    dst_port: FIRST_CLIENT_PORT + port as u16,
                    ..FlowKey::default()
                },
                start: match (starts.next(), group.waits(index)) {
                    (_, true) => Nanos::MAX,
                    (at, false) => at.unwrap_or_default(),
                },
                bytes: group.bytes_of(setup.seed, index),
                pair: at,
                algorithm,
                stream: Rng::new(setup.seed, TRANSFER_STREAMS + port as u64).bits(),
            });
        }
    }
    Ok(transfers)
}

fn check_network(setup: &Setup) -> Result<(), String> {
    let bottlenecks = setup.bottlenecks.len();
    for (number, pair) in setup.pairs.iter().enumerate() {
        if pair.server >= setup.servers.len() || pair.client >= setup.clients.len() {
            return Err(format!("pair {number} names a host that there is not"));
        }
        if pair.route.iter().any(|index| *index >= bottlenecks) {
            return Err(format!(
                "pair {number} crosses a bottleneck that there is not"
            ));
        }
    }
    let mut cross = setup.cross_traffic.iter().enumerate();
    match cross.find(|(_, traffic)| traffic.bottleneck >= bottlenecks) {
        Some((number, _)) => Err(format!(
            "cross traffic {number} crosses a bottleneck that there is not"
        )),
        None => Ok(()),
    }
}

/// What the flows name, else the algorithm of the server, else its congestion control.
fn algorithm(
    setup: &Setup,
    group: &FlowGroup,
    pair: &Pair,
    catalog: &Catalog,
) -> Result<ServerAlgorithm, String> {
    let server = &setup.servers[pair.server];
    let wrong = |error| format!("algorithm of server {}: {error}", pair.server);
    let name = match (&group.congestion_control, &server.algorithm) {
        (Some(name), _) => name,
        (None, Some(algorithm)) => {
            let settings = algorithm.settings(catalog).map_err(wrong)?;
            return Ok(ServerAlgorithm::Native(settings));
        }
        (None, None) => &server.congestion_control,
    };
    match name.as_str() {
        "cubic" => Ok(ServerAlgorithm::Cubic { hystart: true }),
        "reno" => Ok(ServerAlgorithm::Reno),
        name => match catalog.algorithm(name) {
            Ok(id) => Ok(ServerAlgorithm::Native(as_in_linux(id.into()))),
            Err(error) => Err(format!(
                "congestion control of server {}: {error}",
                pair.server
            )),
        },
    }
}

/// A server's kernel knows nothing of what Windlass's BBR does in another way than Linux.
fn as_in_linux(mut settings: Settings) -> Settings {
    for name in NOT_IN_LINUX {
        if settings.parameter(name).is_err() {
            continue;
        }
        let set = settings.set(name, Value::Flag(false));
        debug_assert!(set.is_ok());
    }
    settings
}

impl Transfer {
    /// Both ends of it, before the first packet.
    pub fn ends(&self, setup: &Setup, watched: bool) -> Ends {
        let pair = &setup.pairs[self.pair];
        let group = &setup.flows[self.group];
        let plan = Connection {
            server: App {
                writes: writes(group, self.bytes),
                close: Close::AfterWrites,
            },
            client: App {
                writes: vec![Write {
                    bytes: REQUEST_BYTES,
                    ..Write::default()
                }],
                close: Close::AfterReceived { bytes: self.bytes },
            },
            start: self.start,
        };
        let mut rng = Rng::new(self.stream, 1);
        let host = &setup.servers[pair.server];
        let control = group.congestion_control.as_ref();
        let control = control.unwrap_or(&host.congestion_control);
        let server = end(host, control, self.algorithm, setup.mtu, &mut rng);
        let answering = ServerAlgorithm::Cubic { hystart: true };
        let host = &setup.clients[pair.client];
        let client = end(
            host,
            &host.congestion_control,
            answering,
            setup.mtu,
            &mut rng,
        );
        let content = rng.bits();
        Ends::new(
            self.key,
            self.pair,
            content,
            [server, client],
            plan,
            watched,
        )
    }
}

/// What the server writes, and when.
fn writes(group: &FlowGroup, bytes: u64) -> Vec<Write> {
    let each = match group.write_bytes {
        0 => bytes,
        bytes => bytes,
    };
    let mut writes = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let bytes = left.min(each);
        left -= bytes;
        writes.push(Write {
            bytes,
            once_received_bytes: REQUEST_BYTES,
            pause: if writes.is_empty() { 0 } else { group.pause_ns },
        });
    }
    writes
}

fn end(
    host: &Host,
    congestion_control: &str,
    algorithm: ServerAlgorithm,
    mtu: Mtu,
    rng: &mut Rng,
) -> EndConfig {
    // Linux shows half of the buffer as the window (`tcp_adv_win_scale` 1).
    let window = (host.receive_buffer_bytes / 2).clamp(1, 1 << 30);
    EndConfig {
        sack: host.sack,
        timestamps: host.timestamps,
        window_scale: host
            .window_scaling
            .then(|| scale(host.receive_buffer_bytes)),
        // Linux' DCTCP asks for ECN whatever the host is set to (`TCP_CONG_NEEDS_ECN`).
        ecn: host.ecn || congestion_control == "dctcp",
        echoes_each_mark: congestion_control == "dctcp",
        algorithm,
        mss: mtu.mss(),
        receive_buffer: ReceiveBuffer::Autotuned {
            initial: window.min(FIRST_WINDOW_BYTES) as u32,
            max: window as u32,
        },
        isn: rng.bits() as u32,
        timestamp_origin_ms: rng.bits() as u32,
        ..EndConfig::default()
    }
}

/// The shift with which Linux can show all of a buffer (`tcp_select_initial_window`).
fn scale(buffer_bytes: u64) -> u8 {
    let bits = buffer_bytes.max(1).ilog2();
    bits.saturating_sub(15).min(14) as u8
}
