//! The place of a running box in an Open vSwitch bridge.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use windlass_daemon::control::{Answer, Request, ask};
use windlass_daemon::log;
use windlass_ovs::{Attachment, Event, Keeper, Side};
use windlass_policy::IoMode;

/// The place of a running box in an Open vSwitch bridge, whose rules are kept while it lives.
pub(crate) struct Place {
    attachment: Attachment,
    detached: Arc<AtomicBool>,
    keeper: Keeper,
}

impl Place {
    /// Where `windlass attach` has been; what is missing of it is repaired. The box answers at
    /// `control` once it runs.
    pub(crate) fn take(bridge: &str, io: IoMode, control: PathBuf) -> Result<Place> {
        if io == IoMode::Packet {
            bail!("--io packet is not fail-open, and cannot stand in an Open vSwitch bridge");
        }
        let detached = Arc::new(AtomicBool::new(false));
        let (name, is_detached) = (bridge.to_owned(), Arc::clone(&detached));
        let (keeper, attachment) = Keeper::start(bridge, move |event| match event {
            Event::Gap => {
                log::warning(format_args!(
                    "bridge {name} has lost the rules that lead to the box"
                ));
                let_go(&control);
            }
            Event::Restored => log::warning(format_args!("bridge {name} is as it should be again")),
            Event::Detached => is_detached.store(true, Ordering::Release),
            Event::Trouble(why) => log::warning(format_args!("bridge {name}: {why}")),
        })?;
        Ok(Place {
            attachment,
            detached,
            keeper,
        })
    }

    /// The box's interface.
    pub(crate) fn interface(&self, side: Side) -> String {
        self.attachment.wire.interface(side)
    }

    /// Keeps the rules no longer. Whether the box was detached: then it has lost its interfaces in
    /// good order.
    pub(crate) fn leave(self) -> bool {
        drop(self.keeper);
        self.detached.load(Ordering::Acquire)
    }
}

/// Senders have seen windows that the box has not: it has to leave alone the flows that were there,
/// or it might take back an edge (RFC 9293, 3.8.6).
fn let_go(control: &std::path::Path) {
    let bypassed = match ask(control, Request::Status) {
        Ok(Answer::Status(status)) => status.bypass,
        // It does not run yet: it knows no flow.
        _ => return,
    };
    if bypassed {
        return;
    }
    for on in [true, false] {
        if let Err(error) = ask(control, Request::Bypass { on }) {
            log::warning(format_args!("flows that run cannot be let go: {error}"));
        }
    }
}
