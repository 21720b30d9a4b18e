//! Axes of charts: which numbers stand at them, and where a number is.

/// From this ratio of the ends on, an axis that may be logarithmic is.
const LOG_FROM: f64 = 30.0;
/// About so many numbers stand at an axis.
const TICKS: f64 = 6.0;

/// The numbers from one end of an axis to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    /// From one number to a larger one.
    pub(crate) fn linear(from: f64, to: f64) -> Axis {
        Axis {
            from,
            to,
            is_log: false,
        }
    }

    /// One that shows all from `least` to `most`. If `may_be_log`, it need not begin at 0, and it is logarithmic if
    /// its ends are far apart.
    pub(crate) fn around(least: f64, most: f64, may_be_log: bool) -> Axis {
        if may_be_log && least > 0.0 && most / least > LOG_FROM {
            return Axis {
                from: least * 0.95,
                to: most * 1.05,
                is_log: true,
            };
        }
        let from = if may_be_log && least > 0.0 && most < least * 3.0 {
            // Nothing is near 0: show where the differences are.
            least - (most - least).max(least * 0.02) * 0.1
        } else {
            least.min(0.0)
        };
        match most > from {
            true => Axis::linear(from, most + (most - from) * 0.02),
            false => Axis::linear(from, from + 1.0),
        }
    }

    /// Where a number is: 0 at the one end, 1 at the other.
    pub(crate) fn share(&self, x: f64) -> f64 {
        match self.is_log {
            true => (x / self.from).ln() / (self.to / self.from).ln(),
            false => (x - self.from) / (self.to - self.from),
        }
    }

    /// Round numbers along it, ascending.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let ticks = match self.is_log {
            true => self.log_ticks(),
            false => self.linear_ticks(),
        };
        let inside = |x: &f64| (-1e-9..=1.0 + 1e-9).contains(&self.share(*x));
        ticks.into_iter().filter(inside).collect()
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }

    /// Powers of ten; with their double and their fivefold if those alone were few.
    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.to / self.from).log10();
        let factors: &[f64] = match decades < TICKS / 2.0 {
            true => &[1.0, 2.0, 5.0],
            false => &[1.0],
        };
        let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let of_power = |power: i32| factors.iter().map(move |f| f * 10_f64.powi(power));
        powers.flat_map(of_power).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_an_axis_are_round_and_few() {
        assert_eq!(
            Axis::linear(0.0, 1.05).ticks(),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        assert_eq!(
            Axis::linear(0.0, 60.0).ticks(),
            [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
        );
        assert_eq!(
            Axis::around(1.0, 100.0, true).ticks(),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        );
        assert_eq!(Axis::around(0.01, 1000.0, true).ticks().len(), 6);
    }

    #[test]
    fn an_axis_is_logarithmic_only_where_it_may_and_must() {
        for (least, most, may_be_log, is_log) in [
            (1.0, 100.0, true, true),
            (1.0, 100.0, false, false),
            (1.0, 20.0, true, false),
            (0.0, 100.0, true, false),
        ] {
            assert_eq!(Axis::around(least, most, may_be_log).is_log, is_log);
        }
        // Differences are shown where nothing is near 0, and one number has an axis too.
        assert!(Axis::around(40.0, 50.0, true).from > 30.0);
        let one = Axis::around(0.0, 0.0, false);
        assert_eq!((one.share(0.0), one.share(1.0)), (0.0, 1.0));
    }

    #[test]
    fn places_are_shares_of_the_way() {
        let log = Axis::around(1.0, 10_000.0, true);
        let steps = [1.0, 10.0, 100.0].map(|x| log.share(x * 10.0) - log.share(x));
        assert!(
            steps.iter().all(|s| (s - steps[0]).abs() < 1e-12),
            "{steps:?}"
        );
        assert_eq!(Axis::linear(10.0, 20.0).share(15.0), 0.5);
    }
}
