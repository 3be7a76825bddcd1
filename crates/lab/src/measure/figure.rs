//! Measures, their units, and figures.

use crate::data::answer::AnswerHash;
use crate::measure::latency::Latencies;
use serde::{Deserialize, Serialize};

/// The unit of a measure. It determines whether higher or lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Rows a second; more is better.
    RowsPerSecond,
    /// Statements a second; more is better.
    StatementsPerSecond,
    /// Milliseconds; less is better.
    Milliseconds,
    /// Bytes a row; less is better.
    BytesPerRow,
    /// Bytes; less is better.
    Bytes,
    /// Queries or look-ups a second; more is better.
    PerSecond,
}

impl Unit {
    /// Returns whether a larger figure is the better one.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::RowsPerSecond | Self::StatementsPerSecond | Self::PerSecond)
    }

    /// The factor by which `figure` is better than `other`. Below 1 it is worse.
    pub fn advantage(self, figure: f64, other: f64) -> f64 {
        if self.more_is_better() { figure / other } else { other / figure }
    }

    /// A figure for people: `3.61 M rows/s`, `12.3 ms`, `16.10 B/row`, `42.5 MiB`.
    pub fn format(self, figure: f64) -> String {
        match self {
            Self::RowsPerSecond => format!("{} rows/s", scaled(figure)),
            Self::StatementsPerSecond => format!("{} stmt/s", scaled(figure)),
            Self::PerSecond => format!("{} /s", scaled(figure)),
            Self::Milliseconds if figure < 10.0 => format!("{figure:.3} ms"),
            Self::Milliseconds => format!("{figure:.1} ms"),
            Self::BytesPerRow => format!("{figure:.3} B/row"),
            Self::Bytes => format!("{:.1} MiB", figure / f64::from(1 << 20)),
        }
    }
}

fn scaled(figure: f64) -> String {
    match figure {
        figure if figure >= 1e6 => format!("{:.2} M", figure / 1e6),
        figure if figure >= 1e3 => format!("{:.1} k", figure / 1e3),
        figure => format!("{figure:.0}"),
    }
}

/// One thing that a workload measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// Its name in results.
    pub name: &'static str,
    /// Its title, for people.
    pub title: &'static str,
    /// The unit of its figures.
    pub unit: Unit,
}

/// One contestant's figure for a measure in one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The value in the measure's unit. Of several runs, the median of the warm ones.
    pub value: f64,
    /// The first run, when caches were cold, where several were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// The answer, if it is a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerHash>,
    /// The peak memory of the process meanwhile, in bytes, if the system reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_peak_bytes: Option<u64>,
    /// The durations of many operations, if those were measured; `value` is then the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<Latencies>,
    /// The figure at several sizes of the table, as it grew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// The processor time of the process meanwhile, in seconds, if the system reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// The peak memory of the server, or of the program behind a pipe, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory_peak_bytes: Option<u64>,
    /// The processor time of that server or program, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_seconds: Option<f64>,
}

/// A figure at one size of a table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Rows in the table.
    pub rows: u64,
    /// The value in the measure's unit, since the point before.
    pub value: f64,
}

impl Figure {
    /// A figure that is only a number.
    pub fn of(value: f64) -> Self {
        Self { value, ..Self::default() }
    }
}

/// The median of some figures, and their range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median; of an even number, the mean of the middle two.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of the figures, or `None` if there are none.
    pub fn of(figures: &[f64]) -> Option<Self> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        Some(Self { median, min, max })
    }

    /// Half the range, as a share of the median: 0.05 is plus or minus 5 %.
    pub fn relative(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.median.abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]).map(|spread| spread.median), Some(2.0));
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn an_advantage_is_above_one_whichever_way_is_better() {
        assert_eq!(Unit::RowsPerSecond.advantage(10.0, 2.0), 5.0);
        assert_eq!(Unit::Milliseconds.advantage(2.0, 10.0), 5.0);
    }
}
