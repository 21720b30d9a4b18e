//! Line charts as SVG. Colours come from the page's style sheet, by class, so that a chart follows
//! the page into the dark.

use std::fmt::Write;

pub(super) const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
pub(super) const RIGHT: f64 = 14.0;
pub(super) const TOP: f64 = 12.0;
pub(super) const BOTTOM: f64 = 40.0;
/// About as many intervals between ticks.
const TICKS: f64 = 6.0;

/// A line of a [`Chart`].
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// For the legend.
    pub label: String,
    /// Class of the colour.
    pub class: &'static str,
    /// Ascending in x.
    pub points: Vec<(f64, f64)>,
}

/// Lines over a common axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// What x is.
    pub x_label: String,
    /// What y is.
    pub y_label: String,
    /// Right end of the x axis; lines are cut there.
    pub x_max: f64,
    /// Drawn in this order.
    pub lines: Vec<Line>,
}

impl Chart {
    /// Legend and drawing.
    pub fn html(&self) -> String {
        let mut out = String::from("<div class=\"chart\"><div class=\"legend\">");
        for line in &self.lines {
            let label = escape(&line.label);
            let _ = write!(out, "<span><i class=\"{}\"></i>{label}</span>", line.class);
        }
        let _ = write!(out, "</div>{}</div>", self.svg());
        out
    }

    fn svg(&self) -> String {
        let inside = |p: &&(f64, f64)| p.0 <= self.x_max;
        let highest = self
            .lines
            .iter()
            .flat_map(|l| l.points.iter().filter(inside));
        let highest = highest.fold(0.0, |max: f64, p| max.max(p.1));
        let (y_step, x_step) = (step(highest), step(self.x_max));
        let y_max = (highest / y_step).ceil().max(1.0) * y_step;
        let x_max = self.x_max.max(x_step / 1e3);
        let x = |v: f64| LEFT + v / x_max * (WIDTH - LEFT - RIGHT);
        let y = |v: f64| HEIGHT - BOTTOM - v / y_max * (HEIGHT - TOP - BOTTOM);
        let mut out = open(HEIGHT, &format!("{} over {}", self.y_label, self.x_label));
        for v in ticks(y_step, y_max) {
            rule(&mut out, (LEFT, y(v)), (WIDTH - RIGHT, y(v)));
            label(
                &mut out,
                (LEFT - 8.0, y(v) + 4.0),
                "end",
                &number(v, y_step),
            );
        }
        for v in ticks(x_step, x_max) {
            rule(
                &mut out,
                (x(v), HEIGHT - BOTTOM),
                (x(v), HEIGHT - BOTTOM + 4.0),
            );
            label(
                &mut out,
                (x(v), HEIGHT - BOTTOM + 17.0),
                "middle",
                &number(v, x_step),
            );
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        label(&mut out, (middle, HEIGHT - 6.0), "middle", &self.x_label);
        let turned = (TOP + HEIGHT - BOTTOM) / 2.0;
        let _ = write!(
            out,
            "<text class=\"tick\" text-anchor=\"middle\" \
             transform=\"translate(12 {turned:.1}) rotate(-90)\">{}</text>",
            escape(&self.y_label)
        );
        for line in &self.lines {
            let mut points = String::new();
            for p in line.points.iter().filter(inside) {
                let _ = write!(points, "{:.1},{:.1} ", x(p.0), y(p.1));
            }
            let (class, points) = (line.class, points.trim_end());
            let _ = write!(
                out,
                "<polyline class=\"line {class}\" points=\"{points}\"/>"
            );
        }
        out + "</svg>"
    }
}

/// Text that may stand between tags or in an attribute.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn open(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{}\">",
        escape(title)
    )
}

pub(super) fn rule(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = write!(
        out,
        "<line class=\"grid\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

pub(super) fn label(out: &mut String, at: (f64, f64), anchor: &str, text: &str) {
    let (x, y, text) = (at.0, at.1, escape(text));
    let _ = write!(
        out,
        "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// A round distance between ticks: 1, 2 or 5 times a power of ten.
pub(super) fn step(span: f64) -> f64 {
    if span <= 0.0 || !span.is_finite() {
        return 1.0;
    }
    let raw = span / TICKS;
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|f| f * power >= raw * 0.999);
    factor.unwrap_or(10.0) * power
}

pub(super) fn ticks(step: f64, max: f64) -> impl Iterator<Item = f64> {
    let count = (max / step * 1.000_001).floor() as u32;
    (0..=count).map(move |i| f64::from(i) * step)
}

pub(super) fn number(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (span, expected) in [
            (60.0, 10.0),
            (50.0, 10.0),
            (2.6, 0.5),
            (0.9, 0.2),
            (7e5, 2e5),
        ] {
            assert!(
                (step(span) / expected - 1.0).abs() < 1e-9,
                "{span}: {}",
                step(span)
            );
        }
        assert_eq!(step(0.0), 1.0);
        assert_eq!(ticks(0.5, 2.5).count(), 6);
        assert_eq!(number(0.5, 0.5), "0.5");
        assert_eq!(number(20.0, 10.0), "20");
    }

    #[test]
    fn lines_stay_inside_their_frame() {
        let chart = Chart {
            x_label: "s".to_owned(),
            y_label: "a < b".to_owned(),
            x_max: 2.0,
            lines: vec![Line {
                label: "l".to_owned(),
                class: "c",
                points: vec![(0.0, 0.0), (2.0, 49.0), (3.0, 500.0)],
            }],
        };
        let html = chart.html();
        let document = roxmltree::Document::parse(&html).expect("well-formed");
        let line = document
            .descendants()
            .find(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "polyline")));
        let points = line.and_then(|l| l.attribute("points")).expect("a line");
        assert_eq!(points.split(' ').count(), 2, "{points}");
        for point in points.split(' ') {
            let (x, y) = point.split_once(',').expect("a point");
            let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
            assert!((LEFT..=WIDTH - RIGHT).contains(&x) && (TOP..=HEIGHT - BOTTOM).contains(&y));
        }
    }
}
