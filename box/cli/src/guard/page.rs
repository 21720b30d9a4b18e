//! The page for somebody who pays for it: one file that needs nothing else.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use windlass_auto::guard::{GuardReport, LogHistogram, PlaceReport, RuleReport, State};
use windlass_auto::{CLASS_NAMES, CLASSES};

use super::{plots, text};

const STYLE: &str = include_str!("style.css");
const CLASS_SIZES: [&str; CLASSES] = ["up to 100 kB", "100 kB to 2 MB", "over 2 MB"];
/// A quantile is told where so many transfers lie beyond it.
const BEYOND_QUANTILE: f64 = 5.0;
/// Prefixes of a table.
const SHOWN_PREFIXES: usize = 25;

pub(super) fn of(report: &GuardReport, hours: u32) -> Result<String> {
    let mut rules = Vec::new();
    for rule in &report.rules {
        rules.push(section(rule, report.error)?);
    }
    let period = match hours {
        1 => "hour".to_owned(),
        24 => "day".to_owned(),
        hours if hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Windlass: what it gains" }
                style { (PreEscaped(STYLE)) }
            }
            body { main {
                h1 { "What Windlass gains" }
                p.soft { "The last " (period) "." }
                @if rules.is_empty() { p { "No rule is guarded." } }
                @for rule in rules { (rule) }
                h2 { "How this is known" }
                p { "Windlass leaves a random share of the flows alone, and compares the others with them. "
                    "The two differ in nothing but chance and Windlass. Each flow counts once for each size of transfer, "
                    "and is compared with flows to the same prefix of addresses." }
                p { "The intervals hold at all times at once: nobody can find a gain by looking often enough. "
                    "Windlass is wrong about a harmless rule with a probability of at most "
                    (format!("{:.0} %.", report.error * 100.0)) }
            } }
        }
    };
    Ok(page.into_string())
}

fn section(rule: &RuleReport, error: f64) -> Result<Markup> {
    let gain = plots::gain(&rule.hours)?;
    let mut curves = Vec::new();
    for (class, times) in rule.times.iter().enumerate() {
        curves.push(plots::distributions(times)?.map(|svg| (class, svg)));
    }
    Ok(html! {
        h2 { "Rule " (rule.name) " " span.soft { "(" (rule.what) ")" } }
        p.headline { (headline(rule, error)) }
        (flows(rule))
        h3 { "Completion times" }
        (times(rule))
        @for (class, svg) in curves.into_iter().flatten() {
            h3 { (capital(CLASS_NAMES[class])) " transfers, " (CLASS_SIZES[class]) }
            div.card { (PreEscaped(svg)) }
        }
        @if let Some(svg) = gain {
            h3 { "Gain over time, with its interval" }
            div.card { (PreEscaped(svg)) }
        }
        (prefixes(rule, error))
    })
}

fn headline(rule: &RuleReport, error: f64) -> Markup {
    let gain = &rule.gain;
    let (Some(low), Some(high)) = (gain.low, gain.high) else {
        return html! { "Too few transfers have ended to say anything." };
    };
    let sure = format!(
        "({:.0} % sure: {} to {})",
        (1.0 - error) * 100.0,
        text::percent(low),
        text::percent(high)
    );
    let class = match (low > 0.0, high < 0.0) {
        (true, _) => "good",
        (_, true) => "bad",
        _ => "soft",
    };
    let verdict = match rule.state {
        State::Open => "No difference is beyond doubt for all prefixes together.",
        State::Doubted => {
            "Governed transfers seem to be slower; Windlass holds out more flows to find out."
        }
        State::Withdrawn => "Windlass has withdrawn: new flows are left alone.",
        State::Proven => "That is beyond doubt.",
    };
    html! {
        "Transfers finish " b class=(class) { (text::faster(gain.estimate)) } " than without Windlass " (sure) ". "
        (verdict)
    }
}

