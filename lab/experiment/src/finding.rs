//! What the numbers say of each contestant, or each value of a parameter, in plain words.

use crate::check::{self, Beside, Check, Grouped, Limit, Over, Verdict};
use crate::condition::{Condition, Test};
use crate::experiment::Experiment;
use crate::paper::figures;

/// Something that is said of those that are beyond a limit. Unlike a check, it fails nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Why it matters.
    pub because: String,
    /// What it is said by; its name is what is said of those for which it does not hold.
    pub check: Check,
    /// The same, for each of those that it may be said of.
    pub checks: Vec<Check>,
}

/// What is said of one of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    /// Of whom.
    pub about: String,
    /// What came of each finding, in their order; `None` where it is not about this one.
    pub verdicts: Vec<Option<Verdict>>,
}

impl Said {
    /// In one sentence: what is found, with its value and where.
    pub fn sentence(&self, experiment: &Experiment) -> String {
        let mut found = Vec::new();
        let mut unknown = 0;
        for (finding, verdict) in experiment.findings.iter().zip(&self.verdicts) {
            match verdict {
                Some(verdict) if verdict.value.is_none() => unknown += 1,
                Some(verdict) if !verdict.pass => found.push(finding.said(&self.about, verdict)),
                _ => {}
            }
        }
        if unknown > 0 {
            found.push(format!("not known: {unknown} of {}", self.verdicts.len()));
        }
        match found.is_empty() {
            true => "nothing found".to_owned(),
            false => found.join("; "),
        }
    }
}

impl Finding {
    /// Its name, with the value and where that was, as far as it is not the same for all.
    fn said(&self, about: &str, verdict: &Verdict) -> String {
        let Check {
            name, metric, to, ..
        } = &self.check;
        let value = verdict.value.map_or(String::new(), figures);
        let unit = match to {
            Some(Beside::DividedBy(_)) => "",
            _ => metric.unit(),
        };
        let ours = self
            .checks
            .iter()
            .find(|c| c.about.as_deref() == Some(about));
        let conditions = ours.map_or(&[][..], |check| &check.conditions);
        let everywhere = |part: &&str| conditions.iter().any(|c| is_fixed(c, part));
        let worst = verdict.worst.as_deref().and_then(place).unwrap_or_default();
        let places = worst.split(", ").filter(|part| !everywhere(part));
        let places: Vec<&str> = places.filter(|part| !part.is_empty()).collect();
        let at = if places.is_empty() { "" } else { " at " };
        format!("{name} ({value}{unit}{at}{})", places.join(", "))
    }
}

/// Whether this part of a cell in words is all that the condition lets through.
fn is_fixed(condition: &Condition, part: &str) -> bool {
    let Test::OneOf(values) = &condition.test else {
        return false;
    };
    let [value] = &values[..] else {
        return false;
    };
    match condition.key.as_str() {
        "case" => value.to_string() == part,
        key => format!("{key} {value}") == part,
    }
}

/// Where the worst value was: of `contestant at cell: value` the cell.
fn place(worst: &str) -> Option<&str> {
    let (_, at) = worst.split_once(" at ")?;
    Some(at.rsplit_once(": ")?.0)
}

impl Finding {
    /// When it is said, in words.
    pub fn limit(&self, experiment: &Experiment) -> String {
        let Check {
            metric,
            flows,
            to,
            to_where,
            limit,
            over,
            conditions,
            ..
        } = &self.check;
        let mut text = metric.name().to_owned();
        if !flows.is_empty() {
            text.push_str(&format!(" of {}", flows.join(", ")));
        }
        if let Some(to) = to {
            let sign = match to {
                _ if metric.of_two() => "beside",
                Beside::DividedBy(_) => "÷",
                Beside::DividedByBest(_) => "÷ the best of",
                Beside::DividedByWorst(_) => "÷ the worst of",
                Beside::Minus(_) => "−",
            };
            let others = to.contestants().iter();
            let others: Vec<&str> = others
                .map(|index| experiment.contestants[*index].as_str())
                .collect();
            text.push_str(&format!(" {sign} {}", others.join(", ")));
        }
        let elsewhere = to_where.iter().map(|(at, value)| {
            let name = &experiment.parameters[*at];
            format!("{name} = {value}")
        });
        let elsewhere: Vec<String> = elsewhere.collect();
        if !elsewhere.is_empty() {
            text.push_str(&format!(" (at {})", elsewhere.join(", ")));
        }
        let conditions: Vec<String> = conditions.iter().map(words).collect();
        if !conditions.is_empty() {
            text.push_str(&format!(" where {}", conditions.join(", ")));
        }
        let over = match over {
            Over::Cells(statistic) => statistic.name(),
            Over::Pooled => "pooled".to_owned(),
        };
        let sign = match limit {
            Limit::AtMost(_) => '>',
            Limit::AtLeast(_) => '<',
        };
        format!("{text}: {over} {sign} {}", limit.number())
    }
}

