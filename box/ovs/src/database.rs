//! What Open vSwitch's database says of a bridge and its ports (ovs-vswitchd.conf.db(5)).

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::attachment::WIRE;
use crate::command::Command;

/// A bridge as it is configured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Bridge {
    pub(crate) name: String,
    pub(crate) external_ids: BTreeMap<String, String>,
    /// Versions of OpenFlow that it speaks; none: all.
    pub(crate) protocols: Vec<String>,
    pub(crate) ports: Vec<Port>,
    /// Wires in the records of all bridges, this one and others.
    pub(crate) wires: Vec<String>,
}

/// A port: one interface, or several in a bond.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) tag: Option<u16>,
    pub(crate) vlan_mode: Option<String>,
    pub(crate) interfaces: Vec<Interface>,
}

/// An interface of a port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Its OpenFlow number; none while it does not work.
    pub(crate) number: Option<u16>,
    pub(crate) mtu: Option<u32>,
    pub(crate) error: Option<String>,
    /// A tunnel whose ends or key come with each packet.
    pub(crate) flow_based: bool,
}

/// How a port stands to VLAN tags under `NORMAL`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tagging {
    /// Frames are as they are.
    Trunk,
    /// Untagged frames are of this VLAN, others are none of the port's.
    Access(u16),
    /// Untagged frames are of this VLAN, others of that in their tag.
    Native(u16),
}

impl Port {
    pub(crate) fn tagging(&self) -> Tagging {
        let Some(tag) = self.tag.filter(|tag| (1..4095).contains(tag)) else {
            return Tagging::Trunk;
        };
        match self.vlan_mode.as_deref() {
            None | Some("access") => Tagging::Access(tag),
            Some("native-tagged" | "native-untagged") => Tagging::Native(tag),
            _ => Tagging::Trunk,
        }
    }
}

impl Bridge {
    /// Asks the database.
    ///
    /// # Errors
    /// When it does not answer, or there is no such bridge; with those that there are.
    pub(crate) fn read(name: &str) -> Result<Bridge> {
        let said = Command::vsctl(
            "--format=json -- --columns=name,ports,external_ids,protocols list Bridge \
             -- --columns=_uuid,name,interfaces,tag,vlan_mode list Port \
             -- --columns=_uuid,name,ofport,mtu,error,type,options list Interface",
        )
        .run()
        .context(
            "the database of Open vSwitch does not answer (it is looked for in OVS_RUNDIR, by \
             default /var/run/openvswitch)",
        )?;
        Bridge::parse(name, &said)
    }

    fn parse(name: &str, said: &str) -> Result<Bridge> {
        let tables: Vec<Table> = said.lines().map(Table::parse).collect::<Result<_>>()?;
        let [bridges, ports, interfaces] = tables.as_slice() else {
            bail!(
                "the database of Open vSwitch has answered with {} tables",
                tables.len()
            );
        };
        let Some(row) = bridges.rows().find(|row| row.text("name") == name) else {
            let names: Vec<String> = bridges.rows().map(|row| row.text("name")).collect();
            let names = match names.as_slice() {
                [] => "it has none".to_owned(),
                names => format!("it has {}", names.join(", ")),
            };
            return Err(NoBridge {
                name: name.to_owned(),
                others: names,
            }
            .into());
        };
        let of = |uuids: &Value, table: &Table| -> Vec<usize> {
            let wanted: Vec<&Value> = elements(uuids);
            let rows = table.rows().enumerate();
            let rows = rows.filter(|(_, row)| wanted.contains(&row.value("_uuid")));
            rows.map(|(index, _)| index).collect()
        };
        let mut all = Vec::new();
        for index in of(row.value("ports"), ports) {
            let port = ports.row(index);
            let members = of(port.value("interfaces"), interfaces).into_iter();
            all.push(Port {
                name: port.text("name"),
                tag: port.number("tag").map(|n| n as u16),
                vlan_mode: port.some_text("vlan_mode"),
                interfaces: members.map(|i| interface(interfaces.row(i))).collect(),
            });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Bridge {
            name: name.to_owned(),
            external_ids: row.map("external_ids"),
            protocols: elements(row.value("protocols"))
                .into_iter()
                .filter_map(|v| Some(v.as_str()?.to_owned()))
                .collect(),
            ports: all,
            wires: bridges
                .rows()
                .filter_map(|row| row.map("external_ids").remove(WIRE))
                .collect(),
        })
    }

