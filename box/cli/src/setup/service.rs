//! The service of systemd: its unit, and what has to be done each time before it starts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::command;
use super::plan::Step;
use super::record::ServiceBefore;

pub(super) const SERVICE: &str = "windlass.service";
/// The unit that packages bring.
const UNIT: &str = include_str!("../../../../packaging/systemd/windlass.service");
const INSTALLED: &str = "/usr/bin/windlass";
const PACKAGED_IN: [&str; 2] = ["/lib/systemd/system", "/usr/lib/systemd/system"];
const OWN_FOLDER: &str = "/etc/systemd/system";

/// Whether systemd has started this machine (sd_booted(3)).
pub(super) fn has_systemd() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Where an administrator's unit is.
pub(super) fn own_unit() -> PathBuf {
    Path::new(OWN_FOLDER).join(SERVICE)
}

/// The unit, where no package has brought one: it starts this very program.
pub(super) fn missing_unit() -> Result<Option<String>> {
    if PACKAGED_IN
        .iter()
        .any(|folder| Path::new(folder).join(SERVICE).exists())
    {
        return Ok(None);
    }
    let own = std::env::current_exe().context("finding this program's own file")?;
    Ok(Some(UNIT.replace(INSTALLED, &own.display().to_string())))
}

/// Where [`drop_in`] is.
pub(super) fn drop_in_path() -> PathBuf {
    Path::new(OWN_FOLDER).join("windlass.service.d/10-setup.conf")
}

/// What lasts over restarts: it waits for the interfaces, and takes the steps each time.
pub(super) fn drop_in(sides: [&str; 2], steps: &[Step]) -> String {
    let devices = sides.map(|name| format!("sys-subsystem-net-devices-{}.device", escaped(name)));
    let mut text = format!(
        "# Written by windlass setup; windlass setup --undo removes it.\n[Unit]\nWants={0}\nAfter={0}\n\n[Service]\n",
        devices.join(" ")
    );
    for step in steps {
        // With all privileges, which the service itself does not have; what fails is in the journal and in the status.
        text += &format!(
            "# {}\nExecStartPre=-+{}\n",
            step.why,
            command::line(&step.apply)
        );
    }
    text
}

/// A name as systemd-escape(1) writes it in the name of a unit.
fn escaped(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':' || c == '.';
    let one = |(at, c): (usize, char)| match plain(c) && !(at == 0 && c == '.') {
        true => c.to_string(),
        false => c
            .to_string()
            .bytes()
            .map(|byte| format!("\\x{byte:02x}"))
            .collect(),
    };
    name.char_indices().map(one).collect()
}

/// How it is now.
pub(super) fn now() -> ServiceBefore {
    ServiceBefore {
        enabled: command::succeeds(&["systemctl", "is-enabled", "--quiet", SERVICE]),
        active: command::succeeds(&["systemctl", "is-active", "--quiet", SERVICE]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_systemd_does() {
        assert_eq!(escaped("eth1"), "eth1");
        assert_eq!(escaped("br-lan.7"), "br\\x2dlan.7");
    }

    #[test]
    fn the_drop_in_has_each_step() {
        let step = Step {
            why: "eth1 has gro on".to_owned(),
            apply: ["ethtool", "-K", "eth1", "gro", "off"]
                .map(str::to_owned)
                .to_vec(),
            restore: Vec::new(),
        };
        let text = drop_in(["eth1", "eth2"], &[step]);
        assert!(
            text.contains("\nExecStartPre=-+ethtool -K eth1 gro off\n"),
            "{text}"
        );
        assert!(
            text.contains("After=sys-subsystem-net-devices-eth1.device sys-sub"),
            "{text}"
        );
    }
}
