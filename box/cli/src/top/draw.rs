//! What is seen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Sparkline, Table};
use windlass_daemon::OverviewReport;
use windlass_daemon::control::FlowNow;
use windlass_terminal::{bytes, millis, rate};

use super::app::App;
use super::columns::{COLUMNS, Column, name};

const BAD: Style = Style::new().fg(Color::White).bg(Color::Red);
const HEAD: Style = Style::new().add_modifier(Modifier::REVERSED);
/// Lines of the pane of a flow.
const PANE_LINES: u16 = 9;

const HELP: &str = "\
 Up Down PgUp PgDn Home End   move
 Enter                        look at the flow under the cursor; Esc: not any more
 s S, Right Left              order by the next, the previous column
 r                            the other way around
 /                            filter: --rule NAME --client PREFIX --limited-by WHAT --slow RATE
                              (as for windlass flow show; nothing: all flows)
 q, Ctrl-C                    quit

 A flow's rate is what was acknowledged in the last second or so.
 Any key closes this.";

pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let pane = if app.selected.is_some() {
        PANE_LINES
    } else {
        0
    };
    let area = frame.area();
    let pane = pane.min(area.height.saturating_sub(6));
    let parts = [
        Constraint::Length(2),
        Constraint::Min(2),
        Constraint::Length(pane),
        Constraint::Length(1),
    ];
    let [head, list, below, foot] = Layout::vertical(parts).areas(area);
    // The title of the columns takes a line.
    app.set_room(u64::from(list.height.saturating_sub(1)));
    frame.render_widget(health(app), head);
    rows(frame, app, list);
    if pane > 0 {
        flow(frame, app, below);
    }
    frame.render_widget(footer(app), foot);
    if app.help {
        help(frame, area);
    }
}

/// A line on the box, and one on what is amiss.
fn health(app: &App) -> Text<'static> {
    let Some(seen) = &app.seen else {
        let line = match &app.lost {
            Some(why) => Line::styled(why.clone(), BAD),
            None => Line::raw("windlass: asking …"),
        };
        let hint = app.lost.as_ref().map(|_| "top goes on as soon as it runs");
        return Text::from(vec![line, Line::raw(hint.unwrap_or_default()).dim()]);
    };
    let mut first = box_line(&seen.overview);
    if let Ok(view) = &seen.view {
        first.push_span(format!(
            "  {} of {} flows, {}",
            view.matching,
            view.flows,
            rate(view.rate_bps)
        ));
        if view.omitted > 0 {
            first.push_span(format!(" (+{} not looked at)", view.omitted));
        }
    }
    let troubles = &seen.overview.status.troubles;
    let second = match (&app.lost, &seen.view, troubles.first()) {
        (Some(why), ..) => Line::styled(format!("what is below is old: {why}"), BAD),
        (_, Err(why), _) => Line::styled(why.clone(), BAD),
        (_, _, Some(trouble)) => Line::styled(
            format!("{} (mend it with: {})", trouble.what, trouble.mend),
            BAD,
        ),
        _ if !seen.overview.workers_answer => Line::styled("a worker does not answer", BAD),
        _ => Line::raw(summary(&seen.overview)).dim(),
    };
    Text::from(vec![first, second])
}

fn box_line(overview: &OverviewReport) -> Line<'static> {
    let status = &overview.status;
    let mut spans = vec![
        Span::from(format!("windlass {}", status.version)).bold(),
        Span::from(format!("  {} > {}  ", status.inside, status.outside)),
        match status.state.as_str() {
            "governing" => Span::from(status.state.clone()).green(),
            _ => Span::styled(status.state.clone(), BAD),
        },
    ];
    if status.bypass {
        spans.push(Span::styled(" bypass is on", BAD));
    }
    Line::from(spans)
}

fn summary(overview: &OverviewReport) -> String {
    let (status, traffic) = (&overview.status, &overview.traffic);
    format!(
        "{} worker(s), {} connections, {} held, {} lost, {} repaired, {} handed back, up {} s",
        status.workers,
        status.connections,
        bytes(status.held_bytes),
        traffic.lost_segments,
        traffic.repaired_segments,
        traffic.handed_back,
        status.uptime_s,
    )
}

