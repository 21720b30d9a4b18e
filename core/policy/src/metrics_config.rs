//! `[metrics]`: where metrics can be scraped.

use core::fmt;
use std::net::SocketAddr;

use crate::error::Wrong;
use crate::read::Section;

/// What stands before the path of a unix socket.
const UNIX: &str = "unix:";
const HELP: &str =
    "write \"127.0.0.1:9469\", \"[::1]:9469\" or \"unix:/run/windlass/metrics.sock\"";

/// Where metrics can be scraped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MetricsListen {
    /// Over TCP.
    Tcp(SocketAddr),
    /// At a unix socket, by its absolute path.
    Unix(String),
}

impl fmt::Display for MetricsListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricsListen::Tcp(address) => address.fmt(f),
            MetricsListen::Unix(path) => write!(f, "{UNIX}{path}"),
        }
    }
}

/// Reads `[metrics]`. Without `listen`, nothing can be scraped.
pub(crate) fn read(mut section: Section<'_>) -> Result<Option<MetricsListen>, Wrong> {
    let mut listen = None;
    if let Some(value) = section.take("listen") {
        let text = value.text("127.0.0.1:9469")?;
        let wrong = || {
            let what = format!("\"{text}\" is no address to listen on");
            Wrong::new(value.span(), what, HELP)
        };
        listen = Some(match text.strip_prefix(UNIX) {
            Some(path) if path.starts_with('/') => MetricsListen::Unix(path.to_owned()),
            Some(_) => return Err(wrong()),
            None => MetricsListen::Tcp(text.parse().map_err(|_| wrong())?),
        });
    }
    section.finish()?;
    Ok(listen)
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;

    use crate::Config;

    #[test]
    fn addresses_and_sockets_are_read() {
        let listen = |text: &str| {
            let text = format!("version = 1\n[metrics]\n{text}\n");
            let config = Config::parse(&text, "w.toml", &Catalog::new()).expect("right");
            config.metrics.map(|listen| listen.to_string())
        };
        for place in ["127.0.0.1:9469", "[::1]:9469", "unix:/run/w.sock"] {
            assert_eq!(
                listen(&format!("listen = \"{place}\"")).as_deref(),
                Some(place)
            );
        }
        assert_eq!(listen(""), None);
    }
}
