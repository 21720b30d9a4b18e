//! `windlass events`: what has happened, and what happens.

use std::fmt::Write;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;
use windlass_daemon::control::{Answer, EventsReport, Request};
use windlass_daemon::events::{EVENT_KINDS, EventKind, EventReport, Severity};
use windlass_engine::HandBack;
use windlass_terminal::{print, print_more};

use crate::ask::{Control, unexpected};

/// Time between two questions whether something has come.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, ValueEnum)]
enum Least {
    Info,
    Notice,
    Warning,
    Error,
}

/// Show what has happened: flows handed back, limits reached, workers late, interfaces gone, and more.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// As JSON, one event a line.
    #[arg(short, long)]
    json: bool,
    /// Go on with what happens from now on, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Only of these kinds, separated by commas.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    kind: Vec<EventKind>,
    /// Only those that are as bad as this, or worse.
    #[arg(long, value_name = "SEVERITY", default_value = "info")]
    min: Least,
    /// Only those of flows with this text in their name: an address, or a port.
    #[arg(long, value_name = "TEXT")]
    flow: Option<String>,
    /// Only those of this rule, and of flows that it governs.
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Say what kinds there are. This asks no running windlass.
    #[arg(long)]
    kinds: bool,
    #[command(flatten)]
    control: Control,
}

