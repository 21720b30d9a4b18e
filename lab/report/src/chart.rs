//! Line charts as SVG. Colours are those of the page: the library is given stand-ins, which then
//! become variables of the style sheet, so that a chart follows the page into the dark.

use std::ops::Range;

use anyhow::{Result, anyhow};
use maud::{Markup, PreEscaped, html};
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use windlass_experiment::paper::figures;

const WIDTH: u32 = 560;
const HEIGHT: u32 = 240;
/// Colours of lines that the style sheet has.
pub(crate) const COLOURS: usize = 10;
/// More points than pixels show nothing more.
const POINTS_MAX: usize = 560;
/// From this ratio of the ends on, an axis is logarithmic.
const LOG_FROM: f64 = 30.0;

const INK: RGBColor = RGBColor(1, 0, 100);
const RULE: RGBColor = RGBColor(1, 0, 101);

/// A line of a chart.
pub(crate) struct Line {
    pub label: String,
    /// Which of the style sheet's colours.
    pub colour: usize,
    /// Ascending in x.
    pub points: Vec<(f64, f64)>,
    /// Where something happens to it.
    pub marks: Vec<f64>,
}

/// Lines over common axes.
pub(crate) struct Chart {
    pub x_label: String,
    pub y_label: String,
    /// Whether x may be logarithmic.
    pub may_be_log: bool,
    /// Up to where y goes at least.
    pub y_max: Option<f64>,
    pub lines: Vec<Line>,
}

/// The coloured mark before a label.
pub(crate) fn mark(colour: usize) -> Markup {
    html! { i class={ "mark c" (colour % COLOURS) } {} }
}

impl Chart {
    /// Legend and drawing; nothing if there is nothing to draw.
    pub(crate) fn html(&self, title: &str) -> Result<Markup> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        if points().count() == 0 {
            return Ok(html! {});
        }
        let svg = self.svg()?;
        Ok(html! {
            figure {
                figcaption { (title) }
                div.legend {
                    @for line in &self.lines {
                        span { (mark(line.colour)) (line.label) }
                    }
                }
                (PreEscaped(svg))
            }
        })
    }

    fn svg(&self) -> Result<String> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let least = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let most = points().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        let highest = points().map(|p| p.1).fold(0.0, f64::max);
        let y = 0.0..self.y_max.unwrap_or(highest * 1.05).max(1e-9);
        if self.may_be_log && least > 0.0 && most / least > LOG_FROM {
            return self.draw((least * 0.95..most * 1.05).log_scale(), y);
        }
        let from = if least > 0.0 && most < least * 3.0 && self.may_be_log {
            // Nothing is near 0: show where the differences are.
            least - (most - least).max(least * 0.02) * 0.1
        } else {
            least.min(0.0)
        };
        let to = if most > from {
            most + (most - from) * 0.02
        } else {
            from + 1.0
        };
        self.draw(from..to, y)
    }

    fn draw<X>(&self, x: X, y: Range<f64>) -> Result<String>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let mut svg = String::new();
        let (bottom, top) = (y.start, y.end);
        let failed = |e| anyhow!("drawing a chart: {e}");
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
            let mut chart = ChartBuilder::on(&area)
                .margin(6)
                .margin_right(16)
                .x_label_area_size(42)
                .y_label_area_size(58)
                .build_cartesian_2d(x, y)
                .map_err(failed)?;
            let number = |x: &f64| short(*x);
            chart
                .configure_mesh()
                .disable_x_mesh()
                .max_light_lines(0)
                .bold_line_style(RULE)
                .axis_style(RULE)
                .label_style(("sans-serif", 13).into_font().color(&INK))
                .x_desc(&self.x_label)
                .y_desc(&self.y_label)
                .x_label_formatter(&number)
                .y_label_formatter(&number)
                .y_labels(6)
                .draw()
                .map_err(failed)?;
            for line in &self.lines {
                let colour = RGBColor(1, 0, (line.colour % COLOURS) as u8).stroke_width(2);
                let points = thinned(&line.points);
                chart
                    .draw_series(LineSeries::new(points, colour))
                    .map_err(failed)?;
                let thin = RGBColor(1, 0, (line.colour % COLOURS) as u8).stroke_width(1);
                let marks = line.marks.iter().map(|x| {
                    let ends = vec![(*x, bottom), (*x, top)];
                    PathElement::new(ends, thin)
                });
                chart.draw_series(marks).map_err(failed)?;
            }
            area.present().map_err(failed)?;
        }
        Ok(follow_the_page(&svg))
    }
}

/// A number on an axis: no more digits than it needs.
fn short(x: f64) -> String {
    let text = match x.abs() {
        a if a >= 10_000.0 => format!("{:.0}k", x / 1000.0),
        _ => figures(x),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(POINTS_MAX).max(1);
    let last = points
        .last()
        .filter(|_| !(points.len() - 1).is_multiple_of(step));
    points.iter().step_by(step).chain(last).copied().collect()
}

/// Puts the style sheet's colours in the place of the stand-ins, and lets the page set the size.
fn follow_the_page(svg: &str) -> String {
    let mut svg = svg.replacen(&format!("width=\"{WIDTH}\" height=\"{HEIGHT}\" "), "", 1);
    for colour in 0..COLOURS {
        svg = svg.replace(
            &format!("\"#0100{colour:02X}\""),
            &format!("\"var(--c{colour})\""),
        );
    }
    svg.replace("\"#010064\"", "\"var(--soft)\"")
        .replace("\"#010065\"", "\"var(--rule)\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart {
            x_label: "seconds < 3".to_owned(),
            y_label: "share".to_owned(),
            may_be_log: true,
            y_max: None,
            lines: vec![Line {
                label: "a".to_owned(),
                colour: 3,
                points,
                marks: vec![1.0],
            }],
        }
    }

    #[test]
    fn charts_are_well_formed_and_in_the_colours_of_the_page() {
        for points in [
            vec![(1.0, 1.0), (2.0, 3.0)],
            vec![(0.01, 1.0), (1000.0, 3.0)],
            vec![(5.0, 0.0)],
            vec![(0.0, 0.0), (0.0, 0.0)],
        ] {
            let svg = chart(points).svg().expect("a chart");
            roxmltree::Document::parse(&svg).expect("well-formed");
            assert!(svg.contains("var(--c3)"), "{svg}");
            assert!(!svg.contains("#0100") && !svg.contains("#000000"), "{svg}");
        }
    }

    #[test]
    fn nothing_becomes_nothing() {
        let html = chart(Vec::new()).html("t").expect("a chart");
        assert_eq!(html.into_string(), "");
    }

    #[test]
    fn thinning_keeps_the_ends() {
        let points: Vec<_> = (0..5000).map(|i| (f64::from(i), 0.0)).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= POINTS_MAX + 1);
        assert_eq!((thin.first(), thin.last()), (points.first(), points.last()));
    }
}