    /// All interfaces by their numbers.
    pub(crate) fn numbers(&self) -> BTreeMap<String, u16> {
        let interfaces = self.ports.iter().flat_map(|p| &p.interfaces);
        let numbers = interfaces.filter_map(|i| Some((i.name.clone(), i.number?)));
        numbers.collect()
    }

    /// The port of this name.
    pub(crate) fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|port| port.name == name)
    }
}

fn interface(row: Row<'_>) -> Interface {
    let options = row.map("options");
    let by_flow = |key: &str| options.get(key).is_some_and(|value| value == "flow");
    Interface {
        name: row.text("name"),
        number: row
            .number("ofport")
            .and_then(|n| u16::try_from(n).ok())
            .filter(|n| *n > 0),
        mtu: row.number("mtu").and_then(|n| u32::try_from(n).ok()),
        error: row.some_text("error"),
        flow_based: ["key", "in_key", "remote_ip", "local_ip"]
            .into_iter()
            .any(by_flow),
    }
}

/// There is no bridge of this name.
#[derive(Debug, thiserror::Error)]
#[error("Open vSwitch has no bridge {name} ({others})")]
pub struct NoBridge {
    name: String,
    others: String,
}

/// A table as `ovs-vsctl --format=json` prints it: columns, rows, values as in RFC 7047, 5.1.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

#[derive(Clone, Copy)]
struct Row<'a> {
    table: &'a Table,
    values: &'a [Value],
}

impl Table {
    fn parse(line: &str) -> Result<Table> {
        let parsed = || -> Option<Table> {
            let value: Value = serde_json::from_str(line).ok()?;
            let columns = value.get("headings")?.as_array()?.iter();
            let rows = value.get("data")?.as_array()?.iter();
            Some(Table {
                columns: columns
                    .map(|c| Some(c.as_str()?.to_owned()))
                    .collect::<Option<_>>()?,
                rows: rows.map(|r| r.as_array().cloned()).collect::<Option<_>>()?,
            })
        };
        parsed().with_context(|| format!("ovs-vsctl has printed what is no table: {line}"))
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.len()).map(|index| self.row(index))
    }

    fn row(&self, index: usize) -> Row<'_> {
        Row {
            table: self,
            values: &self.rows[index],
        }
    }
}

impl<'a> Row<'a> {
    fn value(self, column: &str) -> &'a Value {
        let index = self.table.columns.iter().position(|c| c == column);
        index
            .and_then(|i| self.values.get(i))
            .unwrap_or(&Value::Null)
    }

    fn some_text(self, column: &str) -> Option<String> {
        self.value(column).as_str().map(str::to_owned)
    }

    fn text(self, column: &str) -> String {
        self.some_text(column).unwrap_or_default()
    }

    fn number(self, column: &str) -> Option<i64> {
        self.value(column).as_i64()
    }

    fn map(self, column: &str) -> BTreeMap<String, String> {
        let pairs = self.value(column).get(1).and_then(Value::as_array);
        let pairs = pairs.into_iter().flatten().filter_map(|pair| {
            let text = |at: usize| Some(pair.get(at)?.as_str()?.to_owned());
            Some((text(0)?, text(1)?))
        });
        pairs.collect()
    }
}

/// The elements of a set; one alone is written without the set.
fn elements(value: &Value) -> Vec<&Value> {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(kind), Value::Array(all)]) if kind == "set" => all.iter().collect(),
        _ => vec![value],
    }
}

#[cfg(test)]
mod tests;
