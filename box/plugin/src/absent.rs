//! What stands in the place of the host in a build without it.

use crate::{Added, PluginError, Status};

/// Takes in no module.
///
/// # Errors
/// Always [`PluginError::NoHost`].
pub fn add(_: &[u8]) -> Result<Added, PluginError> {
    Err(PluginError::NoHost)
}

/// How each plugin does: there is none.
pub fn statuses() -> Vec<Status> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_build_without_a_host_says_so_and_how_to_mend_it() {
        let said = super::add(b"").expect_err("no host").to_string();
        assert!(said.contains("built without the plugin host"), "{said}");
        assert!(said.contains("--no-default-features"), "{said}");
        assert!(super::statuses().is_empty());
    }
}
