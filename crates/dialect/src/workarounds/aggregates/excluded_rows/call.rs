//! A call of an aggregate or window function over a frame from which rows are excluded (`EXCLUDE`).

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{AggregateUDF, Signature, Volatility};
use std::sync::Arc;

/// The rows that a frame leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Exclusion {
    /// The row itself.
    CurrentRow,
    /// The row and its peers.
    Group,
    /// The row's peers without the row.
    Ties,
}

/// The function without the exclusion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Inner {
    Aggregate(Arc<AggregateUDF>),
    FirstValue,
    LastValue,
    NthValue,
}

impl Inner {
    /// The function of this name, if its value is that of one row of the frame.
    pub(super) fn of_one_row(name: &str) -> Option<Self> {
        Some(match name {
            "first_value" => Self::FirstValue,
            "last_value" => Self::LastValue,
            "nth_value" => Self::NthValue,
            _ => return None,
        })
    }
}

/// A function with an exclusion, or over all rows of the frame. Behind the function's own arguments, it has the
/// condition of `FILTER` if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Excluding {
    pub(super) inner: Inner,
    pub(super) exclusion: Option<Exclusion>,
    /// The number of the function's own arguments.
    pub(super) argument_count: usize,
    pub(super) is_distinct: bool,
    pub(super) ignores_nulls: bool,
    pub(super) signature: Signature,
}

impl Excluding {
    pub(super) fn new(
        inner: Inner,
        exclusion: Option<Exclusion>,
        argument_count: usize,
        is_distinct: bool,
        ignores_nulls: bool,
    ) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { inner, exclusion, argument_count, is_distinct, ignores_nulls, signature }
    }

    /// The field of the result for these fields of all arguments.
    pub(super) fn result(&self, fields: &[FieldRef], name: &str) -> Result<FieldRef> {
        let own = fields.get(..self.argument_count).unwrap_or(fields);
        let field = match (&self.inner, own.first()) {
            (Inner::Aggregate(aggregate), _) => aggregate.return_field(own)?,
            (_, Some(value)) => Arc::new(value.as_ref().clone().with_nullable(true)),
            (_, None) => return internal_err!("a value of no column"),
        };
        Ok(Arc::new(Field::clone(&field).with_name(name)))
    }
}
