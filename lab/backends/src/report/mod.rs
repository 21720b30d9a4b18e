//! The results, for people and for programs.

pub mod chart;
pub mod dots;
pub mod html;
pub mod json;
pub mod table;

mod figures;
mod series;
#[cfg(test)]
mod tests;