fn words(condition: &Condition) -> String {
    let Condition { key, test } = condition;
    match test {
        Test::OneOf(values) => {
            let values: Vec<String> = values.iter().map(|v| v.to_string()).collect();
            format!("{key} = {}", values.join(" or "))
        }
        Test::Less(n) => format!("{key} < {n}"),
        Test::AtMost(n) => format!("{key} ≤ {n}"),
        Test::Greater(n) => format!("{key} > {n}"),
        Test::AtLeast(n) => format!("{key} ≥ {n}"),
        Test::Not(value) => format!("{key} ≠ {value}"),
    }
}

/// What all findings say, by whom it is said of, in the order of the file.
pub fn all(experiment: &Experiment, rows: &Grouped<'_>) -> Vec<Said> {
    let checks = || experiment.findings.iter().flat_map(|f| &f.checks);
    let mut abouts: Vec<&String> = Vec::new();
    for about in checks().filter_map(|check| check.about.as_ref()) {
        if !abouts.contains(&about) {
            abouts.push(about);
        }
    }
    let said = abouts.into_iter().map(|about| Said {
        about: about.clone(),
        verdicts: experiment
            .findings
            .iter()
            .map(|finding| {
                let ours = |c: &&Check| c.about.as_ref() == Some(about);
                let check = finding.checks.iter().find(ours)?;
                Some(check::evaluate(check, experiment, rows))
            })
            .collect(),
    });
    // What was not to run has no verdict.
    let ran = |said: &Said| said.verdicts.iter().flatten().any(|v| v.value.is_some());
    said.filter(ran).collect()
}

/// Those of which the finding at this index is said, with commas.
pub fn of_whom(said: &[Said], at: usize) -> String {
    let found = |verdict: &Verdict| verdict.value.is_some() && !verdict.pass;
    let whom = said.iter().filter(|said| {
        let verdict = said.verdicts.get(at).and_then(Option::as_ref);
        verdict.is_some_and(found)
    });
    let whom: Vec<&str> = whom.map(|said| said.about.as_str()).collect();
    match whom.is_empty() {
        true => "none".to_owned(),
        false => whom.join(", "),
    }
}

/// All of it as Markdown: title, what is said, by which limits, by which numbers.
pub fn markdown(experiment: &Experiment, rows: &Grouped<'_>) -> String {
    let Experiment {
        title,
        description,
        findings,
        charts,
        ..
    } = experiment;
    let mut text = format!("# {title}\n\n{description}\n\n");
    if !charts.command.is_empty() {
        text.push_str(&format!("This page is made by `{}`.\n\n", charts.command));
    }
    let said = all(experiment, rows);
    if !said.is_empty() {
        text.push_str("## In plain words\n\n| | what was found |\n|---|---|\n");
        for said in &said {
            let sentence = said.sentence(experiment);
            text.push_str(&format!("| {} | {sentence} |\n", said.about));
        }
        text.push_str("\n## What each finding means\n\n");
        text.push_str("| | said of | when | what it means |\n|---|---|---|---|\n");
        for (at, finding) in findings.iter().enumerate() {
            let (name, limit) = (&finding.check.name, finding.limit(experiment));
            let (whom, why) = (of_whom(&said, at), &finding.because);
            text.push_str(&format!("| {name} | {whom} | {limit} | {why} |\n"));
        }
        text.push_str(&numbers(findings, &said));
    }
    for map in &charts.maps {
        text.push_str(&map.markdown(experiment, rows));
    }
    text
}

/// The value of each finding for each of those that it is about.
fn numbers(findings: &[Finding], said: &[Said]) -> String {
    let mut text =
        "\n## The numbers behind it\n\nValues beyond their limit are bold.\n\n|".to_owned();
    for finding in findings {
        text.push_str(&format!(" | {}", finding.check.name));
    }
    text.push_str(" |\n|---");
    text.push_str(&"|---:".repeat(findings.len()));
    text.push_str("|\n");
    for Said { about, verdicts } in said {
        text.push_str(&format!("| {about}"));
        for verdict in verdicts {
            let value = verdict.as_ref().and_then(|v| v.value).map(figures);
            let value = value.unwrap_or("–".to_owned());
            match verdict {
                Some(Verdict { pass: false, .. }) => text.push_str(&format!(" | **{value}**")),
                _ => text.push_str(&format!(" | {value}")),
            }
        }
        text.push_str(" |\n");
    }
    text
}
