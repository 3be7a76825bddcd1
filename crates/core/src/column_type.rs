//! The type of a column, and the index width of a mapped column.

use crate::element_type::ElementType;
use crate::error::Result;
use crate::name::parse_name;
use crate::time::TimeUnit;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// The maximum number of digits of a decimal.
pub const DECIMAL_DIGITS_MAX: u8 = 38;
/// The maximum number of digits of a decimal that is stored as a 64-bit integer.
const DECIMAL_DIGITS_IN_INT64: u8 = 18;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ColumnType {
    /// Booleans.
    Bool,
    /// 8-bit signed integers.
    Int8,
    /// 16-bit signed integers.
    Int16,
    /// 32-bit signed integers.
    Int32,
    /// 64-bit signed integers.
    Int64,
    /// 8-bit unsigned integers.
    UInt8,
    /// 16-bit unsigned integers.
    UInt16,
    /// 32-bit unsigned integers.
    UInt32,
    /// 64-bit unsigned integers.
    UInt64,
    /// 32-bit floating point numbers (IEEE 754), each bit pattern preserved.
    Float32,
    /// 64-bit floating point numbers (IEEE 754), each bit pattern preserved.
    Float64,
    /// UTF-8 text, which may contain NUL bytes.
    Text,
    /// Bytes.
    Binary,
    /// Counts of a unit since the Unix epoch, UTC.
    Timestamp(TimeUnit),
    /// Days since the Unix epoch, 32 bits.
    Date,
    /// Exact decimals. [`decimal`](Self::decimal) checks the numbers.
    Decimal {
        /// The number of digits, from 1 to [`DECIMAL_DIGITS_MAX`].
        precision: u8,
        /// The number of digits after the point.
        scale: u8,
    },
    /// Times of day, in microseconds since midnight.
    Time,
    /// UUIDs, as text in lower case: `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11`.
    Uuid,
    /// JSON, as it was written.
    Json,
    /// Intervals: months, days and nanoseconds.
    Interval,
    /// Arrays of one dimension, of any length. Elements may be NULL.
    Array(ElementType),
}

