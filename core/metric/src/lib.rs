//! One table of figures for everything that shows them.
//!
//! [`metrics!`] declares a struct of figures. Each field has a kind, a unit and a line of help.
//! [`totals!`] does the same for figures that add up over workers, [`histograms!`] for distributions. Whoever prints figures
//! (`windlass counters`, `windlass flow show`, traces, the control socket) reads this table and lists nothing by
//! hand.
#![forbid(unsafe_code)]

mod histogram;

use core::fmt;

pub use histogram::{BOUNDS_MAX, Distribution, Histogram, one_two_five};

/// How a figure behaves over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts values by their size.
    Histogram,
}

impl Kind {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// What a figure counts in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Things, which the name says.
    One,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Thousandths of a ratio.
    Permille,
}

impl Unit {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::One => "1",
            Unit::Bytes => "bytes",
            Unit::BitsPerSecond => "bits/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Seconds => "s",
            Unit::Microseconds => "us",
            Unit::Nanoseconds => "ns",
            Unit::Permille => "1/1000",
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// The name, which is the key in JSON and in traces.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// What it counts in.
    pub unit: Unit,
    /// One sentence that can be read alone.
    pub help: &'static str,
    /// The values of its label with their help; empty where it has none.
    pub labels: &'static [Label],
}

/// A value of a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its name in output.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub help: &'static str,
}

/// One figure as it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What it is.
    pub metric: &'static Metric,
    /// For which value of its label.
    pub label: Option<&'static str>,
    /// The number, where there is one.
    pub number: Option<u64>,
}

impl Reading {
    /// The key in JSON: the metric's name, and the label's behind it.
    pub fn key(&self) -> String {
        match self.label {
            None => self.metric.name.to_owned(),
            Some(label) => format!("{}_{label}", self.metric.name),
        }
    }
}

impl Metric {
    /// Itself, once for each value of its label.
    pub fn rows(&'static self) -> impl Iterator<Item = (&'static Metric, Option<&'static str>)> {
        let plain = self.labels.is_empty().then_some((self, None));
        let labelled = self.labels.iter();
        plain
            .into_iter()
            .chain(labelled.map(move |label| (self, Some(label.name))))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, unit) = (self.kind.name(), self.unit.name());
        write!(f, "{} {kind} {unit} {}", self.name, self.help.trim())
    }
}

/// What the type of a field must do: give a number, if it has one.
pub trait Figure: Copy {
    /// The number.
    fn number(self) -> Option<u64>;
}

impl Figure for u64 {
    fn number(self) -> Option<u64> {
        Some(self)
    }
}

impl Figure for Option<u64> {
    fn number(self) -> Option<u64> {
        self
    }
}

/// Declares a struct of figures: `counter` or `gauge`, the field, its type (`u64` or `Option<u64>`), and the
/// variant of [`Unit`]. The doc comment of a field is its help.
#[macro_export]
macro_rules! metrics {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $help:literal])+ $kind:ident $field:ident: $type:ty, $unit:ident;)+
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $type,)+
        }

        impl $name {
            /// What each figure is, in order.
            pub const METRICS: &'static [$crate::Metric] = &[$($crate::Metric {
                name: stringify!($field),
                kind: $crate::metrics!(@kind $kind),
                unit: $crate::Unit::$unit,
                help: concat!($($help),+),
                labels: &[],
            },)+];

            /// Each figure, in order.
            pub fn each(&self) -> impl Iterator<Item = $crate::Reading> {
                let numbers = [$($crate::Figure::number(self.$field)),+];
                let read = |(metric, number)| $crate::Reading {
                    metric,
                    label: None,
                    number,
                };
                Self::METRICS.iter().zip(numbers).map(read)
            }
        }
    };
    (@kind counter) => { $crate::Kind::Counter };
    (@kind gauge) => { $crate::Kind::Gauge };
}

