//! The places for connections: whoever lets the daemon wait longest gives way to who comes next.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Connections served at once.
const PLACES: usize = 16;

/// Who has a place.
#[derive(Default)]
pub(super) struct Places {
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    by: HashMap<u64, Guest>,
}

struct Guest {
    stream: UnixStream,
    /// Since when it has let the daemon wait; `None` while the daemon lets it wait.
    idle_since: Option<Instant>,
}

impl Places {
    /// A place for this connection. `None`: all others are being answered at this moment.
    pub(super) fn take(self: &Arc<Self>, stream: &UnixStream) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        let mut taken = self.lock();
        if taken.by.len() >= PLACES {
            let waiting = taken
                .by
                .iter()
                .filter_map(|(n, g)| Some((g.idle_since?, *n)));
            let (_, slowest) = waiting.min()?;
            if let Some(guest) = taken.by.remove(&slowest) {
                // Its thread finds the end of the stream.
                let _ = guest.stream.shutdown(Shutdown::Both);
            }
        }
        let number = taken.next;
        taken.next += 1;
        let idle_since = Some(Instant::now());
        taken.by.insert(number, Guest { stream, idle_since });
        drop(taken);
        Some(Place {
            places: Arc::clone(self),
            number,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of them, until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Place {
    /// The daemon works for it, or waits for it again.
    pub(super) fn set_busy(&self, busy: bool) {
        let mut taken = self.places.lock();
        if let Some(guest) = taken.by.get_mut(&self.number) {
            guest.idle_since = (!busy).then(Instant::now);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().by.remove(&self.number);
    }
}
