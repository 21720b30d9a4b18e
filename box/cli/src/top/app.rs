//! What is looked at, and what keys make of it.

use clap::Parser;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use windlass_daemon::view::{FlowFilter, Order, ROWS_MAX, ViewQuery, ViewReport, ViewRow};

use super::feed::{News, Seen, Wanted};
use crate::flow::filter::Filter;

/// The filter as it is typed: the flags of `windlass flow show`.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct FilterLine {
    #[command(flatten)]
    filter: Filter,
}

/// A line that is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    pub text: String,
    pub wrong: Option<String>,
}

/// Everything that is seen.
#[derive(Debug, Default)]
pub(super) struct App {
    filter: FlowFilter,
    pub order: Order,
    pub reversed: bool,
    /// The first row on the screen, and the one under the cursor, in the order of all.
    pub offset: u64,
    pub cursor: u64,
    /// Rows that there is room for.
    pub room: u64,
    /// The flow that is looked at more closely.
    pub selected: Option<String>,
    pub typed: Option<Typed>,
    pub help: bool,
    over: bool,
    /// What was seen last, and why there is nothing newer.
    pub seen: Option<Box<Seen>>,
    pub lost: Option<String>,
}

impl App {
    pub(super) fn new(filter: FlowFilter, order: Order) -> App {
        App {
            filter,
            order,
            room: 1,
            ..App::default()
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            query: ViewQuery {
                filter: self.filter.clone(),
                order: self.order,
                reversed: self.reversed,
                offset: self.offset,
                rows: self.room.clamp(1, ROWS_MAX as u64),
            },
            flow: self.selected.clone(),
        }
    }

    pub(super) fn learn(&mut self, news: News) {
        match news {
            Ok(seen) => {
                self.seen = Some(seen);
                self.lost = None;
                self.keep_in_sight();
            }
            Err(why) => self.lost = Some(why),
        }
    }

    pub(super) fn view(&self) -> Option<&ViewReport> {
        self.seen.as_ref()?.view.as_ref().ok()
    }

    /// The row under the cursor, if it has been seen.
    fn row(&self) -> Option<&ViewRow> {
        let view = self.view()?;
        let at = self.cursor.checked_sub(view.offset)?;
        view.rows.get(usize::try_from(at).ok()?)
    }

    /// The screen has room for so many rows.
    pub(super) fn set_room(&mut self, rows: u64) {
        self.room = rows.max(1);
        self.keep_in_sight();
    }

    /// The cursor is on a row that there is, and on the screen.
    fn keep_in_sight(&mut self) {
        if let Some(matching) = self.view().map(|view| view.matching) {
            self.cursor = self.cursor.min(matching.saturating_sub(1));
        }
        let first = self.cursor.saturating_sub(self.room - 1);
        self.offset = self.offset.clamp(first, self.cursor);
    }

    pub(super) fn press(&mut self, key: KeyEvent) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            self.over = true;
        } else if self.typed.is_some() {
            self.type_filter(key.code);
        } else if self.help {
            self.help = false;
        } else {
            self.command(key.code);
        }
    }

    fn command(&mut self, key: KeyCode) {
        let page = self.room.max(2) - 1;
        match key {
            KeyCode::Char('q') => self.over = true,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.help = true,
            KeyCode::Char('s' | '>') | KeyCode::Right => self.sort_by_next(1),
            KeyCode::Char('S' | '<') | KeyCode::Left => self.sort_by_next(Order::ALL.len() - 1),
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('/' | 'f') => {
                let text = self.filter_line();
                self.typed = Some(Typed { text, wrong: None });
            }
            KeyCode::Down | KeyCode::Char('j') => self.go(self.cursor.saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => self.go(self.cursor.saturating_sub(1)),
            KeyCode::PageDown => self.go(self.cursor.saturating_add(page)),
            KeyCode::PageUp => self.go(self.cursor.saturating_sub(page)),
            KeyCode::Home | KeyCode::Char('g') => self.go(0),
            KeyCode::End | KeyCode::Char('G') => {
                self.go(self.view().map_or(0, |view| view.matching));
            }
            KeyCode::Enter => self.selected = self.row().map(|row| row.flow.flow.clone()),
            KeyCode::Esc => self.selected = None,
            _ => {}
        }
    }

    fn go(&mut self, cursor: u64) {
        self.cursor = cursor;
        self.keep_in_sight();
        // Who looks at flows one by one looks at this one now.
        if self.selected.is_some()
            && let Some(row) = self.row()
        {
            self.selected = Some(row.flow.flow.clone());
        }
    }

    fn sort_by_next(&mut self, step: usize) {
        let at = Order::ALL.iter().position(|order| *order == self.order);
        self.order = Order::ALL[(at.unwrap_or(0) + step) % Order::ALL.len()];
        (self.cursor, self.offset) = (0, 0);
    }

    fn type_filter(&mut self, key: KeyCode) {
        let Some(typed) = &mut self.typed else { return };
        match key {
            KeyCode::Esc => self.typed = None,
            KeyCode::Backspace => _ = typed.text.pop(),
            KeyCode::Char(c) => typed.text.push(c),
            KeyCode::Enter => match read(&typed.text) {
                Ok(filter) => {
                    self.filter = filter;
                    self.typed = None;
                    (self.cursor, self.offset) = (0, 0);
                }
                Err(wrong) => typed.wrong = Some(wrong),
            },
            _ => {}
        }
    }

    /// The filter as it would be typed.
    pub(super) fn filter_line(&self) -> String {
        let filter = &self.filter;
        let slow = filter.slow_bps.map(|bps| format!("{bps}bit"));
        let flags = [
            ("--rule", filter.rule.clone()),
            ("--client", filter.client.clone()),
            ("--limited-by", filter.limited_by.clone()),
            ("--slow", slow),
        ];
        let set = flags
            .into_iter()
            .filter_map(|(flag, value)| Some(format!("{flag} {}", value?)));
        set.collect::<Vec<_>>().join(" ")
    }
}

