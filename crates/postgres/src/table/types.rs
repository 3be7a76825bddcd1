//! The type of a store's table for each of PostgreSQL's types.

use super::catalogue::SourceColumn;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{ColumnType, TimeUnit};
use atsdb_foreign::time_unit;

/// The binary form of a column's values, and the type that they are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Bool,
    Int,
    Oid,
    Float4,
    Float8,
    /// A decimal with this scale.
    Numeric {
        scale: u8,
    },
    /// A decimal as a floating point number.
    NumericAsFloat,
    Timestamp(TimeUnit),
    Date,
    Time,
    Interval,
    Text,
    Jsonb,
    Uuid,
    Bytes,
}

/// How a column is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) column_type: ColumnType,
    pub(super) encoding: Encoding,
    /// Whether the query casts the column to text on the server.
    pub(super) as_text: bool,
    pub(super) remark: Option<String>,
}

impl Mapping {
    fn new(column_type: ColumnType, encoding: Encoding) -> Self {
        Self { column_type, encoding, as_text: false, remark: None }
    }

    fn text() -> Self {
        Self { as_text: true, ..Self::new(ColumnType::Text, Encoding::Text) }
    }
}

/// How a column is read; `None` for a `numeric` whose type follows from its values.
pub(super) fn mapping(column: &SourceColumn) -> Option<Mapping> {
    let name = column.type_name.as_str();
    if column.is_enum || name == "citext" {
        return Some(Mapping::text());
    }
    let known = match name {
        _ if !column.is_builtin => None,
        "bool" => Some(Mapping::new(ColumnType::Bool, Encoding::Bool)),
        "int2" => Some(Mapping::new(ColumnType::Int16, Encoding::Int)),
        "int4" => Some(Mapping::new(ColumnType::Int32, Encoding::Int)),
        "int8" => Some(Mapping::new(ColumnType::Int64, Encoding::Int)),
        "oid" => Some(Mapping::new(ColumnType::UInt32, Encoding::Oid)),
        "float4" => Some(Mapping::new(ColumnType::Float32, Encoding::Float4)),
        "float8" => Some(Mapping::new(ColumnType::Float64, Encoding::Float8)),
        "numeric" => return numeric(column.modifier),
        "timestamp" | "timestamptz" => Some(timestamp(column.modifier)),
        "date" => Some(Mapping::new(ColumnType::Date, Encoding::Date)),
        "time" => Some(Mapping::new(ColumnType::Time, Encoding::Time)),
        "interval" => Some(Mapping::new(ColumnType::Interval, Encoding::Interval)),
        "uuid" => Some(Mapping::new(ColumnType::Uuid, Encoding::Uuid)),
        "json" => Some(Mapping::new(ColumnType::Json, Encoding::Text)),
        "jsonb" => Some(Mapping::new(ColumnType::Json, Encoding::Jsonb)),
        "bytea" => Some(Mapping::new(ColumnType::Binary, Encoding::Bytes)),
        // `bpchar` loses its padding.
        "text" | "varchar" | "bpchar" | "name" | "char" => Some(Mapping::text()),
        _ => None,
    };
    Some(
        known.unwrap_or_else(|| Mapping {
            remark: Some(format!("{}, is read as text", column.shown)),
            ..Mapping::text()
        }),
    )
}

/// The mapping of a `numeric` with precision and scale. The scale may be negative, or larger than the precision.
fn numeric(modifier: i32) -> Option<Mapping> {
    let numbers = modifier.checked_sub(4).filter(|numbers| *numbers >= 0)?;
    let (precision, scale) = (numbers >> 16 & 0xffff, ((numbers & 0x7ff) ^ 0x400) - 0x400);
    let digits = precision.max(scale) - scale.min(0);
    decimal(digits, scale.max(0))
}

fn decimal(digits: i32, scale: i32) -> Option<Mapping> {
    let (digits, scale) = (u8::try_from(digits).ok()?, u8::try_from(scale).ok()?);
    Some(Mapping::new(ColumnType::decimal(digits, scale)?, Encoding::Numeric { scale }))
}

/// The mapping of a `numeric` without a precision, or with more digits than a decimal here can have: it follows from
/// the largest scale and the largest whole part.
pub(super) fn numeric_from_values(scale: Option<&str>, whole: Option<&str>) -> Mapping {
    let as_double = |why: &str| Mapping {
        remark: Some(format!("numeric, is read as DOUBLE, because {why}")),
        ..Mapping::new(ColumnType::Float64, Encoding::NumericAsFloat)
    };
    let Some(whole) = whole else { return as_double("it has no values that show its digits") };
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return as_double("some values are NaN or infinite");
    }
    let scale = scale.and_then(|scale| scale.parse::<i32>().ok()).unwrap_or(0);
    let whole_digits = i32::try_from(whole.trim_start_matches('0').len()).unwrap_or(i32::MAX);
    let digits = whole_digits.saturating_add(scale).max(1);
    decimal(digits, scale).unwrap_or_else(|| {
        as_double(&format!(
            "its values need DECIMAL({digits}, {scale}), and {DECIMAL_DIGITS_MAX} digits are the maximum"
        ))
    })
}

fn timestamp(modifier: i32) -> Mapping {
    // Without a precision there are six digits.
    let unit = time_unit(u32::try_from(modifier).unwrap_or(6));
    Mapping::new(ColumnType::Timestamp(unit), Encoding::Timestamp(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(type_name: &str, modifier: i32) -> SourceColumn {
        let (name, shown) = ("c".to_owned(), type_name.to_owned());
        SourceColumn { name, type_name: type_name.to_owned(), is_builtin: true, is_enum: false, modifier, shown }
    }

    fn numeric_type(precision: i32, scale: i32) -> Option<ColumnType> {
        mapping(&column("numeric", (precision << 16 | scale & 0x7ff) + 4)).map(|mapping| mapping.column_type)
    }

    #[test]
    fn decimals_have_the_digits_that_they_are_declared_with() {
        for (precision, scale, wanted) in [
            (1, 0, Some((1, 0))),
            (38, 38, Some((38, 38))),
            (10, 2, Some((10, 2))),
            // 12300, and 0.00123.
            (3, -2, Some((5, 0))),
            (3, 5, Some((5, 5))),
            (39, 0, None),
            (37, -2, None),
            (1000, 1000, None),
        ] {
            let wanted = wanted.map(|(precision, scale)| ColumnType::Decimal { precision, scale });
            assert_eq!(numeric_type(precision, scale), wanted, "numeric({precision}, {scale})");
        }
        assert_eq!(mapping(&column("numeric", -1)), None);
    }

    #[test]
    fn values_decide_a_numeric_without_precision() {
        let decided = |scale: &str, whole: &str| {
            let mapping = numeric_from_values(Some(scale), Some(whole));
            (mapping.column_type, mapping.remark.is_some())
        };
        let decimal = |precision, scale| (ColumnType::Decimal { precision, scale }, false);
        assert_eq!(decided("2", "123"), decimal(5, 2));
        assert_eq!(decided("0", "0"), decimal(1, 0));
        assert_eq!(decided("4", "0"), decimal(4, 4));
        assert_eq!(decided("28", "9999999999"), decimal(38, 28));
        assert_eq!(decided("29", "9999999999"), (ColumnType::Float64, true));
        assert_eq!(decided("2", "NaN"), (ColumnType::Float64, true));
        assert_eq!(decided("0", "Infinity"), (ColumnType::Float64, true));
        assert_eq!(numeric_from_values(None, None).column_type, ColumnType::Float64);
    }
}
