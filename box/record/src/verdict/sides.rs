//! Which interface is which, and on which side of the box the ends of a connection are.

use std::collections::HashMap;

use windlass_engine::Side;
use windlass_wire::{Flags, FlowKey, Segment};

use crate::pcapng::{Capture, Captured, DESCRIPTIONS, Direction};

/// The two interfaces of the box in a file, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    numbers: [u32; 2],
    /// The file was made by Windlass: its directions are those of the box.
    own: bool,
}

/// Why the interfaces cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSides {
    /// There are not two.
    #[error(
        "the file has {count} interface(s), and both sides of the box are needed: {names}. Put two captures together with \
         mergecap -I none -w both.pcapng inside.pcap outside.pcap; where there are more than two, name them with --inside and --outside"
    )]
    NotTwo {
        /// How many there are.
        count: usize,
        /// Their numbers and names.
        names: String,
    },
    /// A name is not there, or is that of several.
    #[error("no interface, or more than one, is called \"{wanted}\": {names}")]
    NotThere {
        /// The name.
        wanted: String,
        /// Numbers and names of those that are there.
        names: String,
    },
    /// Both are the same.
    #[error("--inside and --outside name the same interface")]
    Same,
}

fn names(capture: &Capture<'_>) -> String {
    let name = |(number, interface): (usize, &crate::pcapng::Interface)| match &interface.name {
        Some(name) => format!("{number} ({name})"),
        None => number.to_string(),
    };
    let all: Vec<String> = capture.interfaces.iter().enumerate().map(name).collect();
    match all.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", all.join(", ")),
    }
}

impl Places {
    /// By the names that somebody has given, by what Windlass writes, or because there are just two.
    pub(super) fn find(
        capture: &Capture<'_>,
        wanted: [Option<&str>; 2],
    ) -> Result<Places, NoSides> {
        let described = DESCRIPTIONS.map(|text| {
            let is = |i: &crate::pcapng::Interface| i.description.as_deref() == Some(text);
            capture.interfaces.iter().position(is)
        });
        let own = described.iter().all(Option::is_some);
        let mut numbers = match (described, capture.interfaces.len()) {
            ([Some(inside), Some(outside)], _) => [Some(inside), Some(outside)],
            (_, 2) => [Some(0), Some(1)],
            _ => [None, None],
        };
        for (number, wanted) in numbers.iter_mut().zip(wanted) {
            if let Some(wanted) = wanted {
                *number = Some(named(capture, wanted)?);
            }
        }
        let [Some(inside), Some(outside)] = numbers else {
            return Err(NoSides::NotTwo {
                count: capture.interfaces.len(),
                names: names(capture),
            });
        };
        if inside == outside {
            return Err(NoSides::Same);
        }
        Ok(Places {
            numbers: [inside as u32, outside as u32],
            own,
        })
    }

    pub(super) fn side(&self, captured: &Captured<'_>) -> Option<Side> {
        let [inside, outside] = self.numbers;
        match captured.interface {
            number if number == inside => Some(Side::Inside),
            number if number == outside => Some(Side::Outside),
            _ => None,
        }
    }

    /// The side of the end that the name of the connection has first. An end sends what is seen first on its side.
    pub(super) fn of_first_end(
        &self,
        key: &FlowKey,
        packets: &[(&Captured<'_>, &Segment, Side)],
    ) -> Option<Side> {
        let mut seen: HashMap<(bool, u32, u32), Side> = HashMap::new();
        let mut votes = [0u32; 2];
        for (captured, segment, side) in packets {
            let first = segment.key == *key;
            // The end is here, if it is the first one.
            let vote = |here: Side| if first { here } else { here.other() };
            match captured.direction.filter(|_| self.own) {
                Some(Direction::In) => votes[vote(*side).index()] += 1,
                Some(Direction::Out) => votes[vote(side.other()).index()] += 1,
                None if segment.seq_len() > 0 || segment.flags.has(Flags::RST) => {
                    let name = (first, segment.seq, segment.seq_len());
                    match seen.get(&name) {
                        None => _ = seen.insert(name, *side),
                        Some(before) if before != side => votes[vote(*before).index()] += 1,
                        Some(_) => {}
                    }
                }
                None => {}
            }
        }
        let [inside, outside] = votes;
        match (inside, outside) {
            (a, b) if a > b => Some(Side::Inside),
            (a, b) if a < b => Some(Side::Outside),
            _ => None,
        }
    }
}

/// The interface of this name or number.
fn named(capture: &Capture<'_>, wanted: &str) -> Result<usize, NoSides> {
    let is = |i: &crate::pcapng::Interface| i.name.as_deref() == Some(wanted);
    let mut all = (0..capture.interfaces.len()).filter(|&at| is(&capture.interfaces[at]));
    let by_number = || {
        wanted
            .parse()
            .ok()
            .filter(|&at: &usize| at < capture.interfaces.len())
    };
    let found = match (all.next(), all.next()) {
        (Some(at), None) => Some(at),
        (None, _) => by_number(),
        _ => None,
    };
    found.ok_or_else(|| NoSides::NotThere {
        wanted: wanted.to_owned(),
        names: names(capture),
    })
}
