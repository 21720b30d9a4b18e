//! `[[tenant]]`: whose flows they are, and what they may send in all.

use windlass_engine::{Bounds, Tenant, TenantId};

use crate::error::{Wrong, suggest};
use crate::prefix::Prefix;
use crate::read::{Section, Value};
use crate::rule;

/// Most tenants of a file.
const TENANTS_MAX: usize = 65_536;
/// Bytes per second in a Mbit/s.
const MBIT: f64 = 125_000.0;
const CAP_MIN_MBIT: f64 = 0.01;
const CAP_MAX_MBIT: f64 = 1e6;
/// Packets in a turn at most: a box always has ten waiting of a sender that is held back.
const PRIORITY_MAX: u64 = 10;

/// Prefixes of all tenants, where one of them limits what belongs to no flow.
const BOUNDED_PREFIXES_MAX: usize = 1024;
/// Whether something counts against the limit.
const COUNTS: [(&str, bool); 2] = [("pass", false), ("limit", true)];

/// A tenant, and where its senders are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// What the engine knows of it.
    pub tenant: Tenant,
    /// Flows whose sender is here are its flows; none: those of rules that name it.
    pub prefixes: Vec<Prefix>,
}

/// Adds all `[[tenant]]` of a file to those that are known.
pub(crate) fn read(value: Value<'_>, tenants: &mut Vec<Owner>) -> Result<(), Wrong> {
    for value in value.list("[[tenant]]")? {
        let mut section = value.section("[[tenant]]")?;
        let name = section.need("name", "\"blue\"")?;
        let span = name.span();
        let name = name.text("blue")?.to_owned();
        if tenants.iter().any(|t| t.tenant.name == name) {
            let what = format!("two tenants are called \"{name}\"");
            return Err(Wrong::new(span, what, "give each a name of its own"));
        }
        if tenants.len() == TENANTS_MAX {
            let what = format!("more than {TENANTS_MAX} tenants");
            return Err(Wrong::new(span, what, "let several share a name"));
        }
        let cap = section.take("cap_mbit").map(|v| cap(&v)).transpose()?;
        let prefixes = match section.take("prefixes") {
            Some(value) => rule::list(value, "[\"10.0.0.0/8\"]", rule::prefix)?,
            None => Vec::new(),
        };
        let can = cap.is_some() && !prefixes.is_empty();
        let bounds = Bounds {
            non_tcp: counts(&mut section, "non_tcp", can)?,
            unknown_tcp: counts(&mut section, "unknown_tcp", can)?,
        };
        section.finish()?;
        let tenant = Tenant {
            name,
            cap,
            senders: prefixes.iter().map(Prefix::senders).collect(),
            bounds,
        };
        tenants.push(Owner { tenant, prefixes });
        let bounded = tenants.iter().any(|owner| owner.tenant.bounds.any());
        let prefixes: usize = tenants.iter().map(|owner| owner.prefixes.len()).sum();
        if bounded && prefixes > BOUNDED_PREFIXES_MAX {
            let what = format!(
                "more than {BOUNDED_PREFIXES_MAX} prefixes of tenants, with non_tcp or unknown_tcp = \"limit\": each packet is compared with them"
            );
            return Err(Wrong::new(span, what, "write fewer and shorter prefixes"));
        }
    }
    Ok(())
}

/// Whether what `key` names counts against the tenant's limit.
fn counts(section: &mut Section<'_>, key: &'static str, can: bool) -> Result<bool, Wrong> {
    let Some(value) = section.take(key) else {
        return Ok(false);
    };
    let span = value.span();
    let limits = value.word(&COUNTS)?;
    if limits && !can {
        let what =
            format!("{key} = \"limit\" counts what a tenant's addresses send against its cap");
        let help = "give this [[tenant]] prefixes and a cap_mbit";
        return Err(Wrong::new(span, what, help));
    }
    Ok(limits)
}

/// A rate in Mbit/s of TCP payload, as bytes per second.
pub(crate) fn cap(value: &Value<'_>) -> Result<u64, Wrong> {
    let mbit = value.number(CAP_MIN_MBIT..=CAP_MAX_MBIT, "Mbit/s")?;
    Ok((mbit * MBIT).round() as u64)
}

/// The tenant that a rule names.
pub(crate) fn named(value: &Value<'_>, tenants: &[Owner]) -> Result<TenantId, Wrong> {
    let name = value.text("blue")?;
    if let Some(index) = tenants.iter().position(|t| t.tenant.name == name) {
        return Ok(TenantId(index as u16));
    }
    let known: Vec<&str> = tenants.iter().map(|t| t.tenant.name.as_str()).collect();
    let help = match known.is_empty() {
        true => format!("describe it: [[tenant]] with name = \"{name}\""),
        false => suggest(name, &known),
    };
    let what = format!("there is no tenant \"{name}\"");
    Err(Wrong::new(value.span(), what, help))
}

/// The weight of a flow beside the others of its tenant: the one that its rule names, or one of all.
pub(crate) fn priority(
    value: &Value<'_>,
    named: Option<TenantId>,
    tenants: &[Owner],
) -> Result<u8, Wrong> {
    let range = 1..=PRIORITY_MAX;
    let priority = value.integer(range, "(2: twice as much as flows that have 1)")?;
    let owners = match named {
        Some(id) => &tenants[usize::from(id.0)..][..1],
        None => tenants,
    };
    if owners.iter().all(|owner| owner.tenant.cap.is_none()) {
        let what = "priority shares out what a tenant may send, and its tenant has no limit";
        let help = "give the [[tenant]] of these flows a cap_mbit, or leave priority out";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(priority as u8)
}