/// By what was in force for them.
fn flows(rule: &RuleReport) -> Markup {
    let mut sums = [0u64; 4];
    for [open, doubted, withdrawn, proven] in rule.hours.iter().map(|hour| hour.flows) {
        sums[0] += proven[0];
        sums[1] += open[0] + doubted[0];
        sums[2] += withdrawn[1];
        sums[3] += proven[1] + open[1] + doubted[1];
    }
    let all = sums.iter().sum::<u64>();
    let names = [
        ("helped", "helped beyond doubt"),
        ("unchanged", "governed, no difference proven"),
        ("withdrawn", "withdrawn from"),
        ("held", "left alone for comparison"),
    ];
    let share = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
    html! {
        h3 { (all) " flows" }
        @if all > 0 {
            div.bar {
                @for ((class, _), count) in names.iter().zip(sums) {
                    span class=(class) style=(format!("width:{:.2}%", share(count))) {}
                }
            }
            p.keys { @for ((class, name), count) in names.iter().zip(sums) {
                span { span class=(format!("key {class}")) {} (name) " " (format!("{:.1} %", share(count))) } " "
            } }
        }
    }
}

fn times(rule: &RuleReport) -> Markup {
    let known = |(_, lots): &(_, &[LogHistogram; 2])| lots.iter().all(|times| times.count() > 0);
    let classes: Vec<_> = rule.times.iter().enumerate().filter(known).collect();
    if classes.is_empty() {
        return html! { p { "Too few transfers have ended to compare their times." } };
    }
    html! { div.card { table {
        thead { tr {
            th { "Size" } th { "Quantile" } th { "With" } th { "Without" } th { "Gain" }
        } }
        tbody { @for (class, [with, without]) in classes {
            @for (name, share) in [("median", 0.5), ("p95", 0.95), ("p99", 0.99)] { tr {
                td { (CLASS_SIZES[class]) } td { (name) }
                (quantile(with, without, share))
            } }
        } }
    } } }
}

fn quantile(with: &LogHistogram, without: &LogHistogram, share: f64) -> Markup {
    let known = |times: &LogHistogram| {
        let enough = times.count() as f64 * (1.0 - share) >= BEYOND_QUANTILE;
        times.quantile(share).filter(|_| enough)
    };
    let seconds = |time: Option<f64>| match time {
        Some(time) if time < 0.1 => format!("{:.1} ms", time * 1000.0),
        Some(time) => format!("{time:.2} s"),
        None => "too few".to_owned(),
    };
    let (with, without) = (known(with), known(without));
    let gain = with
        .zip(without)
        .map(|(with, without)| 1.0 - with / without);
    html! {
        td { (seconds(with)) } td { (seconds(without)) }
        td { @if let Some(gain) = gain {
            (format!("{:+.1} %", gain * 100.0))
        } }
    }
}

fn prefixes(rule: &RuleReport, error: f64) -> Markup {
    let withdrawn = |place: &&PlaceReport| place.state == State::Withdrawn;
    let transfers = |place: &PlaceReport| place.transfers.iter().sum::<f64>();
    let mut shown: Vec<&PlaceReport> = rule.places.iter().collect();
    shown.sort_by(|a, b| {
        let by_state = withdrawn(b).cmp(&withdrawn(a));
        by_state.then(transfers(b).total_cmp(&transfers(a)))
    });
    let more = shown.len().saturating_sub(SHOWN_PREFIXES) as u64 + rule.omitted;
    html! {
        h3 { "Prefixes" }
        div.card { table {
            thead { tr { th { "Prefix" } th { "State" } th { "Governed" } th { "Left alone" } th { "Gain" } } }
            tbody { @for place in shown.iter().take(SHOWN_PREFIXES) { tr {
                td { (place.prefix) } td { (place.state.name()) }
                td { (format!("{:.0}", place.transfers[0])) } td { (format!("{:.0}", place.transfers[1])) }
                td { (text::gain(&place.gain, error)) }
            } } }
        } }
        @if more > 0 { p.soft { "And " (more) " more." } }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
