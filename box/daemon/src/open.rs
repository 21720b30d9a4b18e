//! From settings to an open session.

use windlass_io::bridge::{BridgeState, ensure_bridge, returning};
use windlass_io::interface::{Interface, Problem, Severity, check, check_links, check_packet};
use windlass_io::{DriverConfig, DriverInfo, Prefer, Session};

use crate::RunError;

/// What was obtained.
#[derive(Debug)]
pub struct Opened<'a> {
    /// The drivers.
    pub driver: &'a DriverInfo,
    /// The bridge, if the driver stands beside one.
    pub bridge: Option<&'a BridgeState>,
    /// What is not as it should be, but no reason to refuse.
    pub warnings: &'a [Problem],
}

/// Opens the session; two interfaces in no bridge get one of their own, and one that comes back into that
/// is put there again.
pub(crate) fn open(driver: &DriverConfig) -> Result<(Session, Option<BridgeState>), RunError> {
    let bridge = match driver.prefer {
        Prefer::Packet => None,
        _ => bridge(driver)?,
    };
    Ok((Session::open(driver)?, bridge))
}

/// Makes a bridge only when nothing else is amiss, so that a refusal leaves everything as it was.
pub(crate) fn bridge(driver: &DriverConfig) -> Result<Option<BridgeState>, RunError> {
    let (inside, outside) = (driver.inside.as_str(), driver.outside.as_str());
    let unbridged = |name| Interface::get(name).is_ok_and(|i| i.bridge.is_none());
    let problems = if unbridged(inside) && unbridged(outside) {
        check_packet(inside, outside)
    } else if returning(inside, outside).is_some() {
        check_links(inside, outside)
    } else {
        check(inside, outside)
    };
    let is_refusal = |p: &Problem| p.severity == Severity::Refusal;
    let refusals: Vec<Problem> = problems.into_iter().filter(is_refusal).collect();
    if !refusals.is_empty() {
        return Err(RunError::Interfaces(refusals));
    }
    let made = ensure_bridge(inside, outside).map_err(|source| RunError::Bridge {
        inside: inside.to_owned(),
        outside: outside.to_owned(),
        source,
    })?;
    Ok(Some(made))
}
