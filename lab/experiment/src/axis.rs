//! What tells the runs of an experiment apart: case, parameters, contestants.

use crate::experiment::{Cell, Experiment};
use crate::scalar::Scalar;

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Axis {
    /// The case.
    Case,
    /// The contestant.
    Contestant,
    /// A parameter: its index and its name.
    Parameter(usize, String),
}

impl Axis {
    /// `case`, `contestant`, or the name of a parameter.
    pub fn of_name(name: &str, experiment: &Experiment) -> Option<Axis> {
        match name {
            "case" => Some(Axis::Case),
            "contestant" => Some(Axis::Contestant),
            _ => {
                let at = experiment.parameters.iter().position(|p| p == name)?;
                Some(Axis::Parameter(at, name.to_owned()))
            }
        }
    }

    /// Its name.
    pub fn key(&self) -> &str {
        match self {
            Axis::Case => "case",
            Axis::Contestant => "contestant",
            Axis::Parameter(_, name) => name,
        }
    }

    /// The value that a cell has; `None` of the contestant, which is not the cell's.
    pub fn of_cell(&self, cell: &Cell) -> Option<Scalar> {
        match self {
            Axis::Case => Some(Scalar::Text(cell.case.clone())),
            Axis::Contestant => None,
            Axis::Parameter(at, _) => cell.values.get(*at).cloned(),
        }
    }
}
