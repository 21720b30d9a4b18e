//! What stands in the place of the host in a build without it.

use windlass_cc::Catalog;

use crate::{Added, PluginError};

/// Takes in no module.
///
/// # Errors
/// Always [`PluginError::NoHost`].
pub fn add(_: &mut Catalog, _: &[u8]) -> Result<Added, PluginError> {
    Err(PluginError::NoHost)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_build_without_a_host_says_so_and_how_to_mend_it() {
        let mut catalog = windlass_cc::Catalog::new();
        let said = super::add(&mut catalog, b"")
            .expect_err("no host")
            .to_string();
        assert!(said.contains("built without the plugin host"), "{said}");
        assert!(said.contains("--no-default-features"), "{said}");
        assert!(catalog.plugins().is_empty());
    }
}
