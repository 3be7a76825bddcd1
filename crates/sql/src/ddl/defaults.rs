//! `DEFAULT`: literals as values of a column, values as literals, and functions.

use super::sequences::{nextval_sql, sequence_of_default};
use super::type_names::column_type;
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, UInt64Type,
};
use atsdb_codec::logical_type;
use atsdb_core::interval_text::interval_text;
use atsdb_core::time::{format_date, format_time};
use atsdb_core::value::nearest_real;
use atsdb_core::{Column, ColumnType, DefaultFunction, Error, Result, Value, array_text, calendar_text, decimal, hex};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::literal::Literal;
use atsdb_dialect::text::literal_columns::LiteralColumn;
use atsdb_dialect::text::time_text::TimeWord;
use atsdb_dialect::workarounds::array_texts;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value as Token,
};
use std::sync::Arc;

/// Gives a column the default of an expression: a literal, a function, or the numbers of a sequence.
pub(crate) fn set_default(column: &mut Column, expression: &Expr) -> Result<()> {
    drop_default(column);
    column.sequence = sequence_of_default(expression);
    if column.sequence.is_some() {
        return Ok(());
    }
    match function_of_default(column.column_type, expression) {
        Some(function) if function.fits(column.column_type) => column.default_function = Some(function),
        Some(function) if is_assignable(function, column.column_type) => {
            let (call, column_type) = (function.sql(), column.column_type.sql_name());
            return Err(not_supported(format_args!("DEFAULT {call} of a column of type {column_type}"))
                .with_hint("declare the column as TIMESTAMP or DATE, or give the value in the INSERT"));
        }
        Some(function) => {
            let (name, column_type, found) = (&column.name, column.column_type.sql_name(), function.type_name());
            return Err(sql_error(format!(
                "column \"{name}\" is of type {column_type} but default expression is of type {found}"
            ))
            .with_hint("give the column that type, or another default"));
        }
        None => column.default = default_value(column, expression)?,
    }
    Ok(())
}

/// Returns whether PostgreSQL assigns the function's result to a column of another type than that of the result.
fn is_assignable(function: DefaultFunction, to: ColumnType) -> bool {
    let has_time_of_day = !matches!(function, DefaultFunction::CurrentDate | DefaultFunction::GenRandomUuid);
    to == ColumnType::Text || (to == ColumnType::Time && has_time_of_day)
}

/// Takes the default of a column away.
pub(crate) fn drop_default(column: &mut Column) {
    (column.default, column.default_function, column.sequence) = (None, None, None);
}

/// The function of a `DEFAULT now()` for a column of a type; `None` for another default.
fn function_of_default(of: ColumnType, expression: &Expr) -> Option<DefaultFunction> {
    match expression {
        Expr::Nested(inner) => function_of_default(of, inner),
        // A cast to the column's own type changes nothing.
        Expr::Cast { expr, data_type, .. } if column_type(data_type, "").is_ok_and(|to| to == of) => {
            function_of_default(of, expr)
        }
        // Columns are in UTC, as is the session.
        Expr::AtTimeZone { timestamp, time_zone } if is_utc_of_time(of, time_zone) => {
            function_of_default(of, timestamp)
        }
        Expr::Function(Function { name, args, over: None, filter: None, .. }) => {
            let arguments: &[FunctionArg] = match args {
                FunctionArguments::None => &[],
                FunctionArguments::List(list) if list.clauses.is_empty() => list.args.as_slice(),
                FunctionArguments::List(_) | FunctionArguments::Subquery(_) => return None,
            };
            let [part] = name.0.as_slice() else { return None };
            let name = part.as_ident()?.value.to_ascii_lowercase();
            let has_digits = matches!(name.as_str(), "current_timestamp" | "localtimestamp");
            match arguments {
                [] => {}
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(digits))] if has_digits && keeps_digits(of, digits) => {}
                [
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(zone)),
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(time)),
                ] if name == "timezone" && is_utc_of_time(of, zone) => return function_of_default(of, time),
                _ => return None,
            }
            Some(match name.as_str() {
                "now" => DefaultFunction::Now,
                "current_timestamp" => DefaultFunction::CurrentTimestamp,
                "transaction_timestamp" => DefaultFunction::TransactionTimestamp,
                "localtimestamp" => DefaultFunction::Localtimestamp,
                "statement_timestamp" => DefaultFunction::StatementTimestamp,
                "clock_timestamp" => DefaultFunction::ClockTimestamp,
                "current_date" => DefaultFunction::CurrentDate,
                "gen_random_uuid" | "uuid" => DefaultFunction::GenRandomUuid,
                _ => return None,
            })
        }
        _ => None,
    }
}

