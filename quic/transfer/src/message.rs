//! What the two ends say to each other: JSON, with its length before it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Raised when messages change so that the other end could not read them.
pub(crate) const VERSION: u32 = 1;
/// ALPN.
pub(crate) const PROTOCOL: &[u8] = b"windlass-transfer/1";
/// No message is longer, bytes.
const LONGEST: usize = 16 << 10;

/// What the sender offers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Content {
    /// A file, to be kept.
    File { name: String, size: u64 },
    /// Filling, to be counted and thrown away.
    Filling,
}

/// From the sender.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToReceiver {
    /// First.
    Offer { version: u32, content: Content },
    /// The data begins at this offset.
    Start { offset: u64 },
    /// So many bytes are all; the hash is that of the whole file. Without a number: what has arrived
    /// of the filling is enough.
    Finish {
        bytes: Option<u64>,
        sha256: Option<String>,
    },
}

/// From the receiver.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToSender {
    /// So many bytes of the file are there, with this hash.
    Ready { have: u64, sha256: Option<String> },
    /// It does not want it.
    Refused { why: String },
    /// It has it all: the file under its final name; the filling so far.
    Done { bytes: u64 },
    /// It could not go on; so many bytes are there.
    Failed { why: String, bytes: u64 },
}

/// A message that could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Silence {
    /// The stream.
    #[error("{0}")]
    Stream(#[from] std::io::Error),
    /// What came is none.
    #[error("{0}")]
    Nonsense(String),
}

pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> Result<(), std::io::Error> {
    let text = serde_json::to_vec(message)?;
    let mut framed = (text.len() as u32).to_be_bytes().to_vec();
    framed.extend_from_slice(&text);
    to.write_all(&framed).await?;
    to.flush().await
}

pub(crate) async fn read<M: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<M, Silence> {
    let len = from.read_u32().await? as usize;
    if len > LONGEST {
        return Err(Silence::Nonsense(format!("a message of {len} bytes")));
    }
    let mut text = vec![0; len];
    from.read_exact(&mut text).await?;
    serde_json::from_slice(&text).map_err(|e| Silence::Nonsense(format!("{e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(future)
    }

    #[test]
    fn messages_arrive_as_they_left() {
        block_on(async {
            let offer = ToReceiver::Offer {
                version: VERSION,
                content: Content::File {
                    name: "ä \"b\"".to_owned(),
                    size: u64::MAX,
                },
            };
            let mut wire = Vec::new();
            write(&mut wire, &offer).await.expect("a vector");
            write(&mut wire, &ToReceiver::Start { offset: 7 })
                .await
                .expect("a vector");
            let mut rest = &wire[..];
            assert_eq!(read::<ToReceiver>(&mut rest).await.expect("whole"), offer);
            let second = read::<ToReceiver>(&mut rest).await.expect("whole");
            assert_eq!(second, ToReceiver::Start { offset: 7 });
            assert!(rest.is_empty());
        });
    }

    #[test]
    fn what_is_no_message_is_refused() {
        block_on(async {
            let wire = u32::MAX.to_be_bytes();
            let told = read::<ToSender>(&mut &wire[..]).await.unwrap_err();
            assert!(told.to_string().contains("4294967295 bytes"), "{told}");
            let wire = [&4u32.to_be_bytes()[..], b"nope"].concat();
            assert!(matches!(
                read::<ToSender>(&mut &wire[..]).await,
                Err(Silence::Nonsense(_))
            ));
            let cut = [&9u32.to_be_bytes()[..], b"{\"d"].concat();
            assert!(matches!(
                read::<ToSender>(&mut &cut[..]).await,
                Err(Silence::Stream(_))
            ));
        });
    }
}
