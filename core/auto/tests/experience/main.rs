//! What is learned from transfers: which algorithm is best, and whether governing is worth it.

mod dice;
mod guard;
mod learning;
