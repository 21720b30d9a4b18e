//! What `windlass flow show -j` prints, as JSON Schema. The file is written of the types and of the table of figures, as the
//! manual's table of fields is: so a program has it that is built without what describes types.

/// The description, by JSON Schema 2020-12.
pub const FLOW_SCHEMA: &str = include_str!("flow.schema.json");

#[cfg(test)]
mod tests;
