//! The thread that everything but disks runs on, and how it is told to end.

use s2n_quic::{connection, stream};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Error, Result, limits};

/// Application codes of a closed connection.
pub(crate) mod code {
    /// All is said.
    pub(crate) const DONE: u32 = 0;
    /// A person ended it.
    pub(crate) const INTERRUPTED: u32 = 1;
    /// It could not go on; the reason has been told.
    pub(crate) const FAILED: u32 = 2;
}

/// Runs a transfer. One thread is enough: what QUIC costs cannot be shared out over several for one
/// connection, and handing packets between threads costs more.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::Start(format!("no event loop: {e}")))?;
    let done = runtime.block_on(work);
    // A thread that reads a disk that does not answer must not hold up the end.
    runtime.shutdown_background();
    done
}

/// Returns when the process is to end: SIGINT or SIGTERM.
pub(crate) async fn interrupted() -> Result<()> {
    let start = |e| Error::Start(format!("no signals: {e}"));
    let mut int = signal(SignalKind::interrupt()).map_err(start)?;
    let mut term = signal(SignalKind::terminate()).map_err(start)?;
    tokio::select! {
        _ = int.recv() => {}
        _ = term.recv() => {}
    }
    Ok(())
}

/// Why a connection is gone, for people.
pub(crate) fn why(error: &connection::Error) -> String {
    match error {
        connection::Error::IdleTimerExpired { .. } => format!(
            "nothing was heard for {} s: the other end or the network is gone",
            limits::SILENCE.as_secs()
        ),
        connection::Error::Closed { .. } => "the other end closed it".to_owned(),
        connection::Error::Application { error, .. } => match u64::from(*error) as u32 {
            code::INTERRUPTED => "it was interrupted there".to_owned(),
            code::FAILED => "the other end gave up".to_owned(),
            _ => "the other end closed it".to_owned(),
        },
        other => other.to_string(),
    }
}

/// Why a stream is gone, for people.
pub(crate) fn why_stream(error: &stream::Error) -> String {
    match error {
        stream::Error::ConnectionError { error, .. } => why(error),
        stream::Error::StreamReset { .. } => "the other end gave up".to_owned(),
        other => other.to_string(),
    }
}

/// The same, where it comes wrapped: as the stream's error, or as that of the connection itself.
pub(crate) fn why_io(error: &std::io::Error) -> String {
    if let Some(inner) = error.get_ref() {
        if let Some(error) = inner.downcast_ref::<stream::Error>() {
            return why_stream(error);
        }
        if let Some(error) = inner.downcast_ref::<connection::Error>() {
            return why(error);
        }
    }
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "the other end closed it".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use s2n_quic::application;

    #[test]
    fn an_interruption_is_told_however_it_is_heard_of() {
        let code = application::Error::from(code::INTERRUPTED);
        let connection = connection::Error::application(code);
        let said = "it was interrupted there";
        assert_eq!(why(&connection), said);
        assert_eq!(why_io(&std::io::Error::from(connection)), said);
        let stream = stream::Error::from(connection);
        assert_eq!(why_io(&std::io::Error::from(stream)), said);
    }
}
