//! Decimals, where DataFusion computes with them otherwise than PostgreSQL: quotients have at least 16 digits after the
//! point, products that would have too many digits are rounded instead of refused, and a float beside a decimal makes
//! both floats wherever the two are compared or become one value.
//!
//! DataFusion 55 gives a quotient four digits more than its dividend has, and compares floats as `DECIMAL(30, 15)`. No
//! upstream issue known.

pub(super) mod arithmetic;
pub(super) mod floats;
mod operation;
