//! The schema, made of the types, beside what is written of it and what is printed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use windlass_engine::FlowFigures;

use super::FLOW_SCHEMA;
use crate::figures_schema::{Figures, UNIT};
use crate::{AdviceReport, FlowReport};

/// Ends of names, and the units that they stand for.
const UNITS: [(&str, &str); 5] = [
    ("_bytes", "bytes"),
    ("_ms", "ms"),
    ("_bps", "bits/s"),
    ("_percent", "1/100"),
    ("_ppm", "1/1000000"),
];
const ADVICE: &str = "advice";

/// The description, by JSON Schema 2020-12.
fn flow_schema() -> Value {
    let flow = FlowReport {
        advice: Some(AdviceReport::default()),
        ..FlowReport::default()
    };
    let mut properties = in_order(&of::<Figures>(), &of::<FlowReport>(), &flow);
    let always = in_order(&Map::new(), &properties, &FlowReport::default());
    let advice = in_order(&Map::new(), &of::<AdviceReport>(), &AdviceReport::default());
    let described = properties[ADVICE]["oneOf"][0]["description"].clone();
    let either = [json!({"$ref": "#/$defs/advice"}), json!({"type": "null"})];
    properties.insert(
        ADVICE.to_owned(),
        json!({"description": described, "oneOf": either}),
    );
    let names = |of: &Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "windlass flow show -j",
        "description": "The governed flows, by name. A later version may have more fields.",
        "type": "array",
        "items": {"type": "object", "required": names(&always), "properties": properties},
        "$defs": {ADVICE: {"type": "object", "required": names(&advice), "properties": advice}},
    })
}

/// The properties that a type describes for itself.
fn of<T: PartialSchema>() -> Map<String, Value> {
    let parts = match T::schema() {
        // A type with the fields of another among its own.
        RefOr::T(Schema::AllOf(all)) => all.items,
        one => vec![one],
    };
    let mut all = Map::new();
    for part in parts {
        let described = serde_json::to_value(part).unwrap_or_default();
        if let Some(Value::Object(properties)) = described.get("properties") {
            all.extend(properties.clone());
        }
    }
    all
}

/// The properties of a type in the order in which it is written, each with its unit.
fn in_order(
    figures: &Map<String, Value>,
    own: &Map<String, Value>,
    written: &impl serde::Serialize,
) -> Map<String, Value> {
    let Ok(Value::Object(written)) = serde_json::to_value(written) else {
        return Map::new();
    };
    let property = |name: &String| {
        let mut property = figures.get(name).or(own.get(name))?.clone();
        let fields = property.as_object_mut()?;
        // Says no more than that it is a whole number.
        fields.remove("format");
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
        if let Some((_, unit)) = unit.filter(|_| !fields.contains_key(UNIT)) {
            fields.insert(UNIT.to_owned(), json!(unit));
        }
        Some((name.clone(), property))
    };
    written.keys().filter_map(property).collect()
}

/// The fields in Markdown: those of a flow, and those of the advice on it.
fn flow_table() -> String {
    let schema = flow_schema();
    let mut text = String::new();
    let tables = [
        ("A flow", &schema["items"]),
        ("Advice", &schema["$defs"][ADVICE]),
    ];
    for (title, described) in tables {
        text += &format!(
            "\n### {title}\n\n| field | type | unit | meaning |\n| --- | --- | --- | --- |\n"
        );
        let properties = described["properties"].as_object();
        text.extend(properties.into_iter().flatten().map(row));
    }
    text
}

fn row((name, property): (&String, &Value)) -> String {
    let word = |key: &str| property[key].as_str().unwrap_or_default();
    let kind = match &property["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.collect::<Vec<_>>().join(" or ")
        }
        Value::String(kind) => kind.clone(),
        _ => "object or null".to_owned(),
    };
    let unit = word(UNIT);
    let help = word("description").replace('\n', " ");
    format!("| `{name}` | {kind} | {unit} | {help} |\n")
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/flow-fields.md");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/flow.schema.json");
const BEGIN: &str = "<!-- the table of fields begins -->\n";
const END: &str = "<!-- the table of fields ends -->\n";

const HOW: &str = "stale: WINDLASS_WRITE_DOCS=1 cargo test -p windlass-daemon the_manual";

/// `WINDLASS_WRITE_DOCS=1` writes it.
#[test]
fn the_manual_and_the_program_have_the_schema() {
    let schema = serde_json::to_string_pretty(&flow_schema()).expect("JSON") + "\n";
    if std::env::var_os("WINDLASS_WRITE_DOCS").is_some() {
        std::fs::write(FILE, schema).expect("flow.schema.json");
    } else {
        assert!(FLOW_SCHEMA == schema, "flow.schema.json is {HOW}");
    }
}

/// `WINDLASS_WRITE_DOCS=1` writes it.
#[test]
fn the_manual_has_the_table_of_fields() {
    let page = std::fs::read_to_string(PAGE).expect("docs/flow-fields.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table begins");
    let (written, after) = rest.split_once(END).expect("the table ends");
    let table = flow_table() + "\n";
    if std::env::var_os("WINDLASS_WRITE_DOCS").is_some() {
        let page = format!("{before}{BEGIN}{table}{END}{after}");
        std::fs::write(PAGE, page).expect("docs/flow-fields.md");
    } else {
        assert!(written == table, "docs/flow-fields.md is {HOW}");
    }
}

fn keys(value: &Value) -> BTreeSet<String> {
    let Value::Object(object) = value else {
        panic!("{value} is no object");
    };
    object.keys().cloned().collect()
}

fn required(described: &Value) -> BTreeSet<String> {
    let names = described["required"].as_array().expect("a list");
    let names = names
        .iter()
        .map(|name| name.as_str().expect("a name").to_owned());
    names.collect()
}

#[test]
fn every_field_that_is_printed_is_described_and_nothing_else() {
    let schema = flow_schema();
    let (items, advice) = (&schema["items"], &schema["$defs"][ADVICE]);
    let without = serde_json::to_value(FlowReport::default()).expect("JSON");
    assert_eq!(required(items), keys(&without));
    let with = FlowReport {
        advice: Some(AdviceReport::default()),
        ..FlowReport::default()
    };
    let with = serde_json::to_value(with).expect("JSON");
    assert_eq!(keys(&items["properties"]), keys(&with));
    assert_eq!(keys(&advice["properties"]), keys(&with[ADVICE]));
    assert_eq!(required(advice), keys(&with[ADVICE]));
    for described in [items, advice] {
        for (name, property) in described["properties"].as_object().expect("an object") {
            let help = property["description"].as_str().unwrap_or_default();
            assert!(help.ends_with('.'), "{name} has no description: {property}");
        }
    }
}

/// Names that end in a unit say the unit of the table.
#[test]
fn numbers_have_the_units_of_the_one_table() {
    let schema = flow_schema();
    let properties = &schema["items"]["properties"];
    for metric in FlowFigures::METRICS {
        let property = &properties[metric.name];
        assert_eq!(property[UNIT], metric.unit.name(), "{}", metric.name);
        let by_name = UNITS.iter().find(|(end, _)| metric.name.ends_with(end));
        if let Some((_, unit)) = by_name {
            assert_eq!(*unit, metric.unit.name(), "{}", metric.name);
        }
    }
    assert_eq!(properties["cwnd_bytes"]["type"], "integer");
    assert_eq!(
        properties["ssthresh_bytes"]["type"],
        json!(["integer", "null"])
    );
    let predicted = &schema["$defs"][ADVICE]["properties"]["predicted_ms"];
    assert_eq!(predicted[UNIT], "ms");
}