/// Returns whether an expression is the name of UTC, and the column one of times.
fn is_utc_of_time(of: ColumnType, zone: &Expr) -> bool {
    let is_utc = |text: &str| ["utc", "etc/utc", "gmt", "z"].iter().any(|name| text.eq_ignore_ascii_case(name));
    matches!(of, ColumnType::Timestamp(_))
        && matches!(literal(zone), Some(Literal::Text(text)) if is_utc(text.as_ref()))
}

/// Returns whether a column has no more digits after the seconds than `CURRENT_TIMESTAMP(digits)`: times are rounded to
/// those of the column.
fn keeps_digits(of: ColumnType, digits: &Expr) -> bool {
    let (ColumnType::Timestamp(unit), Some(Literal::Number(digits))) = (of, literal(digits)) else { return false };
    digits.parse().is_ok_and(|digits: usize| digits >= unit.fraction_digits())
}

/// The call of a default function in a query, by its name in DataFusion.
pub(crate) fn call_of(function: DefaultFunction) -> &'static str {
    match function {
        DefaultFunction::Now
        | DefaultFunction::CurrentTimestamp
        | DefaultFunction::TransactionTimestamp
        | DefaultFunction::Localtimestamp => "now()",
        DefaultFunction::StatementTimestamp | DefaultFunction::ClockTimestamp => "statement_timestamp()",
        DefaultFunction::CurrentDate => "current_date()",
        DefaultFunction::GenRandomUuid => "uuid()",
    }
}

/// A column's default as SQL, which [`set_default`] reads back. `None` without a default.
pub(crate) fn default_sql(column: &Column) -> Option<String> {
    match (&column.sequence, column.default_function) {
        (Some(sequence), _) => Some(nextval_sql(sequence)),
        (None, Some(function)) => Some(function.sql().to_owned()),
        (None, None) => column.default.as_ref().map(|value| value_sql(column.column_type, value)),
    }
}

/// The value of a literal `DEFAULT` for a column; `None` is NULL.
fn default_value(column: &Column, expression: &Expr) -> Result<Option<Value>> {
    let literal = literal(expression).ok_or_else(|| {
        not_supported(format_args!("DEFAULT {expression}")).with_hint(
            "a default is a literal, integers such as 60 * 60, now(), CURRENT_TIMESTAMP, CURRENT_DATE, \
             gen_random_uuid() or nextval('s'): give other values in the INSERT",
        )
    })?;
    if literal == Literal::Null {
        return Ok(None);
    }
    if let (Literal::Text(text), ColumnType::Timestamp(_) | ColumnType::Date) = (&literal, column.column_type)
        && TimeWord::read(text).is_some_and(|word| word != TimeWord::Epoch)
    {
        return Err(not_supported(format_args!("DEFAULT '{text}', the time of the declaration,")).with_hint(
            "write DEFAULT now() or DEFAULT CURRENT_DATE for the time of the INSERT, or the time itself in quotes",
        ));
    }
    // Whether a text has the length of the column is tested when a row gets it, as in PostgreSQL.
    let mut read = LiteralColumn::new(&Column { length: None, ..column.clone() });
    read.push(&literal).map_err(|error| sql_error(format!("DEFAULT: {}", error.message())))?;
    value_of(column.column_type, &read.finish()).map(Some)
}

fn literal(expression: &Expr) -> Option<Literal<'static>> {
    match expression {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => literal(inner),
        Expr::TypedString(typed) => token(&typed.value.value),
        Expr::Interval(interval) if interval.leading_field.is_none() => literal(&interval.value),
        Expr::Value(value) => token(&value.value),
        Expr::Array(array) => array_literal(&array.elem).map(|text| Literal::Text(text.into())),
        // MySQL and SQLite accept double quotes for text where a name is not possible.
        Expr::Identifier(text) if text.quote_style == Some('"') => Some(Literal::Text(text.value.clone().into())),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match literal(expr)? {
            Literal::Number(digits) => Some(Literal::Number(format!("-{digits}").into())),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => literal(expr).filter(|of| matches!(of, Literal::Number(_))),
        Expr::BinaryOp { .. } => integer(expression).map(|computed| Literal::Number(computed.value.to_string().into())),
        _ => None,
    }
}

