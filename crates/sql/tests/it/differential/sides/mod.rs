//! The sides of a comparison: databases whose answers count as right, and atsdb with the same rows in many layouts.

pub(crate) mod atsdb;
pub(crate) mod layout;
pub(crate) mod oracle;
mod parameters;
mod postgres;
mod sqlite;

use super::types::Type;
use std::cmp::Ordering;

/// The reason for which there is no answer.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// A value is wrong: division by zero, overflow, text that is not a number, NULL in a NOT NULL column.
    Value(String),
    /// The statement is refused.
    Refused(String),
    /// An error that must never happen.
    Internal(String),
}

impl Failure {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Value(why) => format!("error: {why}"),
            Self::Refused(why) => format!("refused: {why}"),
            Self::Internal(why) => format!("INTERNAL: {why}"),
        }
    }
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Float(f64),
    /// Every other value, as PostgreSQL writes it.
    Text(String),
}

pub(crate) type Row = Vec<Cell>;

pub(crate) type Answer = Result<Vec<Row>, Failure>;

impl Cell {
    pub(crate) fn of_number(text: &str, ty: Type) -> Self {
        match (ty, text.parse::<f64>()) {
            (Type::Float | Type::Numeric, Ok(value)) => Self::Float(value + 0.0),
            _ => Self::Text(text.to_owned()),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let rank = |cell: &Self| match cell {
            Self::Null => 0,
            Self::Float(_) => 1,
            Self::Text(_) => 2,
        };
        match (self, other) {
            (Self::Float(own), Self::Float(other)) => own.total_cmp(other),
            (Self::Text(own), Self::Text(other)) => own.cmp(other),
            _ => rank(self).cmp(&rank(other)),
        }
    }

    /// Compares values. Floats may differ as far as the order of additions allows.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(own), Self::Float(other)) => {
                let tolerance = 1e-6 * own.abs().max(other.abs()).max(1.0);
                own == other || (own - other).abs() <= tolerance || (own.is_nan() && other.is_nan())
            }
            _ => self == other,
        }
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => format!("'{text}'"),
        }
    }
}

/// Returns whether two answers are the same, in order if asked.
pub(crate) fn is_same(one: &[Row], other: &[Row], is_ordered: bool) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (mut one, mut other): (Vec<&Row>, Vec<&Row>) = (one.iter().collect(), other.iter().collect());
    if !is_ordered {
        one.sort_by(|one, other| compare(one, other));
        other.sort_by(|one, other| compare(one, other));
    }
    one.iter()
        .zip(other)
        .all(|(one, other)| one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_like(other)))
}

/// Compares rows, first by the cells that have no rounding errors.
fn compare(one: &Row, other: &Row) -> Ordering {
    let exact = |row: &Row| row.iter().filter(|cell| !matches!(cell, Cell::Float(_))).cloned().collect::<Row>();
    let by_cells = |one: &Row, other: &Row| {
        let cells = one.iter().zip(other).map(|(one, other)| one.compare(other));
        cells.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
    };
    by_cells(&exact(one), &exact(other)).then_with(|| by_cells(one, other))
}