fn kind(text: &str) -> std::result::Result<EventKind, String> {
    text.parse()
        .map_err(|wrong| format!("{wrong} (windlass events --kinds shows all)"))
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.kinds {
        return print(&kinds());
    }
    let mut place = Place::default();
    loop {
        // A box that is being started again is waited for.
        let report = match ask(&args.control, place.after) {
            Err(_) if args.follow && place.began_ms > 0 => {
                thread::sleep(FOLLOW_INTERVAL);
                continue;
            }
            report => report?,
        };
        let more = report.more;
        let Some(text) = place.take(report, |event| args.line(event)) else {
            continue;
        };
        if !text.is_empty() && !print_more(&text)? {
            return Ok(ExitCode::SUCCESS);
        }
        match (more, args.follow) {
            (true, _) => {}
            (false, true) => thread::sleep(FOLLOW_INTERVAL),
            (false, false) => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn ask(control: &Control, after: u64) -> Result<EventsReport> {
    match control.ask(Request::Events { after })? {
        Answer::Events(report) => Ok(report),
        other => bail!(unexpected(&other)),
    }
}

/// Up to where a reader has read.
#[derive(Default)]
struct Place {
    after: u64,
    began_ms: u64,
}

impl Place {
    /// The lines of a report; `None` if it is of a box that was started anew: then it must be asked again, from the
    /// beginning.
    fn take(
        &mut self,
        report: EventsReport,
        line: impl Fn(&EventReport) -> Option<String>,
    ) -> Option<String> {
        let before = std::mem::replace(&mut self.began_ms, report.began_ms);
        if before != 0 && before != report.began_ms {
            self.after = 0;
            return None;
        }
        if report.missed > 0 && self.after > 0 {
            eprintln!(
                "windlass: {} events came too fast to be shown",
                report.missed
            );
        }
        if let Some(last) = report.events.last() {
            self.after = last.number;
        }
        Some(report.events.iter().filter_map(line).collect())
    }
}

impl Args {
    /// The line of an event, if it is wanted.
    fn line(&self, event: &EventReport) -> Option<String> {
        let least = match self.min {
            Least::Info => Severity::Info,
            Least::Notice => Severity::Notice,
            Least::Warning => Severity::Warning,
            Least::Error => Severity::Error,
        };
        let of_flow = |text: &String| {
            let flow = event.flow.as_ref();
            flow.is_some_and(|flow| flow.contains(text.as_str()))
        };
        let wanted = (self.kind.is_empty() || self.kind.contains(&event.kind))
            && event.severity <= least
            && self.flow.as_ref().is_none_or(of_flow)
            && (self.rule.is_none() || self.rule == event.rule);
        wanted.then(|| match self.json {
            true => serde_json::to_string(event).unwrap_or_default() + "\n",
            false => described(event),
        })
    }
}

/// `2026-11-24T21:35:08.104Z notice  handed_back 10.0.0.1:443>192.0.2.7:5555 …`
fn described(event: &EventReport) -> String {
    let mut text = format!(
        "{} {:7} {}",
        utc(event.time_ms),
        event.severity.name(),
        event.kind
    );
    if let Some(flow) = &event.flow {
        let _ = write!(text, " {flow}");
    }
    // A mistake in a file is told in several lines; an event is one.
    let _ = write!(text, " {}", event.text.replace('\n', " "));
    if let Some(rule) = &event.rule {
        let _ = write!(text, " rule={rule}");
    }
    if let Some(reason) = event
        .reason
        .as_ref()
        .filter(|reason| !event.text.contains(*reason))
    {
        let _ = write!(text, " reason={reason}");
    }
    for (name, number) in &event.numbers {
        let _ = write!(text, " {name}={number}");
    }
    if event.suppressed > 0 {
        let _ = write!(text, " suppressed={}", event.suppressed);
    }
    text + "\n"
}

fn kinds() -> String {
    let row = |row: &windlass_daemon::events::KindRow| {
        let (severity, help) = (row.severity.name(), row.help.trim());
        format!("{:20} {severity:8} {help}\n", row.name)
    };
    let kinds: String = EVENT_KINDS.iter().map(row).collect();
    let reasons = HandBack::ALL.iter();
    let reasons: String = reasons
        .map(|why| format!("  {:27} {}\n", why.name(), why.help().trim()))
        .collect();
    format!("{kinds}\nreasons of handed_back\n{reasons}")
}

/// A time in UTC as ISO 8601 has it. Days are counted as in the Gregorian calendar from 1 March 2000 on, so that the day
/// of a leap year is the last.
pub(crate) fn utc(ms: u64) -> String {
    const MS_PER_DAY: u64 = 86_400_000;
    /// From 1970-01-01 to 2000-03-01.
    const DAYS_TO_MARCH_2000: i64 = 11_017;
    const DAYS_PER_400_YEARS: i64 = 146_097;
    let days = (ms / MS_PER_DAY) as i64 - DAYS_TO_MARCH_2000;
    let (era, day) = (
        days.div_euclid(DAYS_PER_400_YEARS),
        days.rem_euclid(DAYS_PER_400_YEARS),
    );
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = 2000 + 400 * era + year + carry;
    let (seconds, ms) = (ms % MS_PER_DAY / 1000, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        assert_eq!(utc(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(utc(1_709_210_096_789), "2024-02-29T12:34:56.789Z");
        assert_eq!(utc(1_795_564_799_999), "2026-11-24T23:59:59.999Z");
        assert_eq!(utc(4_102_444_800_000), "2100-01-01T00:00:00.000Z");
    }

    fn report(began_ms: u64, first: u64, count: u64) -> EventsReport {
        let event = |number| EventReport {
            number,
            time_ms: 0,
            kind: EventKind::HandedBack,
            severity: Severity::Notice,
            flow: Some("10.0.0.1:443>192.0.2.7:5555".to_owned()),
            rule: Some("web".to_owned()),
            reason: Some("not_held".to_owned()),
            text: "handed back".to_owned(),
            numbers: [("srtt_us".to_owned(), 7)].into(),
            suppressed: 3,
        };
        EventsReport {
            began_ms,
            events: (first..first + count).map(event).collect(),
            missed: 0,
            more: false,
        }
    }

    #[test]
    fn an_event_is_a_line_with_its_numbers() {
        let event = &report(1, 1, 1).events[0];
        assert_eq!(
            described(event),
            "1970-01-01T00:00:00.000Z notice  handed_back 10.0.0.1:443>192.0.2.7:5555 handed back rule=web \
             reason=not_held srtt_us=7 suppressed=3\n"
        );
    }

    #[test]
    fn a_restart_is_noticed() {
        let mut place = Place::default();
        let line = |e: &EventReport| Some(format!("{};", e.number));
        assert_eq!(place.take(report(1, 1, 2), line).as_deref(), Some("1;2;"));
        assert_eq!(place.after, 2);
        assert_eq!(place.take(report(9, 3, 0), line), None);
        assert_eq!(place.after, 0);
        assert_eq!(place.take(report(9, 1, 1), line).as_deref(), Some("1;"));
    }
}