fn rows(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let fits = |column: &&Column| column.from_width <= area.width;
    let columns: Vec<&Column> = COLUMNS.iter().filter(fits).collect();
    let titles = columns.iter().map(|column| {
        let marked = column.order == Some(app.order);
        let mark = match (marked, app.reversed) {
            (false, _) => "",
            (true, false) => " v",
            (true, true) => " ^",
        };
        Cell::from(format!("{}{mark}", column.title))
    });
    let header = Row::new(titles).style(HEAD);
    let view = app.view();
    let first = view.map_or(0, |view| view.offset);
    let shown = view.map_or(&[][..], |view| &view.rows);
    let rows = (first..).zip(shown).map(|(at, row)| {
        let cells = columns.iter().map(|column| Cell::from((column.text)(row)));
        let style = match at == app.cursor {
            true => Style::new().bg(Color::DarkGray).fg(Color::White),
            false if Some(&row.flow.flow) == app.selected.as_ref() => Style::new().bold(),
            false if row.flow.passed.is_some() => Style::new().dim(),
            false => Style::new(),
        };
        Row::new(cells).style(style)
    });
    let widths = columns.iter().map(|column| column.width);
    let table = Table::new(rows, widths).header(header).column_spacing(1);
    frame.render_widget(table, area);
    if view.is_some_and(|view| view.matching == 0) {
        let middle = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        let text = match app.filter_line().is_empty() {
            true => "no flow is governed",
            false => "no flow is like that: / changes the filter",
        };
        frame.render_widget(Paragraph::new(text).dim(), middle);
    }
}

/// A flow more closely.
fn flow(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let title = app.selected.clone().unwrap_or_default();
    let block = Block::bordered().title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let now = app.seen.as_ref().and_then(|seen| seen.flow.as_ref());
    // Moved on, and not answered yet.
    let now = now.filter(|now| {
        let flow = now.flow.as_ref();
        flow.is_none_or(|flow| Some(&flow.flow) == app.selected.as_ref())
    });
    let Some(now) = now else { return };
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(inner);
    frame.render_widget(Paragraph::new(figures(now)), left);
    let [title, plot] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(right);
    let most = now.rates_bps.iter().max().copied().unwrap_or(0);
    let said = format!("last minute, at most {}", rate(most));
    frame.render_widget(Paragraph::new(said).dim(), title);
    let skip = now.rates_bps.len().saturating_sub(usize::from(plot.width));
    let line = Sparkline::default().data(&now.rates_bps[skip..]);
    frame.render_widget(line.style(Style::new().fg(Color::Cyan)), plot);
}

fn figures(now: &FlowNow) -> Vec<Line<'static>> {
    let Some(flow) = &now.flow else {
        return vec![Line::raw("it is over, or not governed any more")];
    };
    let f = &flow.figures;
    let pacing = f.pacing_rate_bps.map_or("not paced".to_owned(), rate);
    let rule = flow.rule.clone().unwrap_or_default();
    let mut lines = vec![
        format!(
            "{} {} {}, rule {rule}",
            flow.mode, flow.algorithm, flow.phase
        ),
        format!(
            "window {}, edge {}, flight {}",
            bytes(f.cwnd_bytes),
            bytes(f.edge_bytes),
            bytes(f.inflight_bytes)
        ),
        format!(
            "rtt {}, smallest {}",
            millis(f.srtt_us),
            millis(f.min_rtt_us)
        ),
        format!("pace {pacing}, delivered {}", rate(f.delivery_rate_bps)),
        format!(
            "lost {}, repaired {}, time-outs {}, handed back {}",
            f.lost_segments, f.repaired_segments, f.timeouts, f.handed_back
        ),
        format!(
            "limited by {}, {} moved",
            flow.limited_by,
            bytes(f.bytes_acked)
        ),
    ];
    let why = flow
        .passed
        .as_ref()
        .map(|why| format!("passes untouched: {why}"));
    lines.extend(why);
    lines.extend(flow.because.as_ref().map(|when| format!("because {when}")));
    lines.into_iter().map(Line::raw).collect()
}

