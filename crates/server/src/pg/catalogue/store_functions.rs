//! Functions of the store in queries about the catalogue: those that are not evaluated here.

use super::value::{DIGITS_MAX, Value};
use crate::pg::error::PgError;
use crate::pg::store::StoreSession;
use crate::pg::types::cells::{Cell, Cells};
use crate::pg::types::{known, text};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use atsdb::sql::{Answer, ParameterValue, Prepared, Session};
use atsdb::{Error, ErrorKind};
use datafusion::common::ScalarValue;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The functions as one query calls them.
pub(in crate::pg) struct StoreFunctions<'a> {
    session: &'a StoreSession,
    /// The session in which they are computed. It has nothing of the client's: no transaction, settings or temporary
    /// tables.
    own: OnceCell<Session>,
    calls: RefCell<HashMap<CallKey, Rc<StoreCall>>>,
}

/// A kind of calls, which differ in their values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CallKey {
    name: String,
    /// A first argument that must be a constant.
    constant: Option<String>,
    /// The types of the other arguments; `None` is NULL.
    types: Vec<Option<DataType>>,
}

/// A call of a function with any values of some types.
struct StoreCall {
    prepared: Prepared,
    type_id: u32,
}

impl StoreCall {
    fn of(prepared: Prepared) -> Self {
        let field = prepared.schema().and_then(|schema| schema.fields().first().cloned());
        let type_id = field.map_or(known::TEXT, |field| type_of_result(&field));
        Self { prepared, type_id }
    }
}

impl<'a> StoreFunctions<'a> {
    pub(in crate::pg) fn new(session: &'a StoreSession) -> Self {
        Self { session, own: OnceCell::new(), calls: RefCell::default() }
    }

    /// The type of what a function returns for arguments of these types; `None` if there is no such function.
    pub(in crate::pg) fn result_type(&self, name: &str, arguments: &[u32]) -> Option<u32> {
        let types = arguments.iter().map(|id| Some(type_of_arguments(*id))).collect();
        self.prepared(CallKey { name: name.to_owned(), constant: None, types }).ok().map(|call| call.type_id)
    }

    /// Calls a function. If `is_dry`, it is only checked whether there is one for these arguments.
    pub(in crate::pg) fn call(&self, name: &str, arguments: &[Value], is_dry: bool) -> Result<Value, PgError> {
        let (constant, arguments) = match arguments {
            [Value::Text(part), rest @ ..] if name == "date_part" => (Some(part.clone()), rest),
            arguments => (None, arguments),
        };
        if constant.is_some() && arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let values: Vec<ScalarValue> = arguments.iter().map(scalar).collect::<Result<_, _>>()?;
        let types = values.iter().map(|value| Some(value.data_type()).filter(|found| *found != DataType::Null));
        let call = self.prepared(CallKey { name: name.to_owned(), constant, types: types.collect() })?;
        if is_dry {
            return Ok(Value::Null);
        }
        let parameters = values.iter().filter(|value| value.data_type() != DataType::Null).map(|value| {
            let array = value.to_array().map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
            ParameterValue::from_array(array.as_ref(), 0)
        });
        let parameters = parameters.collect::<Result<Vec<_>, Error>>()?;
        self.computed(&call, &parameters, name)
    }

    /// Computes an expression of constants.
    pub(in crate::pg) fn constant(&self, expression: &str) -> Result<Value, PgError> {
        let prepared = self.own().prepare(&format!("SELECT {expression}"), &[]).map_err(unplaced)?;
        self.computed(&StoreCall::of(prepared), &[], expression)
    }

    fn computed(&self, call: &StoreCall, parameters: &[ParameterValue], written: &str) -> Result<Value, PgError> {
        self.session.check_interrupt()?;
        let Answer::Rows(mut rows) = self.own().execute_prepared(&call.prepared, parameters).map_err(unplaced)? else {
            return Err(not_scalar(written));
        };
        let batch = rows.next().transpose().map_err(unplaced)?;
        let batch = batch.filter(|batch| batch.num_rows() == 1).ok_or_else(|| not_scalar(written))?;
        Ok(batch.columns().first().map_or(Value::Null, |column| value_at(column, 0, call.type_id)))
    }

    fn prepared(&self, key: CallKey) -> Result<Rc<StoreCall>, PgError> {
        let name = key.name.as_str();
        let missing =
            || PgError::error("42883", format!("function {name} does not exist in queries about the catalogue"));
        // The functions of PostgreSQL's catalogue would answer for the session in which they are computed.
        let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_name || name.starts_with("pg_") {
            return Err(missing());
        }
        if let Some(call) = self.calls.borrow().get(&key) {
            return Ok(Rc::clone(call));
        }
        let constant = key.constant.as_ref().map(|text| format!("'{}'", text.replace('\'', "''")));
        let (mut number, mut arguments) = (0, Vec::from_iter(constant));
        for data_type in &key.types {
            number += usize::from(data_type.is_some());
            arguments.push(data_type.as_ref().map_or_else(|| "NULL".to_owned(), |_| format!("${number}")));
        }
        let declared: Vec<Option<DataType>> = key.types.iter().filter(|found| found.is_some()).cloned().collect();
        // The condition holds. It refuses aggregates and functions that return sets.
        let call = format!("{name}({})", arguments.join(", "));
        let prepared = self.own().prepare(&format!("SELECT {call} WHERE {call} IS NULL OR TRUE"), &declared);
        let prepared = prepared.map_err(|error| match unplaced(error) {
            error if error.code == "42883" => missing(),
            error if ["ggregate functions are not", "Unnest"].iter().any(|sign| error.message.contains(sign)) => {
                not_scalar(name)
            }
            error => error,
        })?;
        let call = Rc::new(StoreCall::of(prepared));
        self.calls.borrow_mut().insert(key, Rc::clone(&call));
        Ok(call)
    }

