//! The type of a store's table for each type of MariaDB and MySQL.

use super::column::SourceColumn;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{ColumnType, TimeUnit};
use atsdb_foreign::time_unit;

/// The type that a column's values are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// An integer as a boolean.
    Bool,
    Int,
    Float,
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// A decimal as a floating point number.
    DecimalAsFloat,
    Timestamp(TimeUnit),
    Date,
    Time,
    /// A time as an interval.
    Interval,
    Text,
    Uuid,
    Bytes,
    /// Bits as a number.
    Bits,
}

/// The form in which a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadBy {
    /// Unchanged.
    Itself,
    /// Cast to a text.
    Cast,
    /// The text of a geometry.
    Shape,
}

/// How a column is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) column_type: ColumnType,
    pub(super) encoding: Encoding,
    pub(super) read_by: ReadBy,
    pub(super) remark: Option<String>,
}

impl Mapping {
    fn new(column_type: ColumnType, encoding: Encoding) -> Self {
        Self { column_type, encoding, read_by: ReadBy::Itself, remark: None }
    }

    fn text(read_by: ReadBy, shown: &str) -> Self {
        let remark = Some(format!("{shown}, is read as text"));
        Self { read_by, remark, ..Self::new(ColumnType::Text, Encoding::Text) }
    }
}

/// A type that follows from the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeByValues {
    /// `TINYINT(1)`, which is also what BOOLEAN means.
    Bool,
    /// `TIME`: a time of day, or a length of time.
    Time,
    /// A decimal with more digits than a decimal here can have, and this scale.
    Decimal { scale: u32 },
}

impl TypeByValues {
    /// The expression whose value decides the type.
    pub(super) fn question(self, name: &str) -> String {
        match self {
            Self::Bool => format!("MAX({name} NOT IN (0, 1))"),
            Self::Time => format!("MAX({name} < TIME'00:00:00' OR {name} >= TIME'24:00:00')"),
            Self::Decimal { .. } => format!("MAX(TRUNCATE(ABS({name}), 0))"),
        }
    }

    /// Returns the type that follows from the answer, which is missing if there are no values.
    pub(super) fn decide(self, answer: Option<&str>) -> Mapping {
        match self {
            Self::Bool if answer == Some("1") => Mapping::new(ColumnType::Int8, Encoding::Int),
            Self::Bool => Mapping::new(ColumnType::Bool, Encoding::Bool),
            Self::Time if answer == Some("1") => Mapping {
                remark: Some("TIME, is read as INTERVAL, because some values are not times of day".to_owned()),
                ..Mapping::new(ColumnType::Interval, Encoding::Interval)
            },
            Self::Time => Mapping::new(ColumnType::Time, Encoding::Time),
            Self::Decimal { scale } => {
                let whole = answer.unwrap_or_default().trim_start_matches('0').split('.').next().unwrap_or_default();
                let digits = u32::try_from(whole.len()).unwrap_or(u32::MAX).saturating_add(scale).max(1);
                decimal(digits, scale).unwrap_or_else(|| Mapping {
                    remark: Some(format!(
                        "DECIMAL, is read as DOUBLE, because its values need DECIMAL({digits}, {scale}), and \
                         {DECIMAL_DIGITS_MAX} digits are the maximum"
                    )),
                    ..Mapping::new(ColumnType::Float64, Encoding::DecimalAsFloat)
                })
            }
        }
    }
}

/// Returns how a column is read, or what decides its type.
pub(super) fn mapping(column: &SourceColumn) -> Result<Mapping, TypeByValues> {
    let is_unsigned = column.shown.contains("unsigned");
    let int = |signed, unsigned| Mapping::new(if is_unsigned { unsigned } else { signed }, Encoding::Int);
    Ok(match column.type_name.as_str() {
        "tinyint" if column.shown == "tinyint(1)" => return Err(TypeByValues::Bool),
        "tinyint" => int(ColumnType::Int8, ColumnType::UInt8),
        "smallint" => int(ColumnType::Int16, ColumnType::UInt16),
        "mediumint" | "int" => int(ColumnType::Int32, ColumnType::UInt32),
        "bigint" => int(ColumnType::Int64, ColumnType::UInt64),
        "year" => Mapping::new(ColumnType::Int16, Encoding::Int),
        "bit" if column.precision == 1 => Mapping::new(ColumnType::Bool, Encoding::Bool),
        "bit" => Mapping::new(ColumnType::UInt64, Encoding::Bits),
        "float" => Mapping::new(ColumnType::Float32, Encoding::Float),
        "double" => Mapping::new(ColumnType::Float64, Encoding::Float),
        "decimal" => decimal(column.precision, column.scale).ok_or(TypeByValues::Decimal { scale: column.scale })?,
        "date" => Mapping::new(ColumnType::Date, Encoding::Date),
        "time" => return Err(TypeByValues::Time),
        "datetime" | "timestamp" => timestamp(column.second_digits),
        "json" => Mapping::new(ColumnType::Json, Encoding::Text),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" if column.is_json => {
            Mapping::new(ColumnType::Json, Encoding::Text)
        }
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" => {
            Mapping::new(ColumnType::Text, Encoding::Text)
        }
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            Mapping::new(ColumnType::Binary, Encoding::Bytes)
        }
        "uuid" => Mapping { read_by: ReadBy::Cast, ..Mapping::new(ColumnType::Uuid, Encoding::Uuid) },
        "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
        | "geometrycollection" | "geomcollection" => Mapping::text(ReadBy::Shape, &column.shown),
        _ => Mapping::text(ReadBy::Cast, &column.shown),
    })
}

fn decimal(digits: u32, scale: u32) -> Option<Mapping> {
    let (precision, scale) = (u8::try_from(digits).ok()?, u8::try_from(scale).ok()?);
    Some(Mapping::new(ColumnType::decimal(precision, scale)?, Encoding::Decimal { precision, scale }))
}

fn timestamp(second_digits: u32) -> Mapping {
    let unit = time_unit(second_digits);
    Mapping::new(ColumnType::Timestamp(unit), Encoding::Timestamp(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_decide_what_the_declared_type_leaves_open() {
        let decided = |undecided: TypeByValues, answer| undecided.decide(answer).column_type;
        assert_eq!(decided(TypeByValues::Bool, Some("0")), ColumnType::Bool);
        assert_eq!(decided(TypeByValues::Bool, None), ColumnType::Bool);
        assert_eq!(decided(TypeByValues::Bool, Some("1")), ColumnType::Int8);
        assert_eq!(decided(TypeByValues::Time, Some("0")), ColumnType::Time);
        assert_eq!(decided(TypeByValues::Time, Some("1")), ColumnType::Interval);
        let decimal = |scale, whole| decided(TypeByValues::Decimal { scale }, Some(whole));
        assert_eq!(decimal(30, "12345678"), ColumnType::Decimal { precision: 38, scale: 30 });
        assert_eq!(decimal(30, "0"), ColumnType::Decimal { precision: 30, scale: 30 });
        assert_eq!(decimal(30, "123456789"), ColumnType::Float64);
        assert_eq!(decided(TypeByValues::Decimal { scale: 2 }, None), ColumnType::Decimal { precision: 2, scale: 2 });
    }
}
