//! The socket in the file system: made in the place of one that nobody serves any more, and again
//! when somebody has removed it.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use windlass_policy::DEFAULT_CONTROL_SOCKET;

use crate::RunError;

/// Only the owner may read and write.
const SOCKET_MODE: u32 = 0o600;
/// Of the folder of the default socket.
const FOLDER_MODE: u32 = 0o755;

/// A socket that is listened on; its name goes with it.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// Which file it is.
    file: (u64, u64),
}

/// What has become of the name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// It leads here.
    Ours,
    /// It was gone, and leads here again.
    MadeAgain,
    /// It leads elsewhere, or cannot be made.
    Lost(String),
}

impl Socket {
    /// # Errors
    /// [`RunError::AnotherRuns`] when somebody answers there, [`RunError::ControlSocket`].
    pub(crate) fn bind(path: &Path) -> Result<Socket, RunError> {
        if let Ok(stream) = UnixStream::connect(path) {
            let pid = getsockopt(&stream, PeerCredentials).map_or(0, |peer| peer.pid());
            return Err(RunError::AnotherRuns {
                path: path.to_owned(),
                pid,
            });
        }
        make(path).map_err(|source| RunError::ControlSocket {
            path: path.to_owned(),
            source,
        })
    }

    /// Looks whether the name still leads here, and makes it anew if there is none.
    pub(super) fn keep_name(&mut self) -> Name {
        match identity(&self.path) {
            Ok(file) if file == self.file => Name::Ours,
            Ok(_) => Name::Lost("something else has its name".to_owned()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => match make(&self.path) {
                Ok(new) => {
                    *self = new;
                    Name::MadeAgain
                }
                Err(e) => Name::Lost(format!("it was removed, and cannot be made again: {e}")),
            },
            Err(e) => Name::Lost(e.to_string()),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// It gets its name when it is ready and closed to others.
fn make(path: &Path) -> io::Result<Socket> {
    if fs::symlink_metadata(path).is_ok_and(|m| !m.file_type().is_socket()) {
        return Err(io::Error::other(
            "there is a file of this name that is no socket",
        ));
    }
    make_folder(path)?;
    let unfinished = PathBuf::from(format!("{}.{}", path.display(), std::process::id()));
    let _ = fs::remove_file(&unfinished);
    let listener = UnixListener::bind(&unfinished)?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(SOCKET_MODE))?;
    let file = identity(&unfinished)?;
    fs::rename(&unfinished, path)?;
    Ok(Socket {
        listener,
        path: path.to_owned(),
        file,
    })
}

/// Only the default's folder is made, which is empty after a start of the machine. Another that is not
/// there is a mistake in its name.
fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) else {
        return Ok(());
    };
    if folder.exists() {
        return Ok(());
    }
    if Some(folder) == Path::new(DEFAULT_CONTROL_SOCKET).parent() {
        fs::create_dir(folder)?;
        return fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE));
    }
    let folder = folder.display();
    let what = format!("there is no folder {folder} (make it with: mkdir -p {folder})");
    Err(io::Error::new(io::ErrorKind::NotFound, what))
}
