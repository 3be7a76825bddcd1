//! The type of the elements of an array.

use crate::column_type::ColumnType;
use crate::time::TimeUnit;

/// The types that the elements of an array may have: those that are compared, and that PostgreSQL knows.
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
        /// How many of the digits are after the point.
        scale: u8,
    },
    /// Times of day.
    Time,
    /// UUIDs.
    Uuid,
}

impl ElementType {
    /// The elements of this type; `None` if there are no arrays of them.
    pub const fn of(column_type: ColumnType) -> Option<Self> {
        Some(match column_type {
            ColumnType::Bool => Self::Bool,
            ColumnType::Int16 => Self::Int16,
            ColumnType::Int32 => Self::Int32,
            ColumnType::Int64 => Self::Int64,
            ColumnType::Float32 => Self::Float32,
            ColumnType::Float64 => Self::Float64,
            ColumnType::Text => Self::Text,
            ColumnType::Timestamp(unit) => Self::Timestamp(unit),
            ColumnType::Date => Self::Date,
            ColumnType::Decimal { precision, scale } => Self::Decimal { precision, scale },
            ColumnType::Time => Self::Time,
            ColumnType::Uuid => Self::Uuid,
            _ => return None,
        })
    }

    /// The type of a column with one such value in each row.
    pub const fn column_type(self) -> ColumnType {
        match self {
            Self::Bool => ColumnType::Bool,
            Self::Int16 => ColumnType::Int16,
            Self::Int32 => ColumnType::Int32,
            Self::Int64 => ColumnType::Int64,
            Self::Float32 => ColumnType::Float32,
            Self::Float64 => ColumnType::Float64,
            Self::Text => ColumnType::Text,
            Self::Timestamp(unit) => ColumnType::Timestamp(unit),
            Self::Date => ColumnType::Date,
            Self::Decimal { precision, scale } => ColumnType::Decimal { precision, scale },
            Self::Time => ColumnType::Time,
            Self::Uuid => ColumnType::Uuid,
        }
    }
}
