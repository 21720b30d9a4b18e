//! A controller as bytes: to carry the flows of one process over to the next.

use core::fmt;

use crc::{CRC_32_ISCSI, Crc};
use serde::{Deserialize, Serialize};

use crate::Controller;

/// Raised whenever the state of an algorithm changes its fields.
const VERSION: u16 = 3;
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

#[derive(Serialize, Deserialize)]
struct Record<C> {
    version: u16,
    controller: C,
}

#[derive(Deserialize)]
struct Version {
    version: u16,
}

/// Bytes that are not the state of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// They were exported by another version.
    Version(u16),
    /// They are not what was exported: cut short, or changed.
    Damaged,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Version(found) => write!(
                f,
                "the state of the flow has format {found}, this program reads {VERSION}: start \
                 the flow anew from its path"
            ),
            ImportError::Damaged => {
                f.write_str("the state of the flow is damaged: start it anew from its path")
            }
        }
    }
}

impl core::error::Error for ImportError {}

impl Controller {
    /// The whole state: algorithm, parameters, the open recovery episode.
    ///
    /// # Panics
    /// Never: every state can be written.
    pub fn export(&self) -> Vec<u8> {
        let record = Record {
            version: VERSION,
            controller: self,
        };
        postcard::to_allocvec_crc32(&record, CHECKSUM.digest()).expect("plain data")
    }

    /// The controller that was exported; it goes on as if nothing had happened.
    ///
    /// # Errors
    /// The bytes are damaged, or from a version with another format.
    pub fn import(bytes: &[u8]) -> Result<Controller, ImportError> {
        let version: Version = postcard::from_bytes(bytes).map_err(|_| ImportError::Damaged)?;
        if version.version != VERSION {
            return Err(ImportError::Version(version.version));
        }
        let record: Result<Record<Controller>, _> =
            postcard::from_bytes_crc32(bytes, CHECKSUM.digest());
        Ok(record.map_err(|_| ImportError::Damaged)?.controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlgorithmId, Path};

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        for id in AlgorithmId::ALL {
            let bytes = Controller::new(*id, &Path::new(1448), 3).export();
            assert!(bytes.len() < 600, "{id}: {} bytes", bytes.len());
            assert_eq!(Controller::import(&bytes).map(|c| c.id()), Ok(*id));
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x11;
                assert!(Controller::import(&damaged).is_err(), "{id} at {at}");
                assert!(
                    Controller::import(&bytes[..at]).is_err(),
                    "{id} cut at {at}"
                );
            }
        }
    }

    #[test]
    fn another_version_is_told() {
        let mut bytes = Controller::new(AlgorithmId::Reno, &Path::new(1448), 3).export();
        bytes[0] = 9;
        let error = Controller::import(&bytes).unwrap_err();
        assert_eq!(error, ImportError::Version(9));
        assert!(error.to_string().contains("format 9"));
    }
}
