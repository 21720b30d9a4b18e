//! What the two simulated hosts are called: documentation addresses (RFC 5737, RFC 3849), port 443.

use std::net::{Ipv4Addr, Ipv6Addr};

use windlass_wire::{Addr, FlowKey};

/// The server listens here.
pub const SERVER_PORT: u16 = 443;
/// Each connection has a client port of its own, from here on.
pub const FIRST_CLIENT_PORT: u16 = 40_000;

/// A connection of the client's `client_port`, from the server's end.
pub fn server_key(v6: bool, client_port: u16) -> FlowKey {
    let (src, dst): (Addr, Addr) = if v6 {
        let host = |n| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n).into();
        (host(1), host(2))
    } else {
        let server = Ipv4Addr::new(192, 0, 2, 1);
        let client = Ipv4Addr::new(198, 51, 100, 2);
        (server.into(), client.into())
    };
    FlowKey {
        src,
        dst,
        src_port: SERVER_PORT,
        dst_port: client_port,
        ..FlowKey::default()
    }
}
