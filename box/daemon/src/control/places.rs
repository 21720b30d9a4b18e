//! The places for connections: whoever lets the daemon wait longest gives way to who comes next.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use socket2::Socket;

/// Who has a place.
pub(crate) struct Places {
    /// Connections served at once.
    count: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    by: HashMap<u64, Guest>,
}

struct Guest {
    stream: Socket,
    /// Since when it has let the daemon wait; `None` while the daemon lets it wait.
    idle_since: Option<Instant>,
}

impl Places {
    pub(crate) fn new(count: usize) -> Places {
        Places {
            count,
            taken: Mutex::default(),
        }
    }

    /// A place for this connection. `None`: all others are being answered at this moment.
    pub(crate) fn take(self: &Arc<Self>, stream: &Socket) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        let mut taken = self.lock();
        if taken.by.len() >= self.count {
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
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Place {
    /// The daemon works for it, or waits for it again.
    pub(crate) fn set_busy(&self, busy: bool) {
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