/// An integer of an expression, whose type is INT or BIGINT.
#[derive(Debug, Clone, Copy)]
struct TypedInteger {
    value: i64,
    is_big: bool,
}

impl TypedInteger {
    /// A value of a type; `None` if it does not fit.
    fn of(value: i64, is_big: bool) -> Option<Self> {
        (is_big || is_int(value)).then_some(Self { value, is_big })
    }

    /// A constant, which is an INT if it fits.
    fn constant(value: i64) -> Self {
        Self { value, is_big: !is_int(value) }
    }
}

/// The value of an expression of integers, such as `60 * 60 * 24`. `None` if it does not fit the type of its operands.
fn integer(expression: &Expr) -> Option<TypedInteger> {
    match expression {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => integer(inner),
        Expr::Cast { expr, data_type, .. } => match column_type(data_type, "").ok()? {
            ColumnType::Int64 => TypedInteger::of(integer(expr)?.value, true),
            ColumnType::Int32 => TypedInteger::of(integer(expr)?.value, false),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let operand = integer(expr)?;
            let value = operand.value.checked_neg()?;
            match **expr {
                // The sign belongs to a constant: -2147483648 is an INT.
                Expr::Value(_) => Some(TypedInteger::constant(value)),
                _ => TypedInteger::of(value, operand.is_big),
            }
        }
        Expr::Value(value) => match &value.value {
            Token::Number(digits, _) => digits.parse().ok().map(TypedInteger::constant),
            _ => None,
        },
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (integer(left)?, integer(right)?);
            let value = match op {
                BinaryOperator::Plus => left.value.checked_add(right.value),
                BinaryOperator::Minus => left.value.checked_sub(right.value),
                BinaryOperator::Multiply => left.value.checked_mul(right.value),
                BinaryOperator::Divide => left.value.checked_div(right.value),
                BinaryOperator::Modulo => left.value.checked_rem(right.value),
                _ => None,
            }?;
            TypedInteger::of(value, left.is_big || right.is_big)
        }
        _ => None,
    }
}

fn is_int(value: i64) -> bool {
    i32::try_from(value).is_ok()
}

/// `ARRAY[1, NULL]` as a text.
fn array_literal(elements: &[Expr]) -> Option<String> {
    let element = |element: &Expr| match literal(element)? {
        Literal::Null => Some(None),
        Literal::Bool(value) => Some(Some(value.to_string().into())),
        Literal::Number(text) | Literal::Text(text) => Some(Some(text)),
        Literal::Parameter(_) | Literal::Bytes(_) | Literal::Typed(_) => None,
    };
    let elements = elements.iter().map(element).collect::<Option<Vec<_>>>()?;
    Some(array_text::format(elements))
}

fn token(value: &Token) -> Option<Literal<'static>> {
    Some(match value {
        Token::Null => Literal::Null,
        Token::Boolean(value) => Literal::Bool(*value),
        Token::Number(digits, _) => Literal::Number(digits.to_string().into()),
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::NationalStringLiteral(text) => Literal::Text(text.clone().into()),
        Token::HexStringLiteral(digits) => Literal::Bytes(hex::decode(digits)?),
        _ => return None,
    })
}

