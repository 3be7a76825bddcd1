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
    /// The form of the values; for arrays, that of their elements.
    pub(super) encoding: Encoding,
    pub(super) is_array: bool,
    /// Whether the query casts the column to text, or to arrays of it, on the server.
    as_text: bool,
    pub(super) remark: Option<String>,
}

impl Mapping {
    fn new(column_type: ColumnType, encoding: Encoding) -> Self {
        Self { column_type, encoding, is_array: false, as_text: false, remark: None }
    }

    fn text() -> Self {
        Self { as_text: true, ..Self::new(ColumnType::Text, Encoding::Text) }
    }

    /// The mapping of a column with such values, or with arrays of them; `None` if there are no such arrays here.
    pub(super) fn of_column(self, column: &SourceColumn) -> Option<Self> {
        if !column.is_array {
            return Some(self);
        }
        Some(Self { column_type: ColumnType::array(self.column_type)?, is_array: true, ..self })
    }

    /// The conversion behind the column's name in the query.
    pub(super) fn cast(&self) -> &'static str {
        match (self.as_text, self.is_array) {
            (false, _) => "",
            (true, false) => "::text",
            (true, true) => "::text[]",
        }
    }
}

/// How the values of a type are read.
enum KnownType {
    Mapped(Mapping),
    /// A `numeric` whose type follows from its values.
    ByValues,
    /// The type has no counterpart here: its values are read as text.
    Foreign,
}

/// How a column is read; `None` for a `numeric`, or arrays of them, whose type follows from the values.
pub(super) fn mapping(column: &SourceColumn) -> Option<Mapping> {
    let mapped = match known_type(column) {
        KnownType::ByValues => return None,
        KnownType::Mapped(mapping) => mapping.of_column(column),
        KnownType::Foreign => None,
    };
    Some(
        mapped.unwrap_or_else(|| Mapping {
            remark: Some(format!("{}, is read as text", column.shown)),
            ..Mapping::text()
        }),
    )
}

fn known_type(column: &SourceColumn) -> KnownType {
    let name = column.type_name.as_str();
    if column.is_enum || name == "citext" {
        return KnownType::Mapped(Mapping::text());
    }
    KnownType::Mapped(match name {
        _ if !column.is_builtin => return KnownType::Foreign,
        "bool" => Mapping::new(ColumnType::Bool, Encoding::Bool),
        "int2" => Mapping::new(ColumnType::Int16, Encoding::Int),
        "int4" => Mapping::new(ColumnType::Int32, Encoding::Int),
        "int8" => Mapping::new(ColumnType::Int64, Encoding::Int),
        "oid" => Mapping::new(ColumnType::UInt32, Encoding::Oid),
        "float4" => Mapping::new(ColumnType::Float32, Encoding::Float4),
        "float8" => Mapping::new(ColumnType::Float64, Encoding::Float8),
        "numeric" => return numeric(column.modifier).map_or(KnownType::ByValues, KnownType::Mapped),
        "timestamp" | "timestamptz" => timestamp(column.modifier),
        "date" => Mapping::new(ColumnType::Date, Encoding::Date),
        "time" => Mapping::new(ColumnType::Time, Encoding::Time),
        "interval" => Mapping::new(ColumnType::Interval, Encoding::Interval),
        "uuid" => Mapping::new(ColumnType::Uuid, Encoding::Uuid),
        "json" => Mapping::new(ColumnType::Json, Encoding::Text),
        "jsonb" => Mapping::new(ColumnType::Json, Encoding::Jsonb),
        "bytea" => Mapping::new(ColumnType::Binary, Encoding::Bytes),
        // `bpchar` loses its padding.
        "text" | "varchar" | "bpchar" | "name" | "char" => Mapping::text(),
        _ => return KnownType::Foreign,
    })
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
        let type_name = type_name.to_owned();
        SourceColumn { name, is_array: false, type_name, is_builtin: true, is_enum: false, modifier, shown }
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

    #[test]
    fn arrays_of_types_without_arrays_are_text() {
        let of = |type_name: &str| {
            let array = SourceColumn { is_array: true, ..column(type_name, -1) };
            mapping(&array).map(|mapping| (mapping.column_type.sql_name().into_owned(), mapping.cast()))
        };
        assert_eq!(of("int4"), Some(("INT[]".to_owned(), "")));
        assert_eq!(of("varchar"), Some(("TEXT[]".to_owned(), "::text[]")));
        assert_eq!(of("timestamptz"), Some(("TIMESTAMP[]".to_owned(), "")));
        assert_eq!(of("jsonb"), Some(("TEXT".to_owned(), "::text")));
        assert_eq!(of("point"), Some(("TEXT".to_owned(), "::text")));
        assert_eq!(of("numeric"), None);
    }
}
