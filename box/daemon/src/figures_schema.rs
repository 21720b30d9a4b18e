//! The numbers of a flow as OpenAPI has them: from the table of figures.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};
use windlass_engine::FlowFigures;

/// Stands for [`FlowFigures`].
pub(crate) struct Figures;

impl PartialSchema for Figures {
    fn schema() -> RefOr<Schema> {
        let figures = FlowFigures::METRICS.iter();
        let object = figures.fold(ObjectBuilder::new(), |object, metric| {
            let number = ObjectBuilder::new()
                .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
                .description(Some(metric.help.trim()));
            object.property(metric.name, number)
        });
        RefOr::T(Schema::Object(object.build()))
    }
}

impl ToSchema for Figures {}
