//! `[standby]`: another box, which goes on with the connections of this one, and this one with those of the other.

use std::net::SocketAddr;

use crate::error::Wrong;
use crate::read::{Section, Value};

/// The other box, and how the two know each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StandbyConfig {
    /// Where the other box tells this one of its connections; `None`: it does not.
    pub listen: Option<SocketAddr>,
    /// Where this box tells the other one of its connections; `None`: it does not.
    pub peer: Option<SocketAddr>,
    /// The file that has the key of both, by its absolute path.
    pub key_file: String,
}

/// Reads `[standby]`.
pub(crate) fn read(mut section: Section<'_>) -> Result<StandbyConfig, Wrong> {
    let span = section.span();
    let (listen, peer) = (section.take("listen"), section.take("peer"));
    let listen = listen.map(|value| address(&value)).transpose()?;
    let peer = peer.map(|value| address(&value)).transpose()?;
    let key = section.take("key_file");
    let key = key.map(|value| absolute(&value)).transpose()?;
    section.finish()?;
    if listen.is_none() && peer.is_none() {
        let what = "[standby] names no other box";
        let help = "write listen = \"192.0.2.1:9471\", an address of this box, and peer = \"192.0.2.2:9471\", the other's";
        return Err(Wrong::new(span, what, help));
    }
    let Some(key_file) = key else {
        let what = "[standby] has no key_file: anybody could tell this box of connections";
        let help = "make a key and copy it to both boxes: (umask 077; openssl rand -hex 32 > /etc/windlass/standby.key), \
                    key_file = \"/etc/windlass/standby.key\"";
        return Err(Wrong::new(span, what, help));
    };
    Ok(StandbyConfig {
        listen,
        peer,
        key_file,
    })
}

fn address(value: &Value<'_>) -> Result<SocketAddr, Wrong> {
    let text = value.text("192.0.2.1:9471")?;
    text.parse().map_err(|_| {
        let what = format!("\"{text}\" is no address with a port");
        Wrong::new(
            value.span(),
            what,
            "write \"192.0.2.1:9471\" or \"[2001:db8::1]:9471\"",
        )
    })
}

fn absolute(value: &Value<'_>) -> Result<String, Wrong> {
    let text = value.text("/etc/windlass/standby.key")?;
    if !text.starts_with('/') {
        let what = format!("key_file = \"{text}\" is no absolute path");
        return Err(Wrong::new(
            value.span(),
            what,
            "write \"/etc/windlass/standby.key\"",
        ));
    }
    Ok(text.to_owned())
}
