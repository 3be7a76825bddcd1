//! The result of a query.

use crate::histogram::Histogram;
use crate::labels::Labels;
use std::fmt;
use std::sync::Arc;

/// The reason why a query has no result.
#[derive(Debug)]
pub enum EvaluateError {
    /// The expression cannot be evaluated for this data: a duplicate in a match, a parameter out of range.
    Execution(String),
    /// The query would load more samples than allowed.
    TooManySamples,
    /// The caller interrupted the query.
    Stopped,
    /// The source failed.
    Source(atsdb_core::Error),
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Execution(message) => f.write_str(message),
            Self::TooManySamples => {
                f.write_str("query processing would load too many samples into memory in query execution")
            }
            Self::Stopped => f.write_str("query was canceled in expression evaluation"),
            Self::Source(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for EvaluateError {}

impl From<atsdb_core::Error> for EvaluateError {
    fn from(error: atsdb_core::Error) -> Self {
        Self::Source(error)
    }
}

/// A result with the remarks on it.
#[derive(Debug)]
pub struct Outcome {
    /// The result.
    pub value: ResultValue,
    /// Probable errors in the query or the data.
    pub warnings: Vec<String>,
    /// Possible errors.
    pub infos: Vec<String>,
}

/// The values of a result. Times are milliseconds since 1970.
#[derive(Debug)]
pub enum ResultValue {
    /// One number.
    Scalar(i64, f64),
    /// A text.
    Text(i64, String),
    /// One value for each series.
    Vector(Vec<(Labels, i64, Sample)>),
    /// Values over time for each series.
    Matrix(Vec<ResultSeries>),
}

/// The values of one series over time.
#[derive(Debug, Clone)]
pub struct ResultSeries {
    /// Its labels.
    pub labels: Labels,
    /// Times in milliseconds and numbers.
    pub points: Vec<(i64, f64)>,
    /// Times in milliseconds and histograms, at other times than the numbers.
    pub histograms: Vec<(i64, Arc<Histogram>)>,
}

/// The value of a series at one time.
#[derive(Debug, Clone)]
pub enum Sample {
    /// A number.
    Number(f64),
    /// A native histogram.
    Histogram(Arc<Histogram>),
}
