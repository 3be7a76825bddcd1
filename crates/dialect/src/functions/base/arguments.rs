//! Arguments of functions: named arguments, constants, and numbers and times of any type.

use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::text::tree_walk::visit_expressions_mut;
pub use atsdb_codec::is_text;
use atsdb_codec::time_unit_of;
use atsdb_core::name::nearest_name;
use atsdb_core::time::DAY_SECONDS;
use atsdb_core::{Error, Result};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Schema, TimeUnit, UInt64Type};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Statement, Value,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Returns whether the `FILTER` of an aggregate keeps a row.
pub fn is_wanted(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

/// A function whose arguments may have names.
struct NamedFunction {
    name: &'static str,
    /// The parameters in their order, each with its names.
    parameters: &'static [&'static [&'static str]],
    /// The value of an argument that is left out, by its position; `None` if it is required.
    missing: fn(usize) -> Option<Value>,
}

/// The parameters of functions of SQL/JSON paths.
const OF_PATHS: &[&[&str]] = &[&["target"], &["path"], &["vars"], &["silent"]];

fn missing_of_path(position: usize) -> Option<Value> {
    match position {
        2 => Some(Value::SingleQuotedString("{}".to_owned())),
        3 => Some(Value::Boolean(false)),
        _ => None,
    }
}

const fn of_path(name: &'static str) -> NamedFunction {
    NamedFunction { name, parameters: OF_PATHS, missing: missing_of_path }
}

const FUNCTIONS: [NamedFunction; 12] = [
    of_path("jsonb_path_exists"),
    of_path("jsonb_path_match"),
    of_path("jsonb_path_query"),
    of_path("jsonb_path_query_array"),
    of_path("jsonb_path_query_first"),
    of_path("jsonb_path_exists_tz"),
    of_path("jsonb_path_match_tz"),
    of_path("jsonb_path_query_tz"),
    of_path("jsonb_path_query_array_tz"),
    of_path("jsonb_path_query_first_tz"),
    NamedFunction {
        name: "time_bucket",
        parameters: &[
            &["width", "bucket_width"],
            &["t", "ts", "time"],
            &["timezone", "time_zone"],
            &["origin"],
            &["offset"],
        ],
        missing: |_| Some(Value::Null),
    },
    NamedFunction {
        name: "make_interval",
        parameters: &[&["years"], &["months"], &["weeks"], &["days"], &["hours"], &["mins"], &["secs"]],
        missing: |_| Some(Value::Number("0".to_owned(), false)),
    },
];

/// Moves named arguments (`origin => ...`) to their positions. DataFusion also does this, but not if an earlier
/// argument is left out.
pub fn place_named_arguments(statement: &mut Statement) -> Result<()> {
    let placed = visit_expressions_mut(statement, |expr| {
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else {
            return ControlFlow::Continue(());
        };
        match place_arguments(name, &mut list.args) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    match placed {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Puts the named arguments of one call into the positions of their parameters.
pub fn place_arguments(name: &ObjectName, args: &mut Vec<FunctionArg>) -> Result<()> {
    if args.iter().all(|argument| matches!(argument, FunctionArg::Unnamed(_))) {
        return Ok(());
    }
    let name = name.to_string();
    match FUNCTIONS.iter().find(|known| name.eq_ignore_ascii_case(known.name)) {
        Some(known) => place(args, known),
        None => Ok(()),
    }
}

fn place(args: &mut Vec<FunctionArg>, known: &NamedFunction) -> Result<()> {
    let mut placed: Vec<Option<FunctionArgExpr>> = vec![None; known.parameters.len()];
    for (position, argument) in args.drain(..).enumerate() {
        let (name, value) = match argument {
            FunctionArg::Unnamed(value) => (None, value),
            FunctionArg::Named { name, arg, .. } => (Some(name.value), arg),
            FunctionArg::ExprNamed { name, arg, .. } => (Some(name.to_string()), arg),
        };
        let name = name.map(|name| name.trim_matches(['"', '`']).to_lowercase());
        let place = match &name {
            None => placed.get_mut(position),
            Some(name) => {
                let place = known.parameters.iter().position(|names| names.contains(&name.as_str()));
                place.and_then(|place| placed.get_mut(place))
            }
        };
        match (place, name) {
            (Some(place), _) if place.is_none() => *place = Some(value),
            (Some(_), Some(name)) => return Err(sql_error(format!("{}: {name} is given twice", known.name))),
            (_, name) => return Err(unknown_parameter(known, &name.unwrap_or_default())),
        }
    }
    for (position, value) in placed.into_iter().enumerate() {
        let missing = || (known.missing)(position).map(|value| FunctionArgExpr::Expr(Expr::value(value)));
        let Some(value) = value.or_else(missing) else {
            let name = known.parameters[position][0];
            return Err(sql_error(format!("{}: {name} is missing", known.name)).with_hint(format!("add {name} => ...")));
        };
        args.push(FunctionArg::Unnamed(value));
    }
    Ok(())
}

fn unknown_parameter(known: &NamedFunction, name: &str) -> Error {
    let error = sql_error(format!("{} has no parameter {name}", known.name));
    match nearest_name(name, known.parameters.iter().flat_map(|names| names.iter().copied())) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => {
            let names: Vec<&str> = known.parameters.iter().map(|names| names[0]).collect();
            error.with_hint(format!("available: {}", names.join(", ")))
        }
    }
}

/// The text of a value, if it is a text.
pub fn text_of(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => text.as_deref(),
        ScalarValue::Dictionary(_, value) => text_of(value),
        _ => None,
    }
}

/// The value of an argument of an aggregate that must be the same for all rows.
pub fn constant(function: &str, what: &str, expr: &Arc<dyn PhysicalExpr>) -> Result<ScalarValue> {
    match expr.evaluate(&RecordBatch::new_empty(Arc::new(Schema::empty()))) {
        Ok(ColumnarValue::Scalar(value)) => Ok(value),
        _ => Err(sql_error(format!("{function}: {what} must be a constant"))),
    }
}

/// A constant that is a number.
pub fn constant_number(function: &str, what: &str, expr: &Arc<dyn PhysicalExpr>) -> Result<f64> {
    let value = constant(function, what, expr)?;
    match value.cast_to(&DataType::Float64) {
        Ok(ScalarValue::Float64(Some(number))) if value.data_type().is_numeric() => Ok(number),
        _ => Err(sql_error(format!("{function}: {what} must be a number, not {value}"))),
    }
}

/// A constant that is a whole number from `least` to `most`.
pub fn constant_count(
    function: &str,
    what: &str,
    expr: &Arc<dyn PhysicalExpr>,
    (least, most): (usize, usize),
) -> Result<usize> {
    let number = constant_number(function, what, expr)?;
    if number.fract() != 0.0 || number < least as f64 || number > most as f64 {
        return Err(sql_error(format!(
            "{function}: {what} must be a whole number from {least} to {most}, not {number}"
        )));
    }
    Ok(number as usize)
}

/// The type behind a dictionary.
pub fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Returns whether a type can order rows: a time or a number.
pub fn is_ordering(data_type: &DataType) -> bool {
    let data_type = plain_type(data_type);
    data_type.is_null()
        || data_type.is_integer()
        || data_type.is_floating()
        || matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Duration(_))
        || matches!(data_type, DataType::Decimal128(..))
}

/// Integers with the same order as an [`is_ordering`] array. For times and signed integers they are the values
/// themselves.
pub fn order_keys(array: &ArrayRef) -> Result<Int64Array, DataFusionError> {
    let plain = plain_type(array.data_type());
    let array = if plain == array.data_type() { Arc::clone(array) } else { cast(array, plain)? };
    Ok(match plain {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(|value| (value ^ (1 << 63)).cast_signed()),
        float if float.is_floating() => {
            let array = cast(&array, &DataType::Float64)?;
            array.as_primitive::<Float64Type>().unary(|value: f64| {
                let bits = value.to_bits().cast_signed();
                bits ^ (((bits >> 63).cast_unsigned()) >> 1).cast_signed()
            })
        }
        DataType::Date32 => cast(&cast(&array, &DataType::Int32)?, &DataType::Int64)?.as_primitive().clone(),
        // The last digits after the point are counted.
        DataType::Decimal128(precision, _) => {
            let counts = array.as_primitive::<Decimal128Type>().clone();
            let counts: ArrayRef = Arc::new(counts.with_data_type(DataType::Decimal128(*precision, 0)));
            strictly(&counts, &DataType::Int64)?.as_primitive().clone()
        }
        _ => strictly(&array, &DataType::Int64)?.as_primitive().clone(),
    })
}

/// Converts an array. A value that does not fit is an error that names it.
pub fn strictly(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, DataFusionError> {
    Ok(cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })?)
}

/// The values that texts stand for, row by row.
pub(crate) fn values_of_texts<T>(
    texts: &ArrayRef,
    read: impl Fn(&str) -> Result<T>,
) -> Result<Vec<Option<T>>, DataFusionError> {
    let texts = cast(texts, &DataType::Utf8)?;
    let value = |text: Option<&str>| text.map(|text| read(text).map_err(external)).transpose();
    texts.as_string::<i32>().iter().map(value).collect()
}

/// The value of an argument in a row. A list with one value has it for all rows.
pub(crate) fn value_in_row<T: Copy>(values: &[Option<T>], row: usize) -> Option<T> {
    match values {
        [value] => *value,
        values => values.get(row).copied().flatten(),
    }
}

/// The number of units of a time in a second. An integer counts seconds.
pub fn counts_per_second(data_type: &DataType) -> f64 {
    match plain_type(data_type) {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => per_second(*unit) as f64,
        DataType::Date32 => 1.0 / DAY_SECONDS as f64,
        DataType::Date64 => 1_000.0,
        _ => 1.0,
    }
}

/// The number of units in a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    time_unit_of(unit).per_second()
}

/// The name of a type as users declare it: `TIMESTAMP`, `BIGINT` and so on.
pub fn type_name(data_type: &DataType) -> String {
    match plain_type(data_type) {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "TEXT".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Timestamp(..) => "TIMESTAMP".to_owned(),
        DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
        DataType::Interval(_) => "INTERVAL".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Float32 => "REAL".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BLOB".to_owned(),
        other => other.to_string(),
    }
}
