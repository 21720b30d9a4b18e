//! Lines for a terminal, and phrases that the page says too.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_auto::guard::{Gain, GuardReport, PlaceReport, RuleReport, State};

/// Lines for people; `-j` has more of them.
const SHOWN_PREFIXES: usize = 20;

pub(super) fn of(report: &GuardReport) -> String {
    let mut text = String::new();
    if report.rules.is_empty() {
        text.push_str("no rule is guarded\n");
    }
    for rule in &report.rules {
        rule_lines(&mut text, rule, report.error);
    }
    text
}

fn rule_lines(text: &mut String, rule: &RuleReport, error: f64) {
    let RuleReport { name, what, .. } = rule;
    let _ = writeln!(
        text,
        "{name} ({what}): {}{}",
        rule.state.name(),
        since(rule.since)
    );
    let [governed, held_out] = rule.transfers;
    let _ = writeln!(
        text,
        "  transfers {governed:.0} governed, {held_out:.0} held out; {}",
        gain(&rule.gain, error)
    );
    let mut places: Vec<&PlaceReport> = rule.places.iter().collect();
    let transfers = |place: &PlaceReport| place.transfers.iter().sum::<f64>();
    // Where something was decided comes first.
    let order = |place: &PlaceReport| match place.state {
        State::Withdrawn => 0,
        State::Doubted => 1,
        State::Proven | State::Open => 2,
    };
    places.sort_by(|a, b| {
        let by_state = order(a).cmp(&order(b));
        by_state.then(transfers(b).total_cmp(&transfers(a)))
    });
    for place in places.iter().take(SHOWN_PREFIXES) {
        let [governed, held_out] = place.transfers;
        let _ = writeln!(
            text,
            "  {} {}{}: {governed:.0} governed, {held_out:.0} held out; {}",
            place.prefix,
            place.state.name(),
            since(place.since),
            gain(&place.gain, error)
        );
    }
    let more = places.len().saturating_sub(SHOWN_PREFIXES) as u64 + rule.omitted;
    if more > 0 {
        let _ = writeln!(text, "  … and {more} more prefixes");
    }
}

/// What governing is worth, with its interval.
pub(super) fn gain(gain: &Gain, error: f64) -> String {
    let (Some(low), Some(high)) = (gain.low, gain.high) else {
        return "nothing to compare yet".to_owned();
    };
    format!(
        "{} ({:.0} % sure: {} to {})",
        faster(gain.estimate),
        (1.0 - error) * 100.0,
        percent(low),
        percent(high)
    )
}

/// A share of the completion time that is saved.
pub(super) fn faster(saved: f64) -> String {
    match saved {
        saved if saved >= 0.0 => format!("{:.1} % sooner", saved * 100.0),
        saved => format!("{:.1} % later", -saved * 100.0),
    }
}

pub(super) fn percent(saved: f64) -> String {
    // A bound may be many times the time itself, and then its digits mean nothing.
    match saved * 100.0 {
        percent if percent < -1000.0 => "under -1000 %".to_owned(),
        percent => format!("{percent:+.1} %"),
    }
}

fn since(unix_ns: u64) -> String {
    if unix_ns == 0 {
        return String::new();
    }
    let then = UNIX_EPOCH + Duration::from_nanos(unix_ns);
    let age = SystemTime::now().duration_since(then).unwrap_or_default();
    match age.as_secs() {
        secs @ 0..120 => format!(" for {secs} s"),
        secs @ 120..7_200 => format!(" for {} min", secs / 60),
        secs @ 7_200..172_800 => format!(" for {} h", secs / 3_600),
        secs => format!(" for {} days", secs / 86_400),
    }
}