fn footer(app: &App) -> Line<'static> {
    if let Some(typed) = &app.typed {
        let mut line = Line::from(format!("filter: {}_", typed.text));
        if let Some(wrong) = &typed.wrong {
            line.push_span(Span::styled(format!("  {wrong}"), BAD));
        }
        return line;
    }
    let filter = match app.filter_line() {
        none if none.is_empty() => String::new(),
        filter => format!("  filter: {filter}"),
    };
    Line::raw(format!(
        " q quit  ? help  / filter  s sort ({}){filter}",
        name(app.order)
    ))
    .dim()
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let lines = HELP.lines().count() as u16 + 2;
    let width = HELP.lines().map(str::len).max().unwrap_or(0) as u16 + 3;
    let (width, height) = (width.min(area.width), lines.min(area.height));
    let place = Rect {
        x: (area.width - width) / 2,
        y: (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(HELP).block(block), place);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use windlass_daemon::FlowReport;
    use windlass_daemon::view::{FlowFilter, Order, ViewReport, ViewRow};

    use super::super::feed::Seen;
    use super::*;

    fn screen(app: &mut App, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
        terminal.draw(|frame| draw(frame, app)).expect("drawn");
        terminal.backend().to_string()
    }

    fn app() -> App {
        let mut app = App::new(FlowFilter::default(), Order::Rate);
        let row = |port: u64| ViewRow {
            rate_bps: Some(port * 1_000_000),
            flow: FlowReport {
                flow: format!("10.0.0.1:443>192.0.2.7:{port}"),
                algorithm: "bbr".to_owned(),
                mode: "enforce".to_owned(),
                limited_by: "cwnd".to_owned(),
                ..FlowReport::default()
            },
        };
        let view = ViewReport {
            flows: 20_000,
            matching: 3,
            rate_bps: 6_000_000,
            rows: (1..4).rev().map(row).collect(),
            ..ViewReport::default()
        };
        let mut seen = Seen {
            view: Ok(view),
            ..Seen::default()
        };
        seen.overview.workers_answer = true;
        seen.overview.status.state = "governing".to_owned();
        app.learn(Ok(Box::new(seen)));
        app
    }

    #[test]
    fn flows_are_seen_on_any_screen() {
        let wide = screen(&mut app(), 160, 20);
        for expected in [
            "3 of 20000 flows, 6.0Mbit/s",
            "192.0.2.7:3",
            "rate v",
            "limited by",
            "rule",
        ] {
            assert!(wide.contains(expected), "{expected} in:\n{wide}");
        }
        let narrow = screen(&mut app(), 50, 6);
        assert!(
            narrow.contains("3.0Mbit/s") && !narrow.contains("limited"),
            "{narrow}"
        );
        for (width, height) in [(1, 1), (3, 2), (20, 3), (500, 200)] {
            let mut app = app();
            app.selected = Some("10.0.0.1:443>192.0.2.7:3".to_owned());
            app.help = true;
            screen(&mut app, width, height);
        }
    }

    #[test]
    fn a_windlass_that_is_not_there_is_told() {
        let mut lost = App::new(FlowFilter::default(), Order::Rate);
        lost.lost = Some("no windlass answers".to_owned());
        let text = screen(&mut lost, 100, 10);
        assert!(
            text.contains("no windlass answers") && text.contains("as soon as it runs"),
            "{text}"
        );
        let mut app = app();
        app.lost = Some("it is gone".to_owned());
        let text = screen(&mut app, 100, 10);
        assert!(text.contains("what is below is old: it is gone"), "{text}");
    }

    #[test]
    fn a_selected_flow_has_its_line_and_numbers() {
        let mut app = app();
        app.selected = Some("10.0.0.1:443>192.0.2.7:3".to_owned());
        let flow = FlowReport {
            flow: "10.0.0.1:443>192.0.2.7:3".to_owned(),
            mode: "enforce".to_owned(),
            passed: Some("unseen_data".to_owned()),
            ..FlowReport::default()
        };
        if let Some(seen) = &mut app.seen {
            seen.flow = Some(FlowNow {
                time_ms: 0,
                flow: Some(flow),
                rates_bps: vec![0, 4_000_000, 8_000_000],
            });
        }
        let text = screen(&mut app, 120, 24);
        for expected in ["at most 8.0Mbit/s", "passes untouched: unseen_data", "█"] {
            assert!(text.contains(expected), "{expected} in:\n{text}");
        }
    }
}
