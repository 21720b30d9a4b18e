//! Who limits a flow: the window of the box that governs it, or the server's own.

use crate::advice::nearest;
use crate::observed::Sample;

/// Share of the server's samples, from `from_s` on, at which the window of the box is the smaller one, percent. `None` where
/// one of the two has no series then.
pub(crate) fn box_limits_percent(of_box: &[Sample], server: &[Sample], from_s: f64) -> Option<f64> {
    let counted = server.iter().filter(|sample| sample.time_s >= from_s);
    let limits = counted.filter_map(|sample| {
        let ours = nearest(of_box, sample.time_s)?.cwnd_packets?;
        Some(ours < sample.cwnd_packets?)
    });
    let limits: Vec<bool> = limits.collect();
    let by_box = limits.iter().filter(|by_box| **by_box).count();
    (!limits.is_empty()).then(|| by_box as f64 * 100.0 / limits.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(windows: &[(f64, f64)]) -> Vec<Sample> {
        let sample = |(time_s, cwnd): &(f64, f64)| Sample {
            time_s: *time_s,
            cwnd_packets: Some(*cwnd),
            ..Sample::default()
        };
        windows.iter().map(sample).collect()
    }

    #[test]
    fn the_smaller_window_limits() {
        let server = samples(&[(0.1, 10.0), (0.2, 20.0), (0.3, 40.0), (0.4, 80.0)]);
        let of_box = samples(&[(0.1, 30.0), (0.2, 30.0), (0.3, 30.0), (0.4, 30.0)]);
        let percent = |from_s| box_limits_percent(&of_box, &server, from_s);
        assert_eq!(percent(0.0), Some(50.0));
        assert_eq!(percent(0.3), Some(100.0));
        assert_eq!(percent(0.5), None);
        assert_eq!(box_limits_percent(&[], &server, 0.0), None);
        // Equal windows: nobody's is the smaller.
        assert_eq!(box_limits_percent(&server, &server, 0.0), Some(0.0));
    }
}
