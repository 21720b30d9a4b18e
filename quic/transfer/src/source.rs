//! What is sent: a file, read on a thread of its own, or filling.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{Receiver, channel};

use crate::limits::{CHUNK, CHUNKS_QUEUED};
use crate::store::{check_name, hex};
use crate::{Error, Result};

/// A file to send.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: File,
    path: PathBuf,
    pub(crate) name: String,
    pub(crate) size: u64,
    /// Of what comes before the place where sending begins.
    hash: Sha256,
}

/// What the reading thread hands over.
pub(crate) enum Piece {
    /// The next bytes.
    Bytes(Bytes),
    /// There are no more; the SHA-256 of the whole file.
    End(String),
}

impl FileSource {
    /// # Errors
    /// It cannot be read, is no file, or has a name that cannot be sent.
    pub(crate) fn open(path: &Path) -> Result<FileSource> {
        let failed = |e| Error::file("read", path, e);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let other = std::io::Error::other("it is no regular file");
            return Err(failed(other));
        }
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        check_name(&name)?;
        if path.file_name().and_then(|n| n.to_str()).is_none() {
            return Err(Error::Name(name));
        }
        Ok(FileSource {
            file,
            path: path.to_owned(),
            name,
            size: metadata.len(),
            hash: Sha256::new(),
        })
    }

    /// Where to begin, for a receiver that has so many bytes with this hash: behind them if they
    /// are of this file.
    pub(crate) fn begin_behind(&mut self, have: u64, sha256: &str) -> Result<u64> {
        if have == 0 || have > self.size {
            return Ok(0);
        }
        let mut hash = Sha256::new();
        let mut rest = have;
        let mut buffer = vec![0; CHUNK];
        while rest > 0 {
            let most = buffer.len().min(usize::try_from(rest).unwrap_or(CHUNK));
            let read = self.read(&mut buffer[..most])?;
            if read == 0 {
                return Err(self.shrunk(have - rest));
            }
            hash.update(&buffer[..read]);
            rest -= read as u64;
        }
        if hex(&hash.clone().finalize()) == sha256 {
            self.hash = hash;
            return Ok(have);
        }
        let rewound = self.file.seek(SeekFrom::Start(0));
        rewound.map_err(|e| Error::file("read", &self.path, e))?;
        Ok(0)
    }

    /// Reads the rest, which begins at `offset`.
    pub(crate) fn stream(mut self, offset: u64) -> Result<Receiver<Result<Piece>>> {
        let (pieces, queue) = channel(CHUNKS_QUEUED);
        let body = move || {
            let mut at = offset;
            loop {
                let piece = self.next(&mut at);
                let last = !matches!(piece, Ok(Piece::Bytes(_)));
                if pieces.blocking_send(piece).is_err() || last {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("reader".to_owned())
            .spawn(body)
            .map_err(|e| Error::Start(format!("no thread: {e}")))?;
        Ok(queue)
    }

    fn next(&mut self, at: &mut u64) -> Result<Piece> {
        let most = CHUNK.min(usize::try_from(self.size - *at).unwrap_or(CHUNK));
        if most == 0 {
            return Ok(Piece::End(hex(&self.hash.clone().finalize())));
        }
        let mut buffer = vec![0; most];
        let read = self.read(&mut buffer)?;
        if read == 0 {
            return Err(self.shrunk(*at));
        }
        buffer.truncate(read);
        self.hash.update(&buffer);
        *at += read as u64;
        Ok(Piece::Bytes(buffer.into()))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.file.read(buffer);
        read.map_err(|e| Error::file("read", &self.path, e))
    }

    fn shrunk(&self, found: u64) -> Error {
        Error::Shrunk {
            path: self.path.clone(),
            expected: self.size,
            found,
        }
    }
}

/// Bytes that mean nothing and do not compress.
pub(crate) fn filling() -> Bytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let word = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..CHUNK / 8).flat_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(content: &[u8]) -> (tempfile::TempDir, FileSource) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        std::fs::write(&path, content).expect("room");
        let source = FileSource::open(&path).expect("it is there");
        (dir, source)
    }

    fn all(mut queue: Receiver<Result<Piece>>) -> (Vec<u8>, String) {
        let mut content = Vec::new();
        loop {
            match queue.blocking_recv().expect("it ends with a hash") {
                Ok(Piece::Bytes(bytes)) => content.extend_from_slice(&bytes),
                Ok(Piece::End(sha256)) => return (content, sha256),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn the_hash_is_of_the_whole_file_wherever_sending_begins() {
        let content: Vec<u8> = (0..600_000u32).map(|i| (i / 7) as u8).collect();
        let whole = hex(&Sha256::digest(&content));
        let (_dir, source) = source(&content);
        assert_eq!(
            all(source.stream(0).expect("a thread")),
            (content.clone(), whole.clone())
        );
        let (_dir, mut source) = super::tests::source(&content);
        let there = hex(&Sha256::digest(&content[..300_001]));
        assert_eq!(
            source.begin_behind(300_001, &there).expect("it is read"),
            300_001
        );
        let sent = all(source.stream(300_001).expect("a thread"));
        assert_eq!(sent, (content[300_001..].to_vec(), whole));
    }

    #[test]
    fn another_beginning_is_sent_from_the_start() {
        let (_dir, mut source) = source(b"content");
        let other = hex(&Sha256::digest(b"cant"));
        assert_eq!(source.begin_behind(4, &other).expect("it is read"), 0);
        assert_eq!(all(source.stream(0).expect("a thread")).0, b"content");
        let (_dir, mut source) = super::tests::source(b"content");
        assert_eq!(source.begin_behind(8, "").expect("longer"), 0);
    }

    #[test]
    fn a_file_that_shrinks_is_told() {
        let (dir, source) = source(&[1; 300_000]);
        let path = dir.path().join("file");
        File::options()
            .write(true)
            .open(path)
            .and_then(|f| f.set_len(100))
            .expect("it is there");
        let mut queue = source.stream(0).expect("a thread");
        let error = loop {
            match queue.blocking_recv().expect("an error first") {
                Ok(Piece::Bytes(_)) => {}
                Ok(Piece::End(_)) => panic!("200 bytes are missing"),
                Err(error) => break error,
            }
        };
        assert!(
            error.to_string().ends_with("100 of 300000 bytes"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(FileSource::open(dir.path()).is_err());
        assert!(FileSource::open(&dir.path().join("absent")).is_err());
        assert!(FileSource::open(Path::new("/dev/null")).is_err());
    }
}
