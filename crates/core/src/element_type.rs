//! The type of the elements of an array.

use crate::time::TimeUnit;

/// The types that the elements of an array may have: comparable types that PostgreSQL has too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Booleans.
    Bool,
    /// 16-bit signed integers.
    Int16,
    /// 32-bit signed integers.
    Int32,
    /// 64-bit signed integers.
    Int64,
    /// 32-bit floating point numbers.
    Float32,
    /// 64-bit floating point numbers.
    Float64,
    /// UTF-8 text.
    Text,
    /// Counts of a unit since the Unix epoch, UTC.
    Timestamp(TimeUnit),
    /// Days since the Unix epoch.
    Date,
    /// Exact decimals.
    Decimal {
        /// The number of digits.
        precision: u8,
        /// The number of digits after the point.
        scale: u8,
    },
    /// Times of day.
    Time,
    /// UUIDs.
    Uuid,
}
