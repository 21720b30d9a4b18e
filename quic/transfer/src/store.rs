//! A file that is arriving: under a temporary name until it is whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, FallocateFlags, OFlag, RenameFlags, fallocate, renameat2};
use sha2::{Digest, Sha256};

use crate::limits::{CHUNK, MAX_NAME_BYTES};
use crate::{Error, Result};

/// What stands around a name until the file is whole.
const SUFFIX: &str = ".windlass-part";

/// The part of a file that is there. Only one transfer at a time has it.
#[derive(Debug)]
pub(crate) struct Partial {
    file: File,
    path: PathBuf,
    target: PathBuf,
    size: u64,
    have: u64,
    hash: Sha256,
    overwrite: bool,
}

impl Partial {
    /// Opens what there is of a file, or begins it, and makes sure that there is room for the rest.
    ///
    /// # Errors
    /// A name that is none, a file that exists already, another transfer of it, no room.
    pub(crate) fn open(dir: &Path, name: &str, size: u64, overwrite: bool) -> Result<Partial> {
        check_name(name)?;
        let target = dir.join(name);
        let path = dir.join(format!(".{name}{SUFFIX}"));
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_dir() || !overwrite => {
                let exists = io::Error::new(ErrorKind::AlreadyExists, "it exists already");
                return Err(Error::file("write", &target, exists));
            }
            _ => {}
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(&path)
            .map_err(|e| Error::file("write", &path, e))?;
        lock(&file).map_err(|e| Error::file("write", &path, e))?;
        let mut partial = Partial {
            file,
            path,
            target,
            size,
            have: 0,
            hash: Sha256::new(),
            overwrite,
        };
        partial.read_what_is_there()?;
        partial.reserve()?;
        Ok(partial)
    }

    /// Bytes that are there.
    pub(crate) fn have(&self) -> u64 {
        self.have
    }

    /// Its size when it is whole.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The hash of what is there.
    pub(crate) fn sha256(&self) -> String {
        hex(&self.hash.clone().finalize())
    }

    /// Where what is there stands.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is there is of another file.
    pub(crate) fn restart(&mut self) -> Result<()> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|e| Error::file("write", &self.path, e))?;
        self.have = 0;
        self.hash = Sha256::new();
        self.reserve()
    }

    /// Appends.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 > self.size - self.have {
            let more = io::Error::other(format!("more than the {} bytes announced", self.size));
            return Err(Error::file("write", &self.path, more));
        }
        let written = self.file.write_all(bytes);
        written.map_err(|e| Error::file("write", &self.path, e))?;
        self.hash.update(bytes);
        self.have += bytes.len() as u64;
        Ok(())
    }

    /// The file is whole if its hash is this one: it gets its name, and is on disk when this
    /// returns.
    pub(crate) fn finish(self, sha256: &str) -> Result<PathBuf> {
        if self.sha256() != sha256 {
            let _ = fs::remove_file(&self.path);
            return Err(Error::Damaged {
                path: self.target.clone(),
            });
        }
        let synced = self.file.sync_all();
        synced.map_err(|e| Error::file("write", &self.path, e))?;
        self.rename()
            .map_err(|e| Error::file("write", &self.target, e))?;
        let dir = self.target.parent().filter(|d| !d.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new("."));
        let synced = File::open(dir).and_then(|dir| dir.sync_all());
        synced.map_err(|e| Error::file("write", dir, e))?;
        Ok(self.target.clone())
    }

    /// Without replacing what has come there meanwhile, where the file system can do that.
    fn rename(&self) -> io::Result<()> {
        if self.overwrite {
            return fs::rename(&self.path, &self.target);
        }
        let flags = RenameFlags::RENAME_NOREPLACE;
        match renameat2(AT_FDCWD, &self.path, AT_FDCWD, &self.target, flags) {
            Err(Errno::EINVAL | Errno::ENOSYS) if !self.target.exists() => {
                fs::rename(&self.path, &self.target)
            }
            done => Ok(done?),
        }
    }

    /// Finds out now, not at the end, that the disk is too small. Not all file systems can say.
    fn reserve(&self) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        let len = i64::try_from(self.size).unwrap_or(i64::MAX);
        match fallocate(&self.file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, len) {
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINTR) => Ok(()),
            Err(errno) => Err(Error::file("reserve room for", &self.path, errno.into())),
        }
    }

    fn read_what_is_there(&mut self) -> Result<()> {
        let failed = |path: &Path, e| Error::file("read", path, e);
        let len = self.file.metadata().map_err(|e| failed(&self.path, e))?;
        if len.len() > self.size {
            return self.restart();
        }
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = self.file.read(&mut buffer);
            let read = read.map_err(|e| failed(&self.path, e))?;
            if read == 0 {
                break;
            }
            self.hash.update(&buffer[..read]);
            self.have += read as u64;
        }
        let end = self.file.seek(SeekFrom::Start(self.have));
        end.map_err(|e| failed(&self.path, e)).map(|_| ())
    }
}

/// What was reserved for the rest is given back; of a file that has nothing yet, nothing stays.
impl Drop for Partial {
    fn drop(&mut self) {
        let empty = self.file.metadata().is_ok_and(|m| m.len() == 0);
        if empty && self.size > 0 {
            let _ = fs::remove_file(&self.path);
            return;
        }
        let (from, rest) = (self.have as i64, (self.size - self.have) as i64);
        if rest > 0 {
            let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            let _ = fallocate(&self.file, flags, from, rest);
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            ErrorKind::ResourceBusy,
            "another transfer of this file is under way",
        )),
        // Some network file systems have no locks; then nothing keeps two transfers apart.
        Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// One component of a path that can be kept and shown.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let odd = name.is_empty()
        || name == "."
        || name == ".."
        || name.len() > MAX_NAME_BYTES
        || name.contains(|c: char| c == '/' || c.is_control());
    if odd {
        return Err(Error::Name(name.to_owned()));
    }
    Ok(())
}

/// As `sha256sum` shows it.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
