//! What the page draws.

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use windlass_auto::guard::{HourReport, LogHistogram};

const SIZE: (u32, u32) = (760, 300);
const WITH: RGBColor = RGBColor(15, 155, 122);
const WITHOUT: RGBColor = RGBColor(217, 130, 43);
const INK: RGBColor = RGBColor(92, 102, 117);
/// Steps of a distribution.
const STEPS: u32 = 200;

/// The gain over time, with its interval; `None`: there are no two hours to join. Percent over days before the last hour.
pub(super) fn gain(hours: &[HourReport]) -> Result<Option<String>> {
    let last = hours.last().map_or(0, |hour| hour.hour);
    let points = hours.iter().filter_map(|hour| {
        let days = -f64::from(last - hour.hour) / 24.0;
        let [low, high] = [hour.gain.low?, hour.gain.high?].map(|gain| gain * 100.0);
        Some((days, low.max(-100.0), hour.gain.estimate * 100.0, high))
    });
    let points: Vec<(f64, f64, f64, f64)> = points.collect();
    let (Some(first), true) = (points.first(), points.len() > 1) else {
        return Ok(None);
    };
    let least = points.iter().map(|p| p.1).fold(0.0, f64::min);
    let most = points.iter().map(|p| p.3).fold(0.0, f64::max);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(38)
            .y_label_area_size(56)
            .build_cartesian_2d(first.0..0.0, least - 2.0..most + 2.0)
            .map_err(wrong)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .x_desc("days before the last hour")
            .y_desc("time saved, %")
            .draw()
            .map_err(wrong)?;
        let upper = points.iter().map(|p| (p.0, p.3));
        let lower = points.iter().rev().map(|p| (p.0, p.1));
        let band: Vec<(f64, f64)> = upper.chain(lower).collect();
        chart
            .draw_series(std::iter::once(Polygon::new(band, WITH.mix(0.2))))
            .map_err(wrong)?;
        let line = points.iter().map(|p| (p.0, p.2));
        chart
            .draw_series(LineSeries::new(line, WITH.stroke_width(2)))
            .map_err(wrong)?;
        let zero = [(first.0, 0.0), (0.0, 0.0)];
        chart
            .draw_series(LineSeries::new(zero, INK))
            .map_err(wrong)?;
        area.present().map_err(wrong)?;
    }
    Ok(Some(svg))
}

/// Which share of the transfers was done after how long, with and without; `None`: one of them is empty.
pub(super) fn distributions(times: &[LogHistogram; 2]) -> Result<Option<String>> {
    let curve = |times: &LogHistogram| -> Vec<(f64, f64)> {
        let shares = (1..STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let points = shares.filter_map(|share| Some((times.quantile(share)?, share * 100.0)));
        points.collect()
    };
    let [with, without] = [curve(&times[0]), curve(&times[1])];
    let ends = [&with, &without].map(|c| c.first().zip(c.last()));
    let [Some(a), Some(b)] = ends else {
        return Ok(None);
    };
    let least = a.0.0.min(b.0.0) * 0.9;
    let most = a.1.0.max(b.1.0) * 1.1;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(38)
            .y_label_area_size(56)
            .build_cartesian_2d((least..most).log_scale(), 0.0..100.0)
            .map_err(wrong)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .x_desc("completion time, s")
            .y_desc("transfers done, %")
            .x_label_formatter(&|seconds| {
                format!("{seconds:.3}")
                    .trim_end_matches('0')
                    .trim_end_matches('.')
                    .to_owned()
            })
            .draw()
            .map_err(wrong)?;
        for (curve, colour, name) in [(with, WITH, "with Windlass"), (without, WITHOUT, "without")]
        {
            chart
                .draw_series(LineSeries::new(curve, colour.stroke_width(2)))
                .map_err(wrong)?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.8))
            .draw()
            .map_err(wrong)?;
        area.present().map_err(wrong)?;
    }
    Ok(Some(svg))
}

fn wrong<E: std::error::Error + Send + Sync>(e: DrawingAreaErrorKind<E>) -> anyhow::Error {
    anyhow!("a plot cannot be drawn: {e}")
}
