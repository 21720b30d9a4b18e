//! Files that were not made by this process are read with care.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

/// The text of a regular file that is not longer than `most` bytes. Anything else, as a pipe that nobody
/// writes to, is an error at once.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let file: File = options.read(true).custom_flags(O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        let what = "it is no regular file (name one, or copy what is to be read into one)";
        return Err(io::Error::other(what));
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(text)
}

/// A file of this user that nobody else can write, not longer than `most` bytes.
pub(crate) fn read_own(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK)
        .open(path)?;
    let about = file.metadata()?;
    let own = about.is_file()
        && about.uid() == nix::unistd::geteuid().as_raw()
        && about.mode() & 0o022 == 0;
    if !own || about.len() > most {
        return Err(io::Error::other("not written by a process of this user"));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
