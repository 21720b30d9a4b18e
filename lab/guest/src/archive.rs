//! The initramfs: what the kernel unpacks into memory when it boots.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use cpio::newc::{Builder, ModeFileType, trailer};

const PROGRAM_MODE: u32 = 0o755;

/// An archive in the format `newc`, uncompressed: unpacking would cost more than reading. The
/// kernel accepts several of them in a row.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
}

impl Archive {
    /// Adds a file, and the folders above it. Everything may be executed.
    ///
    /// # Errors
    /// When it has 4 GiB or more, or a path that is no UTF-8.
    pub fn add(&mut self, path: impl AsRef<Path>, content: &[u8]) -> Result<()> {
        let path = path.as_ref();
        let text = path.to_str().context("a path that is no UTF-8")?;
        let name = text.trim_start_matches('/');
        for (end, _) in name.match_indices('/') {
            let folder = &name[..end];
            if self.folders.insert(folder.to_owned()) {
                self.entry(folder, ModeFileType::Directory, &[])?;
            }
        }
        self.entry(name, ModeFileType::Regular, content)
    }

    /// The finished archive.
    ///
    /// # Errors
    /// None: writing to memory does not fail.
    pub fn finish(self) -> Result<Vec<u8>> {
        Ok(trailer(self.bytes)?)
    }

    fn entry(&mut self, name: &str, kind: ModeFileType, content: &[u8]) -> Result<()> {
        let size = u32::try_from(content.len()).context("a file too large for the guest")?;
        let header = Builder::new(name)
            .mode(PROGRAM_MODE)
            .set_mode_file_type(kind);
        let mut writer = header.write(&mut self.bytes, size);
        std::io::Write::write_all(&mut writer, content)?;
        writer.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cpio::newc::Reader;

    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.add("/a/b/one", b"1").expect("added");
        archive.add("a/b/two", b"22").expect("added");
        let bytes = archive.finish().expect("finished");
        let mut rest = bytes.as_slice();
        let mut names = Vec::new();
        loop {
            let mut reader = Reader::new(rest).expect("an entry");
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut reader, &mut content).expect("read");
            let mode = reader.entry().mode();
            names.push((reader.entry().name().to_owned(), mode, content));
            rest = reader.finish().expect("the next one");
        }
        let expected = [
            ("a".to_owned(), 0o40_755, vec![]),
            ("a/b".to_owned(), 0o40_755, vec![]),
            ("a/b/one".to_owned(), 0o100_755, b"1".to_vec()),
            ("a/b/two".to_owned(), 0o100_755, b"22".to_vec()),
        ];
        assert_eq!(names, expected);
    }
}
