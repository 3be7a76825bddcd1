//! Type modifiers: what `(10, 2)` in `numeric(10, 2)` and `(3)` in `timestamp(3)` are in the catalogue and on the wire.

use atsdb::{ColumnType, ElementType, TextLength, TimeUnit};
use datafusion::sql::sqlparser::ast::{DataType, ExactNumberInfo, Expr};

/// The modifier of a type without one.
pub(in crate::pg) const NO_MODIFIER: i32 = -1;

/// PostgreSQL's modifiers of texts and decimals begin after the 4 bytes of a length.
const LENGTH_BYTES: i32 = 4;

/// The digits of a second's fraction that every time has unless its type says otherwise.
const TIME_DIGITS: i32 = 6;

/// The modifier of a column's type.
pub(in crate::pg) fn of_column(column_type: ColumnType) -> i32 {
    match column_type {
        ColumnType::Decimal { precision, scale } | ColumnType::Array(ElementType::Decimal { precision, scale }) => {
            of_decimal(precision.into(), scale.into())
        }
        ColumnType::Timestamp(unit) | ColumnType::Array(ElementType::Timestamp(unit)) => match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            _ => NO_MODIFIER,
        },
        _ => NO_MODIFIER,
    }
}

/// The modifier of the type of a column of texts with a length.
pub(in crate::pg) fn of_text(length: TextLength) -> i32 {
    i32::try_from(length.characters).map_or(NO_MODIFIER, |characters| characters + LENGTH_BYTES)
}

/// The modifier of the type of an expression, which a cast may give it.
pub(in crate::pg) fn of_expression(expr: &Expr) -> i32 {
    match expr {
        Expr::Nested(inner) => of_expression(inner),
        Expr::Cast { data_type, .. } => of_type(data_type),
        Expr::TypedString(literal) => of_type(&literal.data_type),
        _ => NO_MODIFIER,
    }
}

fn of_type(data_type: &DataType) -> i32 {
    let digits = |digits: Option<u64>| {
        let digits = digits.and_then(|digits| i32::try_from(digits).ok());
        digits.filter(|digits| *digits <= TIME_DIGITS).unwrap_or(NO_MODIFIER)
    };
    match data_type {
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
            let (precision, scale) = match info {
                ExactNumberInfo::None => return NO_MODIFIER,
                ExactNumberInfo::Precision(precision) => (*precision, 0),
                ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
            };
            match (i32::try_from(precision), i32::try_from(scale)) {
                (Ok(precision @ 1..=1_000), Ok(scale @ 0..=1_000)) => of_decimal(precision, scale),
                _ => NO_MODIFIER,
            }
        }
        DataType::Timestamp(precision, _) => digits(*precision),
        DataType::Time(precision, _) => digits(*precision),
        _ => NO_MODIFIER,
    }
}

fn of_decimal(precision: i32, scale: i32) -> i32 {
    (precision << 16 | scale) + LENGTH_BYTES
}
