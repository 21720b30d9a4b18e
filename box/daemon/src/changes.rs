//! The thread that hears of changes to interfaces.

use std::io;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use windlass_io::watch::Watch;

use crate::run::Event;

/// A machine that makes and removes interfaces all the time is looked at so often at most.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one wait is: it ends with the daemon only.
const WAIT: Duration = Duration::from_secs(3600);

/// Sends an event whenever an interface may have changed.
pub(crate) fn tell(events: Sender<Event>) -> io::Result<()> {
    let watch = Watch::open()?;
    let work = move || {
        loop {
            match watch.wait(WAIT) {
                Ok(false) => {}
                Ok(true) if events.send(Event::Change).is_err() => return,
                // What cannot be heard is seen at the next look.
                Ok(true) | Err(_) => thread::sleep(PAUSE),
            }
        }
    };
    let named = thread::Builder::new().name("changes".to_owned());
    named.spawn(work).map(drop)
}
