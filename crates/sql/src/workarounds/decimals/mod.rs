//! Decimals, where DataFusion computes differently from PostgreSQL. Quotients have at least 16 digits after the point;
//! products with too many digits are rounded instead of refused; a decimal that is compared or combined with a float
//! becomes a float, and a number in the text of the statement that is combined with a decimal becomes a decimal.
//!
//! DataFusion 55 gives a quotient four digits more than its dividend has, and compares floats as `DECIMAL(30, 15)`. No
//! upstream issue known.

pub(super) mod arithmetic;
pub(super) mod floats;
mod literals;
mod operation;
