//! How far the window that a watching box computes is from that of the server it watches.

use crate::observed::Sample;

/// Their difference as a part of the server's window, in the mean over the server's samples, percent.
///
/// Windows are whole packets, as in Linux: what is beyond lets nothing through.
///
/// Both are of one transfer: the algorithm in the box has met the ACKs and the losses that the
/// server's own has met. Left out is what the server does during a recovery, when its window is that
/// of PRR; and what lies before the first of its samples or behind the last of the box's.
pub(crate) fn error_percent(advice: &[Sample], server: &[Sample]) -> Option<f64> {
    let errors = server.iter().filter_map(|sample| {
        let theirs = sample.cwnd_packets.filter(|cwnd| *cwnd > 0.0)?;
        let ours = nearest(advice, sample.time_s)?.cwnd_packets?.floor();
        (sample.in_recovery == Some(false)).then_some((ours / theirs - 1.0).abs())
    });
    let errors: Vec<f64> = errors.collect();
    let sum: f64 = errors.iter().sum();
    (!errors.is_empty()).then(|| sum / errors.len() as f64 * 100.0)
}

/// The sample taken nearest to a time, if the time is among them.
pub(crate) fn nearest(samples: &[Sample], time_s: f64) -> Option<&Sample> {
    let next = samples.partition_point(|sample| sample.time_s < time_s);
    let after = samples.get(next)?;
    let before = next.checked_sub(1).map(|at| &samples[at]);
    let distance = |sample: &Sample| (sample.time_s - time_s).abs();
    before
        .filter(|before| distance(before) < distance(after))
        .or(Some(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time_s: f64, cwnd_packets: f64, in_recovery: bool) -> Sample {
        Sample {
            time_s,
            cwnd_packets: Some(cwnd_packets),
            in_recovery: Some(in_recovery),
            ..Sample::default()
        }
    }

    #[test]
    fn the_difference_is_a_part_of_the_servers_window() {
        let server = [sample(0.1, 10.0, false), sample(0.2, 20.0, false)];
        let advice = [sample(0.1, 9.9, false), sample(0.2, 21.5, false)];
        // 9 beside 10, 21 beside 20.
        let error = error_percent(&advice, &server).expect("two samples");
        assert!((error - 7.5).abs() < 1e-9, "{error}");
    }

    #[test]
    fn recoveries_and_what_only_one_has_seen_do_not_count() {
        let advice = [sample(0.1, 10.0, false), sample(0.2, 10.0, false)];
        let left_out = [
            sample(0.1, 99.0, true),
            sample(0.3, 99.0, false),
            Sample {
                in_recovery: None,
                ..sample(0.1, 99.0, false)
            },
        ];
        assert_eq!(error_percent(&advice, &left_out), None);
        assert_eq!(error_percent(&[], &left_out), None);
        let all = [&left_out[..], &[sample(0.15, 10.0, false)]].concat();
        assert_eq!(error_percent(&advice, &all), Some(0.0));
    }

    #[test]
    fn the_nearest_sample_is_compared() {
        let advice = [sample(0.10, 10.0, false), sample(0.12, 20.0, false)];
        for (time_s, nearest) in [(0.05, 10.0), (0.109, 10.0), (0.111, 20.0), (0.12, 20.0)] {
            let server = [sample(time_s, nearest, false)];
            assert_eq!(error_percent(&advice, &server), Some(0.0), "{time_s}");
        }
    }
}
