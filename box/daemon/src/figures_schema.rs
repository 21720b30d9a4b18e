//! The numbers of a flow as OpenAPI has them: from the table of figures.

use serde_json::Value;
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};
use windlass_engine::FlowFigures;
use windlass_metric::Metric;

/// The key of a number's unit in its description.
pub(crate) const UNIT: &str = "x-unit";

/// Stands for [`FlowFigures`].
pub(crate) struct Figures;

impl PartialSchema for Figures {
    fn schema() -> RefOr<Schema> {
        let unknown = serde_json::to_value(FlowFigures::default()).unwrap_or_default();
        let figures = FlowFigures::METRICS.iter();
        let object = figures.fold(ObjectBuilder::new(), |object, metric| {
            let number = number(metric, unknown.get(metric.name));
            object.property(metric.name, number).required(metric.name)
        });
        RefOr::T(Schema::Object(object.build()))
    }
}

/// A number, which may be `null` if it is so before anything is known.
fn number(metric: &Metric, unknown: Option<&Value>) -> Object {
    let kinds = match unknown {
        Some(Value::Null) => SchemaType::from_iter([Type::Integer, Type::Null]),
        _ => SchemaType::new(Type::Integer),
    };
    let unit = ExtensionsBuilder::new().add(UNIT, metric.unit.name());
    ObjectBuilder::new()
        .schema_type(kinds)
        .minimum(Some(0))
        .description(Some(metric.help.trim()))
        .extensions(Some(unit.build()))
        .build()
}

impl ToSchema for Figures {}
