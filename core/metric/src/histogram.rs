//! How often a value was how large: fixed arrays, which whoever measures can fill without waiting or allocating.

use crate::Metric;

/// Most bounds of a histogram.
pub const BOUNDS_MAX: usize = 24;

/// Counts of values by their size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// By the bound that they do not exceed; the one behind the last bound has the larger ones.
    counts: [u64; BOUNDS_MAX + 1],
    sum: u64,
}

impl Histogram {
    /// An empty one with these bounds, in ascending order.
    pub const fn new(bounds: &'static [u64]) -> Histogram {
        assert!(bounds.len() <= BOUNDS_MAX);
        Histogram {
            bounds,
            counts: [0; BOUNDS_MAX + 1],
            sum: 0,
        }
    }

    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.counts[self.bounds.partition_point(|bound| *bound < value)] += 1;
        self.sum = self.sum.wrapping_add(value);
    }

    /// Each bound with the number of values that are above the bound before and not above this one.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.bounds.iter().copied().zip(self.counts)
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Adds another's counts to its own; both have the same bounds.
    pub fn add(&mut self, other: &Histogram) {
        debug_assert_eq!(self.bounds, other.bounds);
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// Bounds 1, 2, 5, 10, 20, 50 and so on, in multiples of `least`.
pub const fn one_two_five<const N: usize>(least: u64) -> [u64; N] {
    let mut bounds = [0; N];
    let (mut at, mut decade) = (0, least);
    while at < N {
        bounds[at] = decade * [1, 2, 5][at % 3];
        if at % 3 == 2 {
            decade *= 10;
        }
        at += 1;
    }
    bounds
}

/// A histogram and its row of the table.
pub type Distribution<'a> = (&'static Metric, &'a Histogram);

/// Declares a struct of histograms that add up over workers: the field, the variant of [`crate::Unit`], and the bounds.
#[macro_export]
macro_rules! histograms {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $help:literal])+ $field:ident, $unit:ident, $bounds:expr;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $crate::Histogram,)+
        }

        impl $name {
            /// What each histogram is, in order.
            pub const METRICS: &'static [$crate::Metric] = &[$($crate::Metric {
                name: stringify!($field),
                kind: $crate::Kind::Histogram,
                unit: $crate::Unit::$unit,
                help: concat!($($help),+),
                labels: &[],
            },)+];

            /// Each histogram, in order.
            pub fn each(&self) -> impl Iterator<Item = $crate::Distribution<'_>> {
                Self::METRICS.iter().zip([$(&self.$field),+])
            }

            /// Adds another's to its own.
            pub fn add(&mut self, other: &Self) {
                $(self.$field.add(&other.$field);)+
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $crate::Histogram::new($bounds),)+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn bounds_grow_by_decades() {
        let bounds: [u64; 7] = super::one_two_five(100);
        assert_eq!(bounds, [100, 200, 500, 1000, 2000, 5000, 10_000]);
    }

    histograms! {
        /// What a shop measures.
        pub struct Waits {
            /// Time in the queue.
            queue_us, Microseconds, &[10, 20, 50];
        }
    }

    #[test]
    fn a_value_counts_at_the_first_bound_that_it_does_not_exceed() {
        let mut waits = Waits::default();
        for value in [0, 10, 11, 50, 51, 1000] {
            waits.queue_us.record(value);
        }
        let buckets: Vec<_> = waits.queue_us.buckets().collect();
        assert_eq!(buckets, [(10, 2), (20, 1), (50, 1)]);
        assert_eq!((waits.queue_us.count(), waits.queue_us.sum()), (6, 1122));
        let other = waits;
        waits.add(&other);
        assert_eq!(waits.queue_us.count(), 12);
        let (metric, histogram) = waits.each().next().expect("one");
        assert_eq!((metric.name, histogram.sum()), ("queue_us", 2244));
    }
}