impl ColumnType {
    /// All types except decimals and arrays.
    pub const PLAIN: [Self; 18] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::UInt8,
        Self::UInt16,
        Self::UInt32,
        Self::UInt64,
        Self::Float32,
        Self::Float64,
        Self::Text,
        Self::Binary,
        Self::Timestamp(TimeUnit::Second),
        Self::Timestamp(TimeUnit::Millisecond),
        Self::Timestamp(TimeUnit::Microsecond),
        Self::Timestamp(TimeUnit::Nanosecond),
        Self::Date,
    ];

    /// The decimal type with this precision and scale; `None` if there is no such type.
    pub const fn decimal(precision: u8, scale: u8) -> Option<Self> {
        match precision {
            1..=DECIMAL_DIGITS_MAX if scale <= precision => Some(Self::Decimal { precision, scale }),
            _ => None,
        }
    }

    /// The array type with these elements; `None` if there is no such type.
    pub const fn array(elements: Self) -> Option<Self> {
        match ElementType::of(elements) {
            Some(element) => Some(Self::Array(element)),
            None => None,
        }
    }

    /// The type of the values in pages. The elements of an array have the stored type of their own type.
    pub const fn stored(self) -> Self {
        match self {
            Self::Decimal { precision: 0..=DECIMAL_DIGITS_IN_INT64, .. } | Self::Time => Self::Int64,
            Self::Decimal { .. } | Self::Interval => Self::Binary,
            Self::Uuid | Self::Json => Self::Text,
            plain => plain,
        }
    }

    /// The type with a [`name`](Self::name).
    pub fn of_name(name: &str) -> Option<Self> {
        if let Some(element) = name.strip_suffix("[]") {
            return Self::array(Self::of_name(element)?);
        }
        if let Some(numbers) = name.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')) {
            let (precision, scale) = numbers.split_once(',')?;
            return Self::decimal(precision.parse().ok()?, scale.parse().ok()?);
        }
        let others = [Self::Time, Self::Uuid, Self::Json, Self::Interval];
        Self::PLAIN.into_iter().chain(others).find(|known| known.name() == name)
    }

    /// Returns whether the values are numbers.
    pub const fn is_number(self) -> bool {
        let is_signed = matches!(self, Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64);
        let is_unsigned = matches!(self, Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64);
        is_signed || is_unsigned || matches!(self, Self::Float32 | Self::Float64 | Self::Decimal { .. })
    }

    /// Returns whether keys and indexes may have columns of this type.
    pub const fn can_be_key(self) -> bool {
        !matches!(self, Self::Json | Self::Interval | Self::Array(_))
    }

    /// The name in a stored definition and in `schema --format json`.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Timestamp(TimeUnit::Second) => "timestamp_s",
            Self::Timestamp(TimeUnit::Millisecond) => "timestamp_ms",
            Self::Timestamp(TimeUnit::Microsecond) => "timestamp_us",
            Self::Timestamp(TimeUnit::Nanosecond) => "timestamp_ns",
            Self::Date => "date",
            Self::Decimal { precision, scale } => return Cow::Owned(format!("decimal({precision},{scale})")),
            Self::Time => "time",
            Self::Uuid => "uuid",
            Self::Json => "json",
            Self::Interval => "interval",
            Self::Array(element) => return Cow::Owned(format!("{}[]", element.column_type().name())),
        })
    }

    /// The SQL spelling, which `CREATE TABLE` parses as the same type.
    pub fn sql_name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Bool => "BOOLEAN",
            Self::Int8 => "TINYINT",
            Self::Int16 => "SMALLINT",
            Self::Int32 => "INT",
            Self::Int64 => "BIGINT",
            Self::UInt8 => "TINYINT UNSIGNED",
            Self::UInt16 => "SMALLINT UNSIGNED",
            Self::UInt32 => "INT UNSIGNED",
            Self::UInt64 => "BIGINT UNSIGNED",
            Self::Float32 => "REAL",
            Self::Float64 => "DOUBLE",
            Self::Text => "TEXT",
            Self::Binary => "BLOB",
            Self::Timestamp(TimeUnit::Second) => "TIMESTAMP(0)",
            Self::Timestamp(TimeUnit::Millisecond) => "TIMESTAMP(3)",
            Self::Timestamp(TimeUnit::Microsecond) => "TIMESTAMP",
            Self::Timestamp(TimeUnit::Nanosecond) => "TIMESTAMP(9)",
            Self::Date => "DATE",
            Self::Decimal { precision, scale } => return Cow::Owned(format!("DECIMAL({precision}, {scale})")),
            Self::Time => "TIME",
            Self::Uuid => "UUID",
            Self::Json => "JSON",
            Self::Interval => "INTERVAL",
            Self::Array(element) => return Cow::Owned(format!("{}[]", element.column_type().sql_name())),
        })
    }

    /// Returns whether a time column may have this type: timestamps, dates, and integers of 32 bits and more.
    pub const fn can_be_time(self) -> bool {
        matches!(self, Self::Timestamp(_) | Self::Date | Self::Int32 | Self::Int64 | Self::UInt32 | Self::UInt64)
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl From<ColumnType> for String {
    fn from(column_type: ColumnType) -> Self {
        column_type.name().into_owned()
    }
}

impl TryFrom<String> for ColumnType {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::of_name(&name).ok_or_else(|| format!("unknown column type {name}"))
    }
}

/// The index width of a mapped column, which limits the number of strings in its dictionary.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MapWidth {
    /// 8 bits: 256 strings.
    U8,
    /// 16 bits: 65,536 strings.
    U16,
    /// 32 bits: 4,294,967,296 strings.
    U32,
}

impl MapWidth {
    /// All widths, narrowest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The maximum number of strings in the dictionary.
    pub const fn capacity(self) -> u64 {
        match self {
            Self::U8 => 1 << 8,
            Self::U16 => 1 << 16,
            Self::U32 => 1 << 32,
        }
    }

    /// `u8`, `u16` or `u32`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a [`name`](Self::name) in either case. Everything else is a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        parse_name("map width", text)
    }
}

impl fmt::Display for MapWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_their_own() {
        let decimals = [(1, 0), (18, 18), (19, 3), (38, 38)].map(|(digits, scale)| ColumnType::decimal(digits, scale));
        let others = [ColumnType::Time, ColumnType::Uuid, ColumnType::Json, ColumnType::Interval];
        for column_type in ColumnType::PLAIN.into_iter().chain(others).chain(decimals.into_iter().flatten()) {
            assert_eq!(ColumnType::try_from(column_type.name().into_owned()), Ok(column_type));
            assert!(ColumnType::PLAIN.contains(&column_type.stored()));
            if let Some(array) = ColumnType::array(column_type) {
                assert_eq!(ColumnType::try_from(array.name().into_owned()), Ok(array));
                assert_eq!(array.name(), format!("{}[]", column_type.name()));
                assert_eq!(ColumnType::array(array), None);
            }
        }
        for wrong in ["decimal(0,0)", "decimal(39,0)", "decimal(3,4)", "decimal(3)", "decimal", "Time", "int32[][]"] {
            assert_eq!(ColumnType::of_name(wrong), None, "{wrong}");
        }
    }
}