/// Declares a struct of figures that add up over workers: `counter` or `gauge`, the field, and the variant of
/// [`Unit`]. Behind it, counters that are kept apart by the values of a label (see [`labels!`]): a field of as many
/// numbers.
#[macro_export]
macro_rules! totals {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $help:literal])+ $kind:ident $field:ident, $unit:ident;)+
        }
        $(by $label:ident {
            $(#[doc = $by_help:literal])+ $by:ident, $by_unit:ident;
        })?
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[doc = $help])+ pub $field: u64,)+
            $($(#[doc = $by_help])+ pub $by: [u64; $label::ALL.len()],)?
        }

        // The standard library knows no default of arrays of more than 32 numbers.
        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: 0,)+
                    $($by: [0; $label::ALL.len()],)?
                }
            }
        }

        impl $name {
            /// What each figure is, in order.
            pub const METRICS: &'static [$crate::Metric] = &[
                $($crate::Metric {
                    name: stringify!($field),
                    kind: $crate::metrics!(@kind $kind),
                    unit: $crate::Unit::$unit,
                    help: concat!($($help),+),
                    labels: &[],
                },)+
                $($crate::Metric {
                    name: stringify!($by),
                    kind: $crate::Kind::Counter,
                    unit: $crate::Unit::$by_unit,
                    help: concat!($($by_help),+),
                    labels: $label::LABELS,
                },)?
            ];

            /// Each figure, in order.
            pub fn each(&self) -> impl Iterator<Item = $crate::Reading> {
                let numbers = [$(self.$field,)+].into_iter()$(.chain(self.$by))?;
                let metrics = Self::METRICS.iter().flat_map($crate::Metric::rows);
                metrics.zip(numbers).map(|((metric, label), number)| $crate::Reading {
                    metric,
                    label,
                    number: Some(number),
                })
            }

            /// The figure with this key.
            pub fn get(&self, key: &str) -> Option<u64> {
                self.each().find(|reading| reading.key() == key)?.number
            }

            /// Reads each figure, in order.
            ///
            /// # Errors
            /// The first that `next` gives.
            pub fn read<E>(mut next: impl FnMut() -> Result<u64, E>) -> Result<Self, E> {
                let mut read = $name::default();
                $(read.$field = next()?;)+
                $(for number in &mut read.$by {
                    *number = next()?;
                })?
                Ok(read)
            }

            /// Adds another's to its own.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
                $(for (mine, theirs) in self.$by.iter_mut().zip(other.$by) {
                    *mine += theirs;
                })?
            }
        }
    };
}

/// Declares the values of a label: an enum whose variants have a name and a line of help.
#[macro_export]
macro_rules! labels {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[doc = $help:literal])+ $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[doc = $help])+ $variant,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The same as values of a label.
            pub const LABELS: &'static [$crate::Label] = &[$($crate::Label {
                name: $text,
                help: concat!($($help),+),
            },)+];

            /// Its name in output.
            pub const fn name(self) -> &'static str {
                Self::LABELS[self as usize].name
            }

            /// What it means, in one sentence.
            pub const fn help(self) -> &'static str {
                Self::LABELS[self as usize].help
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    totals! {
        /// What a shop counts.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Shop {
            /// Apples sold,
            /// by number.
            counter apples, One;
            /// Sugar sold.
            counter sugar_bytes, Bytes;
        }
        by Why {
            /// Customers who left with nothing.
            left, One;
        }
    }

    metrics! {
        /// What it has.
        #[derive(Clone, Copy, Default)]
        pub struct Stock {
            /// Apples left.
            gauge apples_left: u64, One;
            /// What one costs, if it is known.
            gauge price: Option<u64>, One;
            /// Customers seen.
            counter customers: u64, One;
        }
    }

    labels! {
        /// Why somebody left.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Why {
            /// The price was too high.
            Price = "price",
            /// There was nothing left.
            SoldOut = "sold_out",
        }
    }

    #[test]
    fn a_table_says_what_each_figure_is() {
        let stock = Stock {
            apples_left: 3,
            price: None,
            customers: 9,
        };
        let figures = stock
            .each()
            .map(|r| (r.metric.name, r.metric.kind, r.number));
        let figures: Vec<_> = figures.collect();
        let expected = [
            ("apples_left", Kind::Gauge, Some(3)),
            ("price", Kind::Gauge, None),
            ("customers", Kind::Counter, Some(9)),
        ];
        assert_eq!(figures, expected);
        let first = Shop::METRICS[0].to_string();
        assert_eq!(first, "apples counter 1 Apples sold, by number.");
        assert_eq!(Shop::METRICS[1].unit, Unit::Bytes);
    }

    #[test]
    fn counters_are_read_in_order_and_summed() {
        let mut numbers = [4, 5, 6, 7].into_iter();
        let read = Shop::read(|| numbers.next().ok_or("short"));
        let mut sum = read.expect("enough numbers");
        sum.add(&Shop {
            apples: 1,
            sugar_bytes: 10,
            left: [0, 100],
        });
        let keys = ["apples", "sugar_bytes", "left_price", "left_sold_out"];
        let values = keys.map(|key| sum.get(key));
        assert_eq!(values, [Some(5), Some(15), Some(6), Some(107)]);
        assert_eq!(sum.each().count(), keys.len());
        assert_eq!((sum.get("left"), sum.get("pears")), (None, None));
        assert_eq!(Shop::read(|| Err("none")), Err("none"));
    }

    #[test]
    fn labels_have_names_and_help() {
        let names: Vec<_> = Why::ALL.iter().map(|w| w.name()).collect();
        assert_eq!(names, ["price", "sold_out"]);
        assert_eq!(Why::SoldOut.help().trim(), "There was nothing left.");
    }
}
