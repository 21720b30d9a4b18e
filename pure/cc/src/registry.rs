//! The list of algorithms. Each is known by the name that Linux gives it.

use core::fmt;
use core::str::FromStr;

use crate::{AckEvent, CongestionControl, CongestionEvent, Control, Nanos, Path, SendEvent};

macro_rules! registry {
    ($($variant:ident($algorithm:ty) = $name:literal, $summary:literal;)+) => {
        /// Any of the algorithms, as plain data.
        #[derive(Clone, Debug)]
        // A flow holds one of them in place, whichever it is: a pointer would cost an allocation.
        #[allow(clippy::large_enum_variant)]
        pub enum Algorithm {
            $(#[doc = $summary] $variant($algorithm),)+
        }

        /// The name of an algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AlgorithmId {
            $(#[doc = $summary] $variant,)+
        }

        impl AlgorithmId {
            /// All of them, in the order of the registry.
            pub const ALL: &'static [AlgorithmId] = &[$(AlgorithmId::$variant),+];

            /// The Linux name.
            pub const fn name(self) -> &'static str {
                match self { $(AlgorithmId::$variant => $name),+ }
            }

            /// What it is and where it comes from, in one line.
            pub const fn summary(self) -> &'static str {
                match self { $(AlgorithmId::$variant => $summary),+ }
            }

            /// A new instance for a flow whose path is known as far as `path` says.
            pub fn start(self, path: &Path, seed: u64) -> Algorithm {
                match self {
                    $(AlgorithmId::$variant => {
                        Algorithm::$variant(CongestionControl::new(path, seed))
                    })+
                }
            }
        }

        /// Every method as in [`CongestionControl`].
        impl Algorithm {
            /// Which one it is.
            pub const fn id(&self) -> AlgorithmId {
                match self { $(Algorithm::$variant(_) => AlgorithmId::$variant),+ }
            }

            registry!(@forward [$($variant)+]
                /// See [`CongestionControl::on_sent`].
                fn on_sent(&mut self, event: &SendEvent, path: &Path);
                /// See [`CongestionControl::on_ack`].
                fn on_ack(&mut self, event: &AckEvent, path: &Path);
                /// See [`CongestionControl::on_congestion`].
                fn on_congestion(&mut self, event: &CongestionEvent, path: &Path);
                /// See [`CongestionControl::on_recovery_exit`].
                fn on_recovery_exit(&mut self, now: Nanos, path: &Path);
                /// See [`CongestionControl::on_rto`].
                fn on_rto(&mut self, now: Nanos, path: &Path);
                /// See [`CongestionControl::on_spurious`].
                fn on_spurious(&mut self, now: Nanos, path: &Path);
                /// See [`CongestionControl::on_idle_restart`].
                fn on_idle_restart(&mut self, now: Nanos, idle: Nanos, path: &Path);
            );

            /// See [`CongestionControl::control`].
            pub fn control(&self) -> Control {
                match self { $(Algorithm::$variant(a) => a.control()),+ }
            }

            /// See [`CongestionControl::uses_prr`].
            pub fn uses_prr(&self) -> bool {
                match self { $(Algorithm::$variant(a) => a.uses_prr()),+ }
            }
        }
    };
    (@forward $variants:tt $($(#[$doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $ty:ty)*);)+) => {
        $(registry!(@method $variants $(#[$doc])* fn $method(&mut self $(, $arg: $ty)*));)+
    };
    (@method [$($variant:ident)+] $(#[$doc:meta])* fn $method:ident(&mut self $(, $arg:ident: $ty:ty)*)) => {
        registry!(@body [$($variant)+] [$(#[$doc])*] $method [$($arg: $ty),*] ($($arg),*));
    };
    (@body [$($variant:ident)+] [$(#[$doc:meta])*] $method:ident [$($arg:ident: $ty:ty),*] $args:tt) => {
        $(#[$doc])*
        pub fn $method(&mut self, $($arg: $ty),*) {
            match self { $(Algorithm::$variant(a) => registry!(@call a $method $args)),+ }
        }
    };
    (@call $a:ident $method:ident ($($arg:ident),*)) => { $a.$method($($arg),*) };
}

registry! {
    Reno(crate::reno::Reno) = "reno", "NewReno: halves on loss, one segment per round trip (RFC 5681, 6582)";
    Cubic(crate::cubic::Cubic) = "cubic", "CUBIC: cubic growth in time, HyStart++ (RFC 9438, 9406)";
    Bbr(crate::bbr::Bbr) = "bbr", "BBR v1: paces at the measured bandwidth, blind to loss (Linux tcp_bbr)";
    Bbr3(crate::bbr3::Bbr3) = "bbr3", "BBR v3: model of bandwidth and volume, bounded by loss (draft-ietf-ccwg-bbr)";
}

impl fmt::Display for AlgorithmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no algorithm bears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    /// The name in question.
    pub name: String,
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown algorithm \"{}\"; known:", self.name)?;
        for id in AlgorithmId::ALL {
            write!(f, " {id}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownAlgorithm {}

impl FromStr for AlgorithmId {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        AlgorithmId::ALL
            .iter()
            .copied()
            .find(|id| id.name() == name)
            .ok_or_else(|| UnknownAlgorithm {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_start_what_they_say() {
        for id in AlgorithmId::ALL {
            assert_eq!(id.to_string().parse(), Ok(*id));
            assert_eq!(id.start(&Path::new(1448), 1).id(), *id);
            assert!(!id.summary().contains('\n'));
        }
    }

    #[test]
    fn an_unknown_name_is_named_with_the_known_ones() {
        let error = "cubik".parse::<AlgorithmId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown algorithm \"cubik\"; known: reno cubic bbr bbr3"
        );
    }
}
