//! What an attachment is made of, and how the bridge's own record in the database says so
//! (`external_ids` of the bridge): it is all that detaching and repairing need.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};

use crate::command::Command;
use crate::traffic::Traffic;
use crate::veth_pairs::VethPairs;

/// What our keys in `external_ids` begin with.
const PREFIX: &str = "windlass-";

/// The key that names the wire.
pub(crate) const WIRE: &str = "windlass-wire";

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Attaching,
    Attached,
    Detaching,
}

/// The box on a bridge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// The bridge.
    pub bridge: String,
    /// What goes through the box.
    pub traffic: Vec<Traffic>,
    /// Ports at which the servers are; none: wherever the traffic says.
    pub inside: Vec<String>,
    /// Ports at which the network is; none: all.
    pub outside: Vec<String>,
    /// What joins the box with the bridge.
    pub wire: VethPairs,
    /// The register that marks a packet which has been through the box.
    pub register: u8,
    /// The OpenFlow table in which it is kept where packets have come from.
    pub table: u8,
    /// The lowest priority of the rules, in table 0.
    pub priority: u16,
    /// Source addresses whose port is remembered, at most.
    pub addresses: u32,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Attaching => "attaching",
            State::Attached => "attached",
            State::Detaching => "detaching",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Attachment {
    fn record(&self) -> [(&'static str, String); 8] {
        let traffic: Vec<String> = self.traffic.iter().map(Traffic::to_string).collect();
        [
            ("match", traffic.join(" ")),
            ("inside", self.inside.join(" ")),
            ("outside", self.outside.join(" ")),
            ("wire", self.wire.name().to_owned()),
            ("register", self.register.to_string()),
            ("table", self.table.to_string()),
            ("priority", self.priority.to_string()),
            ("addresses", self.addresses.to_string()),
        ]
    }

    /// Writes all of it into the database.
    pub(crate) fn write(&self, state: State) -> Command {
        let mut command = Command::vsctl("set Bridge").word(&self.bridge);
        let record = self.record();
        let state = ("state", state.name().to_owned());
        for (key, value) in std::iter::once(&state).chain(&record) {
            command = command.word(assignment(key, value));
        }
        command
    }

    /// What the database says; with how far it has come.
    ///
    /// # Errors
    /// When it says what no version of this program has written.
    pub(crate) fn read(
        bridge: &str,
        ids: &BTreeMap<String, String>,
    ) -> Result<Option<(State, Attachment)>> {
        let get = |key: &str| ids.get(&format!("{PREFIX}{key}")).map(String::as_str);
        let Some(state) = get("state") else {
            return Ok(None);
        };
        let state = match state {
            "attaching" => State::Attaching,
            "attached" => State::Attached,
            "detaching" => State::Detaching,
            other => bail!("external_ids of bridge {bridge} have {PREFIX}state={other}"),
        };
        let value = |key: &str| {
            get(key).with_context(|| format!("external_ids of bridge {bridge} lack {PREFIX}{key}"))
        };
        let words = |key: &str| -> Result<Vec<String>> {
            Ok(value(key)?.split_whitespace().map(str::to_owned).collect())
        };
        let number = |key: &str| -> Result<u32> {
            let text = value(key)?;
            text.parse().with_context(|| {
                format!("external_ids of bridge {bridge} have {PREFIX}{key}={text}")
            })
        };
        let traffic = words("match")?.into_iter().map(|text| Ok(text.parse()?));
        let attachment = Attachment {
            bridge: bridge.to_owned(),
            traffic: traffic.collect::<Result<_>>()?,
            inside: words("inside")?,
            outside: words("outside")?,
            wire: VethPairs::named(value("wire")?),
            register: number("register")?.try_into()?,
            table: number("table")?.try_into()?,
            priority: number("priority")?.try_into()?,
            addresses: number("addresses")?,
        };
        Ok(Some((state, attachment)))
    }
}

/// Says in the database how far it has come.
pub(crate) fn write_state(bridge: &str, state: State) -> Command {
    let assignment = assignment("state", state.name());
    Command::vsctl("set Bridge").word(bridge).word(assignment)
}

/// Whether the database has anything of ours on this bridge.
pub(crate) fn is_recorded(ids: &BTreeMap<String, String>) -> bool {
    ids.keys().any(|key| key.starts_with(PREFIX))
}

/// Removes all that is ours from the bridge's record, in the words of ovs-vsctl.
pub(crate) fn forget(bridge: &str, ids: &BTreeMap<String, String>) -> Vec<String> {
    let keys = ids.keys().filter(|key| key.starts_with(PREFIX));
    let words = ["remove", "Bridge", bridge, "external_ids"].map(str::to_owned);
    words.into_iter().chain(keys.cloned()).collect()
}

/// [`forget`] for what [`Attachment::write`] writes.
pub(crate) fn forget_all(attachment: &Attachment) -> Vec<String> {
    let keys = attachment.record().map(|(key, _)| key);
    let keys = keys.into_iter().chain(["state"]);
    let ids = keys.map(|key| (format!("{PREFIX}{key}"), String::new()));
    forget(&attachment.bridge, &ids.collect())
}

fn assignment(key: &str, value: &str) -> String {
    // Quoted: a comma would begin another pair.
    let value = value.replace('\\', r"\\").replace('"', r#"\""#);
    format!("external_ids:{PREFIX}{key}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment() -> Attachment {
        Attachment {
            bridge: "br0".to_owned(),
            traffic: ["tcp,tp_dst=80", "tcp6,tp_dst=80"]
                .map(|t| t.parse().unwrap())
                .to_vec(),
            inside: vec!["vm1".to_owned(), "vm2".to_owned()],
            outside: Vec::new(),
            wire: VethPairs::named("wl3"),
            register: 15,
            table: 253,
            priority: 65527,
            addresses: 16384,
        }
    }

    fn ids(attachment: &Attachment, state: &str) -> BTreeMap<String, String> {
        let record = attachment.record();
        let state = ("state", state.to_owned());
        let pairs = record.into_iter().chain([state]);
        pairs
            .map(|(key, value)| (format!("{PREFIX}{key}"), value))
            .collect()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let attachment = attachment();
        let read = Attachment::read("br0", &ids(&attachment, "attached")).unwrap();
        assert_eq!(read, Some((State::Attached, attachment)));
        assert_eq!(Attachment::read("br0", &BTreeMap::new()).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let whole = ids(&attachment(), "attached");
        for (key, value, reason) in [
            ("windlass-state", "somewhere", "windlass-state=somewhere"),
            ("windlass-table", "many", "windlass-table=many"),
            ("windlass-match", "udp", "must begin with `tcp`"),
        ] {
            let mut ids = whole.clone();
            ids.insert(key.to_owned(), value.to_owned());
            let error = Attachment::read("br0", &ids).unwrap_err();
            assert!(format!("{error:#}").contains(reason), "{error:#}");
        }
        let mut ids = whole;
        ids.remove("windlass-wire");
        let error = Attachment::read("br0", &ids).unwrap_err().to_string();
        assert!(error.contains("lack windlass-wire"), "{error}");
    }

    #[test]
    fn all_that_is_written_is_forgotten() {
        let attachment = attachment();
        let ids = ids(&attachment, "attached");
        assert_eq!(forget_all(&attachment), forget("br0", &ids));
        assert_eq!(forget("br0", &ids).len(), 4 + 9);
        assert!(is_recorded(&ids) && !is_recorded(&BTreeMap::new()));
    }
}
