//! `[[report.map]]`.

use windlass_policy::Wrong;
use windlass_policy::read::{Section, Value};

use super::conditions;
use crate::experiment::Experiment;
use crate::map::{Map, Scale};
use crate::metric::Metric;

const VALUE_MAX: f64 = 1e12;

/// Reads all of them.
pub(super) fn read(value: Value<'_>, experiment: &Experiment) -> Result<Vec<Map>, Wrong> {
    let maps = value.list("[{ title = \"…\" }], or better [[report.map]]")?;
    maps.into_iter()
        .map(|value| read_one(value, experiment))
        .collect()
}

fn read_one(value: Value<'_>, experiment: &Experiment) -> Result<Map, Wrong> {
    let mut section = value.section("[[report.map]]")?;
    let title = section.need("title", "\"Share beside CUBIC, percent\"")?;
    let metric = section.need("metric", "\"share_percent\"")?;
    let (x, y) = (
        section.need("x", "\"rtt_ms\"")?,
        section.need("y", "\"contestant\"")?,
    );
    let of = section.take("of");
    let contestant = |value: &Value<'_>| conditions::contestant(value, experiment);
    let map = Map {
        title: title.text("Share beside CUBIC, percent")?.to_owned(),
        metric: metric.word(&Metric::ALL)?,
        of: match of {
            Some(of) => conditions::one_or_more(of, "[\"native-bbr\"]", contestant)?,
            None => (0..experiment.contestants.len()).collect(),
        },
        to: conditions::beside(&mut section, experiment)?.map(|(to, _)| to),
        flows: conditions::flows(&mut section, experiment)?,
        conditions: match section.take("where") {
            Some(value) => conditions::read(value, experiment)?,
            None => Vec::new(),
        },
        x: conditions::axis(&x, experiment)?,
        y: conditions::axis(&y, experiment)?,
        scale: scale(&mut section)?,
    };
    let (has_flows, has_to) = (!map.flows.is_empty(), map.to.is_some());
    conditions::refuse_half(map.metric, has_flows, has_to, &section)?;
    if map.x == map.y {
        let what = "x and y are the same";
        return Err(Wrong::new(
            y.span(),
            what,
            "choose another one for one of them",
        ));
    }
    section.finish()?;
    Ok(map)
}

fn scale(section: &mut Section<'_>) -> Result<Scale, Wrong> {
    let good = section.need("good", "50")?;
    let bad = section.need("bad", "0")?;
    let other = section.take("other_bad");
    let number = |value: &Value<'_>| value.number(-VALUE_MAX..=VALUE_MAX, "");
    let scale = Scale {
        good: number(&good)?,
        bad: number(&bad)?,
        other_bad: other.as_ref().map(number).transpose()?,
    };
    if scale.good == scale.bad {
        let what = "good and bad are the same";
        return Err(Wrong::new(
            bad.span(),
            what,
            "make bad greater or less than good",
        ));
    }
    if let (Some(value), Some(other)) = (&other, scale.other_bad)
        && (other - scale.good) * (scale.bad - scale.good) >= 0.0
    {
        let what = "other_bad is on the same side of good as bad";
        let help = "put one of them below good and one above, or leave other_bad out";
        return Err(Wrong::new(value.span(), what, help));
    }
    Ok(scale)
}