/// The first value of an array of a column's type.
fn value_of(column_type: ColumnType, array: &ArrayRef) -> Result<Value> {
    use ColumnType as T;
    let narrow = |array: &ArrayRef, to: &DataType| cast(array, to).map_err(internal);
    Ok(match column_type {
        T::Bool => Value::Bool(array.as_boolean().value(0)),
        T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::Timestamp(_) => {
            Value::Int(narrow(array, &DataType::Int64)?.as_primitive::<Int64Type>().value(0))
        }
        T::Date => {
            let days = narrow(array, &DataType::Int32)?;
            Value::Int(narrow(&days, &DataType::Int64)?.as_primitive::<Int64Type>().value(0))
        }
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => {
            Value::UInt(narrow(array, &DataType::UInt64)?.as_primitive::<UInt64Type>().value(0))
        }
        T::Float32 | T::Float64 => {
            Value::Float(narrow(array, &DataType::Float64)?.as_primitive::<Float64Type>().value(0))
        }
        // The default of a decimal, of a time of day, of an interval or of an array is its text.
        T::Decimal { scale, .. } => {
            Value::Text(decimal::format(array.as_primitive::<Decimal128Type>().value(0), scale))
        }
        T::Time => Value::Text(calendar_text::time(array.as_primitive::<Time64MicrosecondType>().value(0))),
        T::Interval => {
            let IntervalMonthDayNano { months, days, nanoseconds } =
                array.as_primitive::<IntervalMonthDayNanoType>().value(0);
            Value::Text(interval_text(months, days, nanoseconds))
        }
        T::Text | T::Uuid | T::Json => Value::Text(array.as_string::<i32>().value(0).to_owned()),
        T::Array(_) => {
            let texts = array_texts(array).map_err(|error| Error::internal(error.to_string()))?;
            Value::Text(texts.as_string::<i32>().value(0).to_owned())
        }
        T::Binary => Value::Bytes(array.as_binary::<i32>().value(0).to_vec()),
    })
}

/// The type of [`default_array`]: the column's logical type, but text for a mapped column.
pub(crate) fn default_type(column: &Column) -> DataType {
    if column.map.is_some() { DataType::Utf8 } else { logical_type(column) }
}

/// An array with a column's default, or NULL, repeated `row_count` times.
pub(crate) fn default_array(column: &Column, row_count: usize) -> Result<ArrayRef> {
    let wanted = default_type(column);
    if let (Some(Value::Text(text)), ColumnType::Interval | ColumnType::Array(_)) =
        (&column.default, column.column_type)
    {
        let mut read = LiteralColumn::new(column);
        for _ in 0..row_count {
            read.push(&Literal::Text(text.as_str().into()))?;
        }
        return Ok(read.finish());
    }
    let repeated: ArrayRef = match &column.default {
        None => return Ok(arrow::array::new_null_array(&wanted, row_count)),
        Some(Value::Bool(value)) => Arc::new(BooleanArray::from(vec![*value; row_count])),
        Some(Value::Int(value)) => Arc::new(Int64Array::from_value(*value, row_count)),
        Some(Value::UInt(value)) => Arc::new(arrow::array::UInt64Array::from_value(*value, row_count)),
        Some(Value::Float(value)) => Arc::new(Float64Array::from_value(*value, row_count)),
        Some(Value::Text(value)) => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(value, row_count))),
        Some(Value::Bytes(value)) => Arc::new(BinaryArray::from_iter_values(std::iter::repeat_n(value, row_count))),
    };
    let narrowed = match (&wanted, repeated.data_type()) {
        (wanted, found) if wanted == found => return Ok(repeated),
        (DataType::Date32, _) => cast(&repeated, &DataType::Int32).map_err(internal)?,
        _ => repeated,
    };
    cast(&narrowed, &wanted).map_err(internal)
}

/// A value as a literal that [`default_value`] reads back.
pub(crate) fn value_sql(column_type: ColumnType, value: &Value) -> String {
    match (value, column_type) {
        (Value::Int(time), ColumnType::Timestamp(unit)) => format!("'{}'", format_time(*time, unit)),
        (Value::Int(days), ColumnType::Date) => format!("'{}'", format_date(*days)),
        (Value::Int(value), _) => value.to_string(),
        (Value::UInt(value), _) => value.to_string(),
        (Value::Bool(value), _) => value.to_string().to_uppercase(),
        (Value::Float(value), _) if !value.is_finite() => format!("'{value}'"),
        (Value::Float(value), ColumnType::Float32) => format!("{:?}", nearest_real(*value)),
        (Value::Float(value), _) => format!("{value:?}"),
        (Value::Text(text), _) => format!("'{}'", text.replace('\'', "''")),
        (Value::Bytes(bytes), _) => format!("X'{}'", hex::encode(bytes)),
    }
}

fn internal(error: arrow::error::ArrowError) -> Error {
    Error::internal(error.to_string())
}
