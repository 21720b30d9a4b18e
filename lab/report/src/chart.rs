//! Line charts as SVG, in the colours of the page's style sheet, so that a chart follows the page into the dark.

use maud::{Markup, html};
use windlass_experiment::paper::figures;

use crate::axis::Axis;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 240.0;
/// Of the plot, from the edges of the drawing.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 46.0;
/// Colours of lines that the style sheet has.
pub(crate) const COLOURS: usize = 10;
/// More points than pixels show nothing more.
const POINTS_MAX: usize = 560;

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
    pub(crate) fn html(&self, title: &str) -> Markup {
        if self.lines.iter().all(|line| line.points.is_empty()) {
            return html! {};
        }
        html! {
            figure {
                figcaption { (title) }
                div.legend {
                    @for line in &self.lines {
                        span { (mark(line.colour)) (line.label) }
                    }
                }
                (self.svg())
            }
        }
    }

    fn svg(&self) -> Markup {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let least = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let most = points().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        let highest = points().map(|p| p.1).fold(0.0, f64::max);
        let plot = Plot {
            x: Axis::around(least, most, self.may_be_log),
            y: Axis::linear(0.0, self.y_max.unwrap_or(highest * 1.05).max(1e-9)),
        };
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" {
                (plot.grid(&self.x_label, &self.y_label))
                @for line in &self.lines { (plot.line(line)) }
            }
        }
    }
}

/// Where numbers are in the drawing.
struct Plot {
    x: Axis,
    y: Axis,
}

impl Plot {
    fn x(&self, x: f64) -> f64 {
        to_tenth(LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT))
    }

    /// What is higher than the axis is at its end.
    fn y(&self, y: f64) -> f64 {
        to_tenth(HEIGHT - BOTTOM - self.y.share(y).min(1.0) * (HEIGHT - TOP - BOTTOM))
    }

    /// Axes, with numbers and words.
    fn grid(&self, x_label: &str, y_label: &str) -> Markup {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let (across, down) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
        html! {
            @for (tick, y) in self.y.ticks().into_iter().map(|tick| (tick, self.y(tick))) {
                line.rule x1=(LEFT) x2=(right) y1=(y) y2=(y) {}
                text x=(LEFT - 6.0) y=(y + 4.0) text-anchor="end" { (short(tick)) }
            }
            line.rule x1=(LEFT) x2=(LEFT) y1=(TOP) y2=(bottom) {}
            line.rule x1=(LEFT) x2=(right) y1=(bottom) y2=(bottom) {}
            @for (tick, x) in self.x.ticks().into_iter().map(|tick| (tick, self.x(tick))) {
                line.rule x1=(x) x2=(x) y1=(bottom) y2=(bottom + 4.0) {}
                text x=(x) y=(bottom + 18.0) text-anchor="middle" { (short(tick)) }
            }
            text x=(across) y=(HEIGHT - 6.0) text-anchor="middle" { (x_label) }
            text transform={ "translate(14 " (down) ") rotate(-90)" } text-anchor="middle" { (y_label) }
        }
    }

    fn line(&self, line: &Line) -> Markup {
        let points = thinned(&line.points).into_iter();
        let points = points.map(|(x, y)| format!("{},{}", self.x(x), self.y(y)));
        let points = points.collect::<Vec<_>>().join(" ");
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        html! {
            g class={ "line c" (line.colour % COLOURS) } {
                polyline points=(points) {}
                @for x in line.marks.iter().map(|at| self.x(*at)) {
                    line x1=(x) x2=(x) y1=(top) y2=(bottom) {}
                }
            }
        }
    }
}

/// More digits than a tenth of a pixel nobody sees.
fn to_tenth(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
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
            let svg = chart(points).svg().into_string();
            roxmltree::Document::parse(&svg).expect("well-formed");
            assert!(svg.contains("line c3"), "{svg}");
            assert!(!svg.contains('#') && !svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn nothing_becomes_nothing() {
        let html = chart(Vec::new()).html("t");
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
