//! Repetitions as dots on a scale, medians as bars.

use std::fmt::Write;

use super::chart::{BOTTOM, RIGHT, TOP, WIDTH, label, number, open, rule, step, ticks};

/// Height of one row.
const ROW: f64 = 44.0;
const LABEL_WIDTH: f64 = 210.0;
/// Room for the number behind the longest bar.
const NUMBER_WIDTH: f64 = 40.0;

/// A row of [`dots`].
#[derive(Clone, PartialEq, Debug)]
pub struct DotRow {
    /// Its name.
    pub label: String,
    /// Class of the colour.
    pub class: &'static str,
    /// One dot each.
    pub values: Vec<f64>,
    /// Where the bar is, if there is one.
    pub median: Option<f64>,
}

/// Rows of dots over one axis that begins at 0.
pub fn dots(rows: &[DotRow], x_label: &str) -> String {
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let highest = rows
        .iter()
        .flat_map(|r| &r.values)
        .fold(0.0, |max: f64, &v| max.max(v));
    let x_step = step(highest);
    let x_max = (highest / x_step).ceil().max(1.0) * x_step;
    let x = |v: f64| LABEL_WIDTH + v / x_max * (WIDTH - LABEL_WIDTH - RIGHT - NUMBER_WIDTH);
    let bottom = height - BOTTOM;
    let mut out = open(height, x_label);
    for v in ticks(x_step, x_max) {
        rule(&mut out, (x(v), TOP), (x(v), bottom));
        label(
            &mut out,
            (x(v), bottom + 17.0),
            "middle",
            &number(v, x_step),
        );
    }
    label(
        &mut out,
        ((x(0.0) + x(x_max)) / 2.0, height - 6.0),
        "middle",
        x_label,
    );
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (i as f64 + 0.5);
        label(&mut out, (LABEL_WIDTH - 14.0, y + 4.0), "end", &row.label);
        let class = row.class;
        if let Some(median) = row.median {
            let width = x(median) - x(0.0);
            let (left, top) = (x(0.0), y - 9.0);
            let _ = write!(
                out,
                "<rect class=\"bar {class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
                 height=\"18\" rx=\"3\"/>"
            );
            let longest = row.values.iter().fold(median, |max, &v| max.max(v));
            let text = format!("{median:.2} s");
            label(&mut out, (x(longest) + 12.0, y + 4.0), "start", &text);
        }
        for &v in &row.values {
            let (x, title) = (x(v), format!("<title>{v:.3} s</title>"));
            let _ = write!(
                out,
                "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\">{title}</circle>"
            );
        }
    }
    out + "</svg>"
}