fn read(text: &str) -> Result<FlowFilter, String> {
    let parsed = FilterLine::try_parse_from(text.split_whitespace());
    let first = |e: clap::Error| {
        let text = e.to_string();
        let line = text.lines().next().unwrap_or_default();
        line.trim_start_matches("error: ").to_owned()
    };
    parsed.map(|line| line.filter.wanted()).map_err(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(app: &mut App, keys: &[KeyCode]) {
        for key in keys {
            app.press(KeyEvent::from(*key));
        }
    }

    fn type_text(app: &mut App, text: &str) {
        let keys: Vec<KeyCode> = text.chars().map(KeyCode::Char).collect();
        press(app, &keys);
    }

    /// What a windlass with so many flows answers.
    fn learn(app: &mut App, matching: u64) {
        let query = app.wanted().query;
        let last = (query.offset + query.rows).min(matching);
        let row = |number| ViewRow {
            flow: windlass_daemon::FlowReport {
                flow: format!("flow {number}"),
                ..Default::default()
            },
            ..ViewRow::default()
        };
        let view = ViewReport {
            flows: 20_000,
            matching,
            offset: query.offset,
            rows: (query.offset..last).map(row).collect(),
            ..ViewReport::default()
        };
        app.learn(Ok(Box::new(Seen {
            view: Ok(view),
            ..Seen::default()
        })));
    }

    #[test]
    fn the_cursor_stays_on_the_screen() {
        let mut app = App::new(FlowFilter::default(), Order::Rate);
        app.set_room(10);
        learn(&mut app, 100);
        press(&mut app, &[KeyCode::Down; 12]);
        assert_eq!((app.cursor, app.offset), (12, 3));
        press(&mut app, &[KeyCode::PageDown]);
        assert_eq!((app.cursor, app.offset), (21, 12));
        press(&mut app, &[KeyCode::End, KeyCode::Down]);
        assert_eq!((app.cursor, app.offset), (99, 90));
        app.set_room(5);
        assert_eq!(app.offset, 95);
        learn(&mut app, 3);
        assert_eq!((app.cursor, app.offset), (2, 2));
        press(&mut app, &[KeyCode::Home]);
        assert_eq!((app.cursor, app.offset), (0, 0));
    }

    #[test]
    fn the_flow_under_the_cursor_is_selected_and_followed() {
        let mut app = App::new(FlowFilter::default(), Order::Rate);
        app.set_room(10);
        learn(&mut app, 100);
        press(&mut app, &[KeyCode::Down, KeyCode::Enter]);
        assert_eq!(app.wanted().flow.as_deref(), Some("flow 1"));
        press(&mut app, &[KeyCode::Down]);
        assert_eq!(app.wanted().flow.as_deref(), Some("flow 2"));
        press(&mut app, &[KeyCode::Esc]);
        assert_eq!(app.wanted().flow, None);
    }

    #[test]
    fn a_filter_is_typed_as_for_flow_show() {
        let mut app = App::new(FlowFilter::default(), Order::Rate);
        press(&mut app, &[KeyCode::Char('/')]);
        type_text(
            &mut app,
            "--rule web --client 192.0.2.0/24 --slow 2mbit --limited-by cwnd",
        );
        press(&mut app, &[KeyCode::Enter]);
        assert_eq!(app.typed, None);
        let filter = app.wanted().query.filter;
        assert_eq!(filter.rule.as_deref(), Some("web"));
        assert_eq!(filter.client.as_deref(), Some("192.0.2.0/24"));
        assert_eq!(filter.slow_bps, Some(2_000_000));
        assert_eq!(filter.limited_by.as_deref(), Some("cwnd"));
        // What is wrong is told, and changes nothing.
        press(&mut app, &[KeyCode::Char('/')]);
        type_text(&mut app, " --slow quick");
        press(&mut app, &[KeyCode::Enter]);
        let wrong = app.typed.as_ref().and_then(|typed| typed.wrong.clone());
        assert!(wrong.is_some_and(|wrong| wrong.contains("quick") || wrong.contains("--slow")));
        press(&mut app, &[KeyCode::Esc, KeyCode::Char('/')]);
        let kept = app.typed.as_ref().map(|typed| typed.text.as_str());
        assert_eq!(
            kept,
            Some("--rule web --client 192.0.2.0/24 --limited-by cwnd --slow 2000000bit")
        );
    }

    #[test]
    fn orders_go_round_and_q_ends() {
        let mut app = App::new(FlowFilter::default(), Order::Rate);
        press(&mut app, &[KeyCode::Char('s')]);
        assert_eq!(app.order, Order::Flow);
        press(&mut app, &[KeyCode::Char('S'), KeyCode::Char('S')]);
        assert_eq!(app.order, Order::HandedBack);
        press(&mut app, &[KeyCode::Char('r'), KeyCode::Char('?')]);
        assert!(app.reversed && app.help && !app.is_over());
        // Any key ends the help, and does nothing else.
        press(&mut app, &[KeyCode::Char('q')]);
        assert!(!app.help && !app.is_over());
        press(&mut app, &[KeyCode::Char('q')]);
        assert!(app.is_over());
    }

    #[test]
    fn a_windlass_that_is_gone_is_told_until_it_is_back() {
        let mut app = App::new(FlowFilter::default(), Order::Rate);
        app.learn(Err("no windlass answers".to_owned()));
        assert!(app.lost.is_some() && app.seen.is_none());
        learn(&mut app, 7);
        assert!(app.lost.is_none() && app.seen.is_some());
    }
}
