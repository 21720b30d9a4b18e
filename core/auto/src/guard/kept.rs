//! What is kept over a restart, and handed from one guard to the next.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::place::Place;
use super::rule::Rule;
use super::table::{Guard, Key};
use crate::Nanos;

const VERSION: u32 = 1;

/// All of a guard.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    rules: Vec<Rule>,
    places: Vec<(Key, Place)>,
}

impl Guard {
    /// Everything, for a file.
    pub fn keep(&self) -> impl Serialize + use<> {
        self.kept()
    }

    fn kept(&self) -> Kept {
        let place = |(key, place): (&Key, &Place)| (*key, place.clone());
        Kept {
            version: VERSION,
            rules: self.rules.clone(),
            places: self.places.iter().map(place).collect(),
        }
    }

    /// Takes over what was kept, in place of what is known of the same rules.
    ///
    /// # Errors
    /// It is none, or of another version.
    pub fn recall<'de, D: Deserializer<'de>>(
        &mut self,
        kept: D,
        now: Nanos,
    ) -> Result<(), D::Error> {
        let kept = Kept::deserialize(kept)?;
        if kept.version != VERSION {
            let what = format!("version {} is not known, only {VERSION}", kept.version);
            return Err(D::Error::custom(what));
        }
        self.remember(kept, now);
        Ok(())
    }

    /// Goes on with what another has learned.
    pub fn inherit(&mut self, old: &Guard, now: Nanos) {
        self.remember(old.kept(), now);
    }

    fn remember(&mut self, kept: Kept, now: Nanos) {
        let mut numbers = Vec::new();
        for rule in kept.rules {
            let number = self.rule(&rule.name, &rule.what, now);
            if let Some(number) = number {
                self.rules[usize::from(number)] = rule;
            }
            numbers.push(number);
        }
        for ((old, prefix), place) in kept.places {
            if let Some(number) = numbers.get(usize::from(old)).copied().flatten() {
                self.insert((number, prefix), place);
            }
        }
    }
}
