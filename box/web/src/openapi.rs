//! The description of the HTTP interface (OpenAPI 3.1).

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::api;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Windlass",
        description = "What the page of Windlass asks. Numbers have their units in their names.",
    ),
    paths(
        api::about, api::overview, api::flows, api::flow, api::algorithms, api::rules, api::explain, api::guard,
        api::trials, api::events, api::bypass
    ),
    modifiers(&Token)
)]
struct Described;

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// The description.
pub fn description() -> utoipa::openapi::OpenApi {
    Described::openapi()
}
