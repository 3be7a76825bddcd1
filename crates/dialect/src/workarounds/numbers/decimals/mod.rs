//! Decimals, where DataFusion computes differently from PostgreSQL. Numbers with a point are decimals; a decimal that
//! is compared or combined with a float becomes a float; quotients have at least 16 digits after the point; products
//! with too many digits are rounded instead of refused. A `REAL` beside an integer becomes a `DOUBLE`.
//!
//! DataFusion 55.2 reads numbers as decimals only if an option says so, converts floats beside decimals to
//! `DECIMAL(30, 15)`, and gives a quotient four digits more than its dividend has. Waits for
//! [#14272](https://github.com/apache/datafusion/issues/14272) (floats); for the others no upstream issue is known.

pub(crate) mod arithmetic;
mod comparison;
pub(crate) mod floats;
pub(crate) mod literals;
mod operation;
mod quotient_scale;
mod reals;
mod rows;
pub(crate) mod rule;
mod whole;