    fn own(&self) -> &Session {
        self.own.get_or_init(|| self.session.for_functions())
    }
}

/// An error without line and column, because they refer to a text that the client did not send.
fn unplaced(error: Error) -> PgError {
    PgError::from(error).without_place()
}

fn not_scalar(name: &str) -> PgError {
    PgError::not_supported(format_args!("{name} in queries about the catalogue"))
}

/// The type in which an argument of a type is passed to the store.
fn type_of_arguments(id: u32) -> DataType {
    let list = |element| DataType::List(Arc::new(Field::new_list_field(element, true)));
    match id {
        known::BOOL => DataType::Boolean,
        id if is_integer(id) => DataType::Int64,
        known::FLOAT4 | known::FLOAT8 => DataType::Float64,
        known::NUMERIC => DataType::Decimal128(DIGITS_MAX, 0),
        known::DATE => DataType::Date32,
        known::TIMESTAMPTZ | known::TIMESTAMP => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        known::INTERVAL => DataType::Interval(IntervalUnit::MonthDayNano),
        id => match known::element_of(id) {
            Some(element) if is_integer(element.id) => list(DataType::Int64),
            Some(_) => list(DataType::Utf8),
            None => DataType::Utf8,
        },
    }
}

fn is_integer(id: u32) -> bool {
    matches!(id, known::INT2 | known::INT4 | known::INT8 | known::OID)
}

/// The type of a function's values here. Values of types that [`Value`] does not represent become texts.
fn type_of_result(field: &Field) -> u32 {
    let id = known::of_field(field);
    let element = known::element_of(id).map(|element| element.id);
    let has_form = |id: u32| {
        let of_numbers = is_integer(id) || matches!(id, known::FLOAT4 | known::FLOAT8 | known::NUMERIC);
        of_numbers || matches!(id, known::BOOL | known::TEXT | known::JSON | known::JSONB | known::TIMESTAMPTZ)
    };
    let is_known = match element {
        Some(element) => is_integer(element) || element == known::TEXT,
        None => has_form(id) || matches!(id, known::DATE | known::TIMESTAMP),
    };
    if is_known { id } else { known::TEXT }
}

fn scalar(value: &Value) -> Result<ScalarValue, PgError> {
    Ok(match value {
        Value::Null => ScalarValue::Null,
        Value::Bool(value) => ScalarValue::Boolean(Some(*value)),
        Value::Int(value) => ScalarValue::Int64(Some(*value)),
        Value::Float(value) => ScalarValue::Float64(Some(*value)),
        Value::Numeric(digits) => {
            let places = digits.split_once('.').map_or(0, |(_, places)| places.len().min(usize::from(DIGITS_MAX)));
            let text = ScalarValue::Utf8(Some(digits.clone()));
            let number = text.cast_to(&DataType::Decimal128(DIGITS_MAX, i8::try_from(places).unwrap_or(0)));
            number.map_err(|_| PgError::error("22003", format!("the number {digits} is out of range")))?
        }
        Value::Date(days) => ScalarValue::Date32(i32::try_from(*days).ok()),
        Value::Time(microseconds) => ScalarValue::TimestampMicrosecond(Some(*microseconds), Some("UTC".into())),
        // Its months and days are no longer known.
        Value::Interval(_) => {
            return Err(PgError::not_supported("an interval for a function in queries about the catalogue"));
        }
        Value::Array(items) => {
            let are_numbers = items.iter().all(|item| matches!(item, Value::Null | Value::Int(_)));
            let (element, items): (DataType, Vec<ScalarValue>) = match are_numbers {
                true => (DataType::Int64, items.iter().map(|item| ScalarValue::Int64(item.int())).collect()),
                false => (DataType::Utf8, items.iter().map(|item| ScalarValue::Utf8(item.shown())).collect()),
            };
            ScalarValue::List(ScalarValue::new_list_nullable(&items, &element))
        }
        Value::Text(_) | Value::Named(..) | Value::Record(_) => ScalarValue::Utf8(value.shown()),
    })
}

/// Converts a value of the store, or of a parameter, to a value of this type.
pub(super) fn value_at(array: &ArrayRef, row: usize, type_id: u32) -> Value {
    let cells = Cells::new(array);
    match cells.get(row) {
        Cell::Null => Value::Null,
        Cell::Bool(value) => Value::Bool(value),
        Cell::Int(value) => Value::Int(value),
        Cell::Float32(value) => Value::Float(f64::from(value)),
        Cell::Float64(value) => Value::Float(value),
        Cell::Numeric(digits) => Value::Numeric(digits),
        Cell::Date(days) => Value::Date(days),
        Cell::Timestamp(Some(microseconds)) => Value::Time(microseconds),
        Cell::List(_, items) if known::element_of(type_id).is_some() => {
            let element = known::element_of(type_id).map_or(known::TEXT, |element| element.id);
            Value::Array((0..items.len()).map(|row| value_at(&items, row, element)).collect())
        }
        cell => Value::maybe(text::of(type_id, &cell)),
    }
}
