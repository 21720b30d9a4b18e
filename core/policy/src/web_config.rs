//! `[web]`: where the page in the browser is, and who may use it.

use std::net::SocketAddr;

use crate::error::Wrong;
use crate::read::{Section, Value};

/// Names by which the page may be asked for, besides those that every page has.
const HOSTS_MAX: usize = 16;

/// Where the page is, and who may use it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebConfig {
    /// The address; another than loopback only with a token.
    pub listen: SocketAddr,
    /// The file that has the token, by its absolute path.
    pub token_file: Option<String>,
    /// Whoever has the token may turn bypass on and off.
    pub write: bool,
    /// Names that browsers know the box by, besides `localhost` and the address that is listened on.
    pub hosts: Vec<String>,
}

/// Reads `[web]`. Without `listen` there is no page.
pub(crate) fn read(mut section: Section<'_>) -> Result<Option<WebConfig>, Wrong> {
    let span = section.span();
    let listen = match section.take("listen") {
        Some(value) => Some((address(&value)?, value.span())),
        None => None,
    };
    let mut token_file = None;
    if let Some(value) = section.take("token_file") {
        let text = value.text("/etc/windlass/web.token")?;
        if !text.starts_with('/') {
            let what = format!("token_file = \"{text}\" is no absolute path");
            let help = "write \"/etc/windlass/web.token\"";
            return Err(Wrong::new(value.span(), what, help));
        }
        token_file = Some(text.to_owned());
    }
    let mut write = false;
    if let Some(value) = section.take("write") {
        write = value.boolean()?;
    }
    let mut hosts = Vec::new();
    if let Some(value) = section.take("hosts") {
        hosts = names(value)?;
    }
    section.finish()?;
    let Some((listen, listen_span)) = listen else {
        return Ok(None);
    };
    let help = "make a token and name its file: (umask 077; openssl rand -hex 32 > /etc/windlass/web.token), \
                token_file = \"/etc/windlass/web.token\"";
    if !listen.ip().is_loopback() && token_file.is_none() {
        let what = format!("the page at {listen} could be used by others, and has no token_file");
        return Err(Wrong::new(listen_span, what, help));
    }
    if write && token_file.is_none() {
        let what = "write = true needs a token_file";
        return Err(Wrong::new(span, what, help));
    }
    Ok(Some(WebConfig {
        listen,
        token_file,
        write,
        hosts,
    }))
}

fn address(value: &Value<'_>) -> Result<SocketAddr, Wrong> {
    let text = value.text("127.0.0.1:9470")?;
    let wrong = |_| {
        let what = format!("\"{text}\" is no address to listen on");
        Wrong::new(
            value.span(),
            what,
            "write \"127.0.0.1:9470\" or \"[::1]:9470\"",
        )
    };
    text.parse().map_err(wrong)
}

fn names(value: Value<'_>) -> Result<Vec<String>, Wrong> {
    let is_name = |text: &str| {
        let part = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        !text.is_empty() && text.chars().all(part)
    };
    let mut all = Vec::new();
    for value in value.list("hosts")? {
        let text = value.text("box.example.net")?;
        if !is_name(text) || all.len() == HOSTS_MAX {
            let what =
                format!("\"{text}\" is no name of a host, or there are more than {HOSTS_MAX}");
            let help = "write the name as it stands in the address bar, without http:// and port";
            return Err(Wrong::new(value.span(), what, help));
        }
        all.push(text.to_ascii_lowercase());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use windlass_cc::Catalog;

    use super::*;
    use crate::Config;

    fn web(text: &str) -> Result<Option<WebConfig>, String> {
        let text = format!("version = 1\n[web]\n{text}\n");
        let config = Config::parse(&text, "w.toml", &Catalog::new());
        config.map(|config| config.web).map_err(|e| e.to_string())
    }

    #[test]
    fn a_page_is_read() {
        assert_eq!(web(""), Ok(None));
        assert_eq!(web("write = false"), Ok(None));
        let all = web(
            "listen = \"10.0.0.1:9470\"\ntoken_file = \"/t\"\nwrite = true\nhosts = [\"Box.example\"]",
        );
        let expected = WebConfig {
            listen: "10.0.0.1:9470".parse().expect("an address"),
            token_file: Some("/t".to_owned()),
            write: true,
            hosts: vec!["box.example".to_owned()],
        };
        assert_eq!(all, Ok(Some(expected)));
        let alone = web("listen = \"[::1]:9470\"")
            .expect("right")
            .expect("a page");
        assert!(!alone.write && alone.token_file.is_none());
    }

    #[test]
    fn a_page_for_others_needs_a_token() {
        let said = |text: &str| web(text).expect_err("wrong");
        let open = said("listen = \"0.0.0.0:9470\"");
        assert!(open.contains("no token_file"), "{open}");
        let write = said("listen = \"127.0.0.1:9470\"\nwrite = true");
        assert!(write.contains("needs a token_file"), "{write}");
        let path = said("listen = \"127.0.0.1:9470\"\ntoken_file = \"t\"");
        assert!(path.contains("no absolute path"), "{path}");
        let address = said("listen = \"localhost:9470\"");
        assert!(address.contains("no address"), "{address}");
        let host = said("listen = \"127.0.0.1:9470\"\nhosts = [\"http://a/\"]");
        assert!(host.contains("no name of a host"), "{host}");
    }
}
