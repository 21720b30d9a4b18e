//! What can be seen of the kernel.

use std::fs;
use std::process::Command;

/// `6.1.0-18-amd64`.
pub(crate) fn release() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

/// Major and minor.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// How it was configured, where that can be read.
pub(crate) struct Configuration(Option<String>);

impl Configuration {
    pub(crate) fn read(release: &str) -> Configuration {
        let files = [
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
        ];
        let plain = files.iter().find_map(|f| fs::read_to_string(f).ok());
        Configuration(plain.or_else(packed))
    }

    /// `y`, `m` or `n`; `None`: the configuration cannot be seen.
    pub(crate) fn get(&self, name: &str) -> Option<char> {
        let text = self.0.as_ref()?;
        let value = text
            .lines()
            .find_map(|l| l.strip_prefix(name)?.strip_prefix('='));
        Some(value.and_then(|v| v.chars().next()).unwrap_or('n'))
    }
}

fn packed() -> Option<String> {
    let unpacked = Command::new("zcat").arg("/proc/config.gz").output().ok()?;
    let text = String::from_utf8(unpacked.stdout).ok()?;
    (unpacked.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_versions() {
        assert_eq!(version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(version("5.15-rc3"), Some((5, 15)));
        assert_eq!(version(""), None);
    }

    #[test]
    fn options_are_told_apart() {
        let text = "CONFIG_BPF=y\n# CONFIG_XDP_SOCKETS is not set\nCONFIG_BPF_SYSCALL=m\n";
        let config = Configuration(Some(text.to_owned()));
        assert_eq!(config.get("CONFIG_BPF"), Some('y'));
        assert_eq!(config.get("CONFIG_BPF_SYSCALL"), Some('m'));
        assert_eq!(config.get("CONFIG_XDP_SOCKETS"), Some('n'));
        assert_eq!(Configuration(None).get("CONFIG_BPF"), None);
    }
}
