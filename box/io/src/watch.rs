//! What the kernel has of the two interfaces at any time, and when that changes.

use std::io;
use std::time::Duration;

use crate::netlink::{Changes, Link, Route};

/// Waits for changes to the interfaces of a network namespace.
#[derive(Debug)]
pub struct Watch(Changes);

impl Watch {
    /// In the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> io::Result<Watch> {
        Changes::subscribe().map(Watch)
    }

    /// Waits for a change, or for so long; true if there may have been one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        self.0.wait(timeout)
    }
}

/// Looks at interfaces. It needs no descriptor but its own, so it can look when no other is left.
#[derive(Debug)]
pub struct Lookout(Route);

impl Lookout {
    /// In the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> io::Result<Lookout> {
        Route::open().map(Lookout)
    }

    /// The interfaces of these names; `None`: there is none (`ENODEV`).
    ///
    /// # Errors
    /// The kernel's; it says nothing about the interfaces.
    pub fn look(&self, names: [&str; 2]) -> io::Result<[Option<Port>; 2]> {
        let links = self.0.links()?;
        Ok(names.map(|name| port(&links, name)))
    }

    /// The interface of this name, if it is a bridge.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bridge(&self, name: &str) -> io::Result<Option<Master>> {
        let links = self.0.links()?;
        let found = links.iter().find(|l| l.name == name);
        Ok(found.map(master).filter(|m| m.is_bridge))
    }
}

/// An interface as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its index: one that was deleted and made again has another.
    pub index: u32,
    /// Administratively up.
    pub up: bool,
    /// The bridge, or bond, that it is a port of.
    pub master: Option<Master>,
}

/// What an interface is a port of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Master {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its own address: that of one of its ports, if nobody has set another.
    pub mac: Option<[u8; 6]>,
    /// Administratively up.
    pub up: bool,
    /// Not a bond, or such.
    pub is_bridge: bool,
}

fn port(links: &[Link], name: &str) -> Option<Port> {
    let link = links.iter().find(|l| l.name == name)?;
    let above = link.master;
    let above = above.and_then(|index| links.iter().find(|l| l.index == index));
    Some(Port {
        index: link.index,
        up: is_up(link),
        master: above.map(master),
    })
}

fn master(link: &Link) -> Master {
    Master {
        name: link.name.clone(),
        index: link.index,
        mac: link.mac,
        up: is_up(link),
        is_bridge: link.kind == "bridge",
    }
}

fn is_up(link: &Link) -> bool {
    link.flags & libc::IFF_UP as u32 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_seen_and_what_is_not_is_no_error() {
        let lookout = Lookout::open().expect("rtnetlink");
        for _ in 0..2 {
            let [lo, none] = lookout.look(["lo", "no-such-thing"]).expect("a look");
            assert_eq!(lo.map(|p| (p.index, p.master)), Some((1, None)));
            assert_eq!(none, None);
        }
        assert_eq!(lookout.bridge("lo").expect("a look"), None);
        let watch = Watch::open().expect("rtnetlink");
        let _ = watch.wait(Duration::from_millis(1)).expect("a wait");
    }
}
