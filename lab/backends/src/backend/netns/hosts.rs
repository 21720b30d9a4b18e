//! The stack of a host, as settings of its namespace.

use anyhow::Result;
use windlass_experiment::setup::Host;

use crate::netns::Namespace;

/// Most bytes that a sender may buffer: four times what 200 Mbit/s hold at 300 ms, as the kernel
/// counts its overhead in.
const WRITE_BUFFER_BYTES: u64 = 64 << 20;
/// Linux's own first size of a receive buffer (tcp(7)).
const FIRST_RECEIVE_BUFFER_BYTES: u64 = 131_072;
const LEAST_BUFFER_BYTES: u64 = 4096;
/// Connections that may come at once.
const BACKLOG: &str = "65535";

/// Makes the namespace what `host` says.
pub(super) fn apply(namespace: &Namespace, host: &Host) -> Result<()> {
    namespace.set_sysctls(&sysctls(host))
}

fn sysctls(host: &Host) -> Vec<(&'static str, String)> {
    let switch = |on: bool| u8::from(on).to_string();
    let most = host.receive_buffer_bytes.max(LEAST_BUFFER_BYTES);
    let first = FIRST_RECEIVE_BUFFER_BYTES.min(most);
    vec![
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_sack", switch(host.sack)),
        ("net.ipv4.tcp_timestamps", switch(host.timestamps)),
        ("net.ipv4.tcp_window_scaling", switch(host.window_scaling)),
        ("net.ipv4.tcp_ecn", switch(host.ecn)),
        (
            "net.ipv4.tcp_rmem",
            format!("{LEAST_BUFFER_BYTES} {first} {most}"),
        ),
        (
            "net.ipv4.tcp_wmem",
            format!("{LEAST_BUFFER_BYTES} 16384 {WRITE_BUFFER_BYTES}"),
        ),
        ("net.ipv4.ip_local_port_range", "1024 65535".to_owned()),
        ("net.core.somaxconn", BACKLOG.to_owned()),
        ("net.ipv4.tcp_max_syn_backlog", BACKLOG.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_receive_buffer_is_small_from_the_start() {
        let host = Host {
            sack: false,
            ecn: true,
            receive_buffer_bytes: 65_536,
            ..Host::linux("cubic")
        };
        let all = sysctls(&host);
        let of = |key: &str| {
            all.iter()
                .find(|(k, _)| k.ends_with(key))
                .map(|(_, v)| v.as_str())
        };
        assert_eq!(of("tcp_rmem"), Some("4096 65536 65536"));
        assert_eq!((of("tcp_sack"), of("tcp_ecn")), (Some("0"), Some("1")));
    }
}
