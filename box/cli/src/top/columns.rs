//! How a flow is written in a row.

use ratatui::layout::Constraint;
use windlass_daemon::view::{Order, ViewRow};
use windlass_terminal::{bytes, rate};

/// A column: its title, by what it orders rows, and its width.
pub(super) struct Column {
    pub title: &'static str,
    pub order: Option<Order>,
    pub width: Constraint,
    /// It is left out on narrower screens.
    pub from_width: u16,
    pub text: fn(&ViewRow) -> String,
}

const fn column(
    title: &'static str,
    order: Order,
    width: u16,
    from_width: u16,
    text: fn(&ViewRow) -> String,
) -> Column {
    Column {
        title,
        order: Some(order),
        width: Constraint::Length(width),
        from_width,
        text,
    }
}

pub(super) const COLUMNS: [Column; 11] = [
    Column {
        title: "flow",
        order: Some(Order::Flow),
        width: Constraint::Min(30),
        from_width: 0,
        text: |row| row.flow.flow.clone(),
    },
    column("rate", Order::Rate, 12, 0, |row| {
        row.rate_bps.map_or("-".to_owned(), rate)
    }),
    column("algorithm", Order::Algorithm, 10, 60, |row| {
        row.flow.algorithm.clone()
    }),
    column("rtt", Order::Rtt, 9, 70, |row| {
        match row.flow.figures.srtt_us {
            0 => "-".to_owned(),
            us => format!("{:.1}ms", us as f64 / 1000.0),
        }
    }),
    column("window", Order::Window, 9, 80, |row| {
        bytes(row.flow.figures.cwnd_bytes)
    }),
    column("flight", Order::Flight, 9, 90, |row| {
        bytes(row.flow.figures.inflight_bytes)
    }),
    Column {
        title: "limited by",
        order: None,
        width: Constraint::Length(10),
        from_width: 100,
        text: limit,
    },
    column("lost", Order::Lost, 7, 110, |row| {
        row.flow.figures.lost_segments.to_string()
    }),
    column("back", Order::HandedBack, 5, 118, |row| {
        row.flow.figures.handed_back.to_string()
    }),
    column("bytes", Order::Bytes, 9, 128, |row| {
        bytes(row.flow.figures.bytes_acked)
    }),
    column("rule", Order::Rule, 12, 142, |row| {
        row.flow.rule.clone().unwrap_or_default()
    }),
];

/// What limits it, or why nothing does: it passes, is watched only, or in its sender's hands.
fn limit(row: &ViewRow) -> String {
    let flow = &row.flow;
    match &flow.passed {
        Some(why) => why.clone(),
        None if flow.in_senders_hands => "handed back".to_owned(),
        None if flow.mode != "enforce" => flow.mode.clone(),
        None => flow.limited_by.clone(),
    }
}

/// The name of an order on the command line.
pub(super) fn name(order: Order) -> &'static str {
    match order {
        Order::Rate => "rate",
        Order::Flow => "flow",
        Order::Rule => "rule",
        Order::Algorithm => "algorithm",
        Order::Rtt => "rtt",
        Order::Window => "window",
        Order::Flight => "flight",
        Order::Lost => "lost",
        Order::Bytes => "bytes",
        Order::HandedBack => "handed_back",
    }
}
