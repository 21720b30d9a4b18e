//! The transfers of a setup, one by one.

use std::net::{Ipv4Addr, SocketAddrV4};

use anyhow::{Context, Result, bail};
use windlass_experiment::Setup;
use windlass_experiment::setup::{Algorithm, Transport, server_address};

use super::pattern::Pattern;

/// Where every server listens.
pub(super) const PORT: u16 = 80;

/// One transfer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Flow {
    pub group: usize,
    pub index: u32,
    /// Index of the server host.
    pub server: usize,
    /// Index of the client host.
    pub client: usize,
    /// When it begins, from the start of the run, ns; `None`: when another of its group has ended.
    pub start_ns: Option<u64>,
    pub bytes: u64,
    /// What the server writes at once, bytes.
    pub write_bytes: u64,
    /// Between two writes, ns.
    pub pause_ns: u64,
    pub congestion_control: String,
    /// Of the client, which decides how it acknowledges.
    pub client_congestion_control: String,
    pub background: bool,
}

/// One transfer over QUIC.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct QuicFlow {
    pub group: usize,
    pub index: u32,
    /// Index of the server host.
    pub server: usize,
    /// Index of the client host.
    pub client: usize,
    /// When it begins, from the start of the run, ns.
    pub start_ns: u64,
    pub bytes: u64,
    /// As `windlass send --algorithm` takes it.
    pub algorithm: String,
}

/// All transfers of a run, in order of group and index, and what they carry.
#[derive(Debug)]
pub(super) struct Plan {
    /// Over TCP.
    pub flows: Vec<Flow>,
    pub quic: Vec<QuicFlow>,
    pub pattern: Pattern,
    /// From the start of the run, ns.
    pub limit_ns: u64,
    /// The run goes on to the limit in any case.
    pub fixed_length: bool,
    /// Between two samples, ns; 0: there are none.
    pub series_interval_ns: u64,
}

impl Plan {
    pub(super) fn new(setup: &Setup) -> Result<Plan> {
        let mut plan = Plan {
            flows: Vec::new(),
            quic: Vec::new(),
            pattern: Pattern::new(setup.seed),
            limit_ns: setup.limit_ns,
            fixed_length: setup.fixed_length,
            series_interval_ns: setup.record.series_interval_ns,
        };
        for (group, all) in setup.flows.iter().enumerate() {
            let starts = all.starts(setup.seed);
            for (index, start_ns) in (0..all.count).zip(starts) {
                plan.add(setup, group, index, start_ns)?;
            }
        }
        Ok(plan)
    }

    /// Adds the transfer of this index of a group.
    fn add(&mut self, setup: &Setup, group: usize, index: u32, start_ns: u64) -> Result<()> {
        let all = &setup.flows[group];
        let pair = setup.pairs.get(all.pair_of(index));
        let pair = pair.with_context(|| format!("there is no pair {}", all.pair_of(index)))?;
        let own = &setup.servers.get(pair.server);
        let own = own.with_context(|| format!("there is no server {}", pair.server))?;
        let client = setup.clients.get(pair.client);
        let client = client.with_context(|| format!("there is no client {}", pair.client))?;
        let congestion_control = all.congestion_control.as_ref();
        let congestion_control = congestion_control.unwrap_or(&own.congestion_control);
        let bytes = all.bytes_of(setup.seed, index);
        if all.transport == Transport::Quic {
            let named = own.algorithm.as_ref().map(Algorithm::word);
            self.quic.push(QuicFlow {
                group,
                index,
                server: pair.server,
                client: pair.client,
                start_ns,
                bytes,
                algorithm: named.unwrap_or_else(|| congestion_control.clone()),
            });
            return Ok(());
        }
        if own.algorithm.is_some() {
            bail!(
                "[server] algorithm is for QUIC and for servers of the simulator: take \
                 congestion_control, or run.simulated = true"
            );
        }
        self.flows.push(Flow {
            group,
            index,
            server: pair.server,
            client: pair.client,
            start_ns: (!all.waits(index)).then_some(start_ns),
            bytes,
            write_bytes: match all.write_bytes {
                0 => bytes,
                some => some,
            },
            pause_ns: all.pause_ns,
            congestion_control: congestion_control.clone(),
            client_congestion_control: client.congestion_control.clone(),
            background: all.background,
        });
        Ok(())
    }
}

impl Flow {
    /// Where its server listens.
    pub(super) fn server_socket(&self) -> SocketAddrV4 {
        let address: Ipv4Addr = server_address(self.server);
        SocketAddrV4::new(address, PORT)
    }
}

#[cfg(test)]
mod tests {
    use windlass_experiment::Scalar;
    use windlass_experiment::setup::{FlowGroup, Host, Pair};

    use super::*;

    #[test]
    fn groups_unfold_into_flows() {
        let host = Host::linux("cubic");
        let group = FlowGroup {
            name: "g".to_owned(),
            pair: 0,
            count: 2,
            bytes: 1000,
            start_ns: 7,
            interval_ns: 10,
            at_once: 0,
            pairs: 1,
            sizes: None,
            write_bytes: 0,
            pause_ns: 0,
            congestion_control: None,
            background: false,
            transport: Transport::Tcp,
        };
        let other = FlowGroup {
            count: 1,
            write_bytes: 100,
            congestion_control: Some("bbr".to_owned()),
            background: true,
            ..group.clone()
        };
        let mut setup = Setup {
            servers: vec![host.clone(), host.clone()],
            clients: vec![host; 4],
            pairs: vec![Pair {
                server: 1,
                client: 3,
                route: vec![0],
                extra_delay_ns: 0,
            }],
            flows: vec![group, other.clone(), other],
            ..Setup::default()
        };
        let flows = Plan::new(&setup).expect("a plan").flows;
        let starts: Vec<_> = flows
            .iter()
            .map(|f| (f.group, f.index, f.start_ns))
            .collect();
        let of = |group, index, at| (group, index, Some(at));
        assert_eq!(
            starts,
            [of(0, 0, 7), of(0, 1, 17), of(1, 0, 7), of(2, 0, 7)]
        );
        setup.flows[0].at_once = 1;
        let held_back = Plan::new(&setup).expect("a plan").flows[1].start_ns;
        assert_eq!(held_back, None);
        setup.flows[0].at_once = 0;
        assert_eq!((flows[0].write_bytes, flows[2].write_bytes), (1000, 100));
        assert_eq!(flows[1].congestion_control, "cubic");
        assert_eq!(flows[2].congestion_control, "bbr");
        assert_eq!(flows[0].server_socket().to_string(), "198.18.0.2:80");
        setup.flows[2].transport = Transport::Quic;
        setup.servers[1].algorithm = Some(Algorithm {
            name: "compound".to_owned(),
            parameters: [("beta".to_owned(), Scalar::Float(0.4))].into(),
        });
        let said = Plan::new(&setup).expect_err("TCP has none").to_string();
        assert!(said.contains("is for QUIC"), "{said}");
        setup.flows.drain(..2);
        let plan = Plan::new(&setup).expect("a plan");
        assert!(plan.flows.is_empty());
        assert_eq!(plan.quic[0].algorithm, "compound:beta=0.4");
        setup.servers[1].algorithm = None;
        assert_eq!(Plan::new(&setup).expect("a plan").quic[0].algorithm, "bbr");
        setup.flows[0].pair = 1;
        assert!(Plan::new(&setup).is_err());
    }
}
