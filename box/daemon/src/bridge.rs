//! The bridge of the two interfaces: it carries what the box does not, and is kept as it was.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use windlass_io::bridge::{self, BridgeState};
use windlass_io::watch::{Lookout, Port};

use crate::control::Trouble;

/// So often in such a time something is repaired. Whatever undoes it more often has its reasons.
const REPAIRS_MAX: usize = 6;
const REPAIRS_SPAN: Duration = Duration::from_secs(10);

/// The bridge in which the interfaces were when the box was opened.
pub(crate) struct Home {
    pub name: String,
    /// By Windlass, now or in an earlier run.
    made: bool,
    /// Index and address when it was last seen.
    seen: Option<(u32, Option<[u8; 6]>)>,
    repairs: VecDeque<Instant>,
}

/// What came of a look at it.
#[derive(Default)]
pub(crate) struct Mended {
    /// Something was repaired, or the bridge is another.
    pub changed: bool,
    /// The bridge is not there.
    pub gone: bool,
    /// What was not repaired.
    pub troubles: Vec<Trouble>,
    /// What was, in words.
    pub told: Vec<String>,
}

impl Home {
    pub(crate) fn new(state: &BridgeState) -> Home {
        Home {
            name: state.name.clone(),
            made: state.created || bridge::is_own_name(&state.name),
            seen: None,
            repairs: VecDeque::new(),
        }
    }

    /// Makes the bridge anew if Windlass had made it, and puts the interfaces back into it. An interface
    /// that is in another bridge is left there: somebody has put it there.
    pub(crate) fn mend(
        &mut self,
        lookout: &Lookout,
        names: [&str; 2],
        ports: &[Option<Port>; 2],
    ) -> Mended {
        let mut mended = Mended::default();
        self.follow(ports, &mut mended);
        // What cannot be asked says nothing about the bridge.
        let Ok(found) = lookout.bridge(&self.name) else {
            return mended;
        };
        let name = &self.name;
        let seen = found.as_ref().map(|bridge| (bridge.index, bridge.mac));
        mended.changed |= self.seen.is_some() && seen != self.seen;
        self.seen = seen.or(self.seen);
        match found {
            Some(bridge) if bridge.up => {}
            Some(_) => mended.troubles.push(Trouble {
                what: format!("bridge {name} is down: only what is governed goes on"),
                mend: format!("ip link set {name} up"),
            }),
            None => {
                mended.gone = !self.make_again(&mut mended);
                if mended.gone {
                    return mended;
                }
            }
        }
        for (name, port) in names.into_iter().zip(ports) {
            if let Some(port) = port.as_ref().filter(|p| p.master.is_none()) {
                self.put_back(name, port, &mut mended);
            }
        }
        mended
    }

    /// Somebody has moved both into another bridge: that is theirs now.
    fn follow(&mut self, ports: &[Option<Port>; 2], mended: &mut Mended) {
        let bridge = |port: &Option<Port>| port.clone()?.master.filter(|m| m.is_bridge);
        let [Some(a), Some(b)] = ports.each_ref().map(bridge) else {
            return;
        };
        if a.index == b.index && a.name != self.name {
            let text = format!("both interfaces are ports of bridge {} now", a.name);
            mended.told.push(text);
            self.made = bridge::is_own_name(&a.name);
            self.name = a.name;
            mended.changed = true;
        }
    }

    /// True if the bridge is there again.
    fn make_again(&mut self, mended: &mut Mended) -> bool {
        let name = self.name.clone();
        let mend = format!(
            "ip link add {name} type bridge && ip link set {name} up (the interfaces are put back into it)"
        );
        if !self.made {
            let what = format!("bridge {name} is gone: only what is governed goes on");
            mended.troubles.push(Trouble { what, mend });
            return false;
        }
        let made = self.may_repair().and_then(|()| {
            bridge::make_again(&name).map_err(|e| format!("it cannot be made again: {e}"))
        });
        match made {
            Ok(()) => {
                let text = format!("bridge {name} was gone; it is there again");
                mended.told.push(text);
                mended.changed = true;
            }
            Err(why) => {
                let what = format!("bridge {name} is gone, only what is governed goes on: {why}");
                mended.troubles.push(Trouble { what, mend });
            }
        }
        mended.changed
    }

    fn put_back(&mut self, interface: &str, port: &Port, mended: &mut Mended) {
        let name = self.name.clone();
        let put = self.may_repair().and_then(|()| {
            bridge::add_port(&name, port.index).map_err(|e| format!("it cannot be put back: {e}"))
        });
        match put {
            Ok(()) => {
                let text =
                    format!("{interface} was not a port of bridge {name} any more; it is again");
                mended.told.push(text);
                mended.changed = true;
            }
            Err(why) => mended.troubles.push(Trouble {
                what: format!("{interface} is not a port of bridge {name} any more: {why}"),
                mend: format!("ip link set {interface} master {name}"),
            }),
        }
    }

    fn may_repair(&mut self) -> Result<(), String> {
        let now = Instant::now();
        self.repairs
            .retain(|at| now.duration_since(*at) < REPAIRS_SPAN);
        if self.repairs.len() >= REPAIRS_MAX {
            return Err("something undoes each repair".to_owned());
        }
        self.repairs.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_that_are_undone_each_time_end() {
        let mut home = Home::new(&BridgeState {
            name: "br0".to_owned(),
            created: false,
        });
        for _ in 0..REPAIRS_MAX {
            assert_eq!(home.may_repair(), Ok(()));
        }
        assert!(home.may_repair().is_err());
    }
}
