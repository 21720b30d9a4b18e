//! From figures to text.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric, MetricEncoder, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use windlass_engine::Side;
use windlass_metric::{Histogram, Kind, Metric, Reading};

use super::figures::Figures;
use super::names::Name;
use crate::report::side_name;

/// What a scraper wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Prometheus text, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The figures as text.
///
/// # Errors
/// The encoder's.
pub(crate) fn write(figures: &Figures, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families::of(figures)));
    let mut text = String::new();
    match format {
        Format::Prometheus => prometheus_text::encode(&mut text, &registry)?,
        Format::OpenMetrics => text::encode(&mut text, &registry)?,
    }
    Ok(text)
}

/// A label and its value.
type Label = (&'static str, String);

/// One metric of a part, with all values of its labels.
#[derive(Debug)]
struct Family {
    part: &'static str,
    metric: &'static Metric,
    points: Vec<(Vec<Label>, Value)>,
}

#[derive(Debug)]
enum Value {
    Number(u64),
    Sizes(Box<Histogram>),
}

/// Everything that is shown, in the order of the table.
#[derive(Debug, Default)]
struct Families(Vec<Family>);

impl Families {
    fn of(figures: &Figures) -> Families {
        let mut all = Families::default();
        all.add("", &[], figures.state.each());
        if let Some(sums) = &figures.workers {
            all.add("engine", &[], sums.counters.each());
            for (metric, sizes) in sums.engine.each() {
                all.point("engine", metric, Vec::new(), Value::Sizes(Box::new(*sizes)));
            }
            all.add("driver", &[], sums.frames.each());
            for side in [Side::Inside, Side::Outside] {
                let label = ("side", side_name(side).to_owned());
                all.add("driver", &[label], sums.sides[side.index()].each());
            }
            for (metric, sizes) in sums.worker.each() {
                all.point("worker", metric, Vec::new(), Value::Sizes(Box::new(*sizes)));
            }
        }
        if let Some(recorder) = figures.workers.as_ref().map(|sums| &sums.recorder)
            && recorder.memory_bytes > 0
        {
            all.add("recorder", &[], recorder.each());
        }
        if let Some(xdp) = &figures.xdp {
            all.add("xdp", &[], xdp.each());
        }
        for (name, plugin) in &figures.plugins {
            all.add("plugin", &[("plugin", name.clone())], plugin.each());
        }
        for (kind, events) in &figures.events {
            all.add("event", &[("kind", (*kind).to_owned())], events.each());
        }
        for (rule, guard) in &figures.guard {
            all.add("guard", &[("rule", rule.clone())], guard.each());
        }
        all
    }

    fn add(
        &mut self,
        part: &'static str,
        labels: &[Label],
        readings: impl Iterator<Item = Reading>,
    ) {
        for reading in readings {
            let Some(number) = reading.number else {
                continue;
            };
            let reason = reading.label.map(|value| ("reason", value.to_owned()));
            let labels = labels.iter().cloned().chain(reason).collect();
            self.point(part, reading.metric, labels, Value::Number(number));
        }
    }

    fn point(
        &mut self,
        part: &'static str,
        metric: &'static Metric,
        labels: Vec<Label>,
        value: Value,
    ) {
        // The families of a part follow one another, and those with labels come round again.
        let known = self.0.iter_mut().rev();
        let known = known
            .take_while(|family| family.part == part)
            .find(|family| family.metric.name == metric.name);
        match known {
            Some(family) => family.points.push((labels, value)),
            None => self.0.push(Family {
                part,
                metric,
                points: vec![(labels, value)],
            }),
        }
    }
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let help = "The running windlass";
        encoder
            .encode_descriptor("windlass_build", help, None, MetricType::Info)?
            .encode_info(&version)?;
        for family in &self.0 {
            family.encode(&mut encoder)?;
        }
        Ok(())
    }
}

impl Family {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let name = Name::of(self.part, self.metric);
        let help = self.metric.help.trim().trim_end_matches('.');
        let kind = match self.metric.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        let mut encoder = encoder.encode_descriptor(&name.name, help, name.unit.as_ref(), kind)?;
        for (labels, value) in &self.points {
            value.encode(&name, kind, encoder.encode_family(labels)?)?;
        }
        Ok(())
    }
}

impl Value {
    fn encode(&self, name: &Name, kind: MetricType, mut to: MetricEncoder<'_>) -> fmt::Result {
        match self {
            Value::Sizes(histogram) => {
                let buckets = histogram
                    .buckets()
                    .map(|(at, count)| (name.base(at), count));
                let beyond = histogram.count() - histogram.buckets().map(|b| b.1).sum::<u64>();
                let buckets: Vec<_> = buckets.chain([(f64::INFINITY, beyond)]).collect();
                let (sum, count) = (name.base(histogram.sum()), histogram.count());
                to.encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)
            }
            Value::Number(number) if kind == MetricType::Counter => {
                ConstCounter::new(*number).encode(to)
            }
            Value::Number(number) if name.divisor == 1 => ConstGauge::new(*number).encode(to),
            Value::Number(number) => ConstGauge::new(name.base(*number)).encode(to),
        }
    }
}
