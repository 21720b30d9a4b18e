//! The flows in a certain order, a part at a time, with the rates at which they move: for those who watch many.
//!
//! The `sampler` asks the workers for all flows at most once a second, however many watch, and remembers how much each
//! had moved. Who watches says what is wanted ([`ViewQuery`]) and gets so many rows of it. So 20,000 flows cost the
//! workers the same whether one watches or ten, and never leave the process in one piece.

mod algorithms;
mod filter;
mod query;
mod sampler;

pub use algorithms::AlgorithmReport;
pub use filter::FlowFilter;
pub(crate) use filter::Wanted;
pub use query::{Order, ROWS_MAX, ViewQuery, ViewReport, ViewRow};
pub(crate) use sampler::{Sampler, Shot};
