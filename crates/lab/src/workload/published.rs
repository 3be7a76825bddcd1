//! Published measurements of an experiment's authors: the ratio of two systems with its source, to compare with the
//! ratio of a run.

use crate::measure::Unit;
use serde::{Deserialize, Serialize};

/// A published ratio of two systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedRatio {
    /// The measure next to which it is shown.
    pub measure: String,
    /// The better system: a contestant's name, or a part of it.
    pub better: String,
    /// The other system: a contestant's name, or a part of it.
    pub worse: String,
    /// The factor by which `better` was better; below 1 it was worse.
    pub ratio: f64,
    /// The figures from which the ratio is computed, and the published names of the systems.
    pub figures: String,
    /// The publication.
    pub source: String,
}

impl PublishedRatio {
    /// The ratio of two figures of one unit.
    pub fn new(measure: &str, unit: Unit, better: (&str, &str, f64), worse: (&str, &str, f64), source: &str) -> Self {
        Self {
            measure: measure.to_owned(),
            better: better.0.to_owned(),
            worse: worse.0.to_owned(),
            ratio: unit.advantage(better.2, worse.2),
            figures: format!("{} {}, {} {}", better.1, better.2, worse.1, worse.2),
            source: source.to_owned(),
        }
    }
}
