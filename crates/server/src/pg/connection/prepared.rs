//! `PREPARE` and `EXECUTE`: prepared statements by SQL. They are those of the extended protocol: what one of them has
//! prepared, the other can execute.

use super::bind::{Plan, PreparedStatement};
use super::described::check_columns;
use super::execute::Outcome;
use super::session::Connection;
use crate::pg::catalogue::type_ids;
use crate::pg::error::{Failure, PgError};
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::input::{Format, parameter};
use crate::pg::types::known;
use arrow::array::ArrayRef;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType};
use atsdb::Error;
use atsdb::sql::Answer;
use datafusion::common::ScalarValue;
use std::sync::Arc;

impl Connection {
    /// The prepared statement with a name.
    pub(super) fn prepared(&self, name: &str) -> Result<Arc<PreparedStatement>, Failure> {
        let found = self.statements.get(name).map(Arc::clone);
        found.ok_or_else(|| Self::no_such("prepared statement", name, "26000"))
    }

    /// The statement that an `EXECUTE` executes, if it is one. A name that does not exist is an error later.
    pub(super) fn executed(&self, kind: &StatementKind) -> Option<Arc<PreparedStatement>> {
        let StatementKind::Execute { name, .. } = kind else { return None };
        self.statements.get(name).filter(|prepared| !matches!(prepared.plan, Plan::Connection)).map(Arc::clone)
    }

    /// Prepares a statement by `PREPARE`, whose whole text is `prepare`.
    pub(super) fn prepare_by_sql(&mut self, name: &str, types: &str, text: &str, prepare: &str) -> Result<(), Failure> {
        self.check_new(name)?;
        let enumerations = if types.is_empty() { Vec::new() } else { self.session.enumerations()? };
        let prepared = self.prepare(text, &type_ids(types, &enumerations)?)?;
        let prepared = PreparedStatement { prepare: Some(prepare.to_owned()), ..prepared };
        self.statements.insert(name.to_owned(), Arc::new(prepared));
        Ok(())
    }

    /// Executes a prepared statement with the values of expressions.
    pub(super) fn execute_by_sql(&mut self, name: &str, values: &str) -> Result<Outcome, Failure> {
        let statement = self.prepared(name)?;
        if matches!(statement.plan, Plan::Connection) {
            return Err(PgError::not_supported("EXECUTE of a statement that is neither a query nor a change").into());
        }
        let values = self.values_of(values)?;
        let types = &statement.parameter_types;
        if values.len() != types.len() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {}.", types.len(), values.len());
            return Err(PgError { detail: Some(detail.into()), ..PgError::syntax(message) }.into());
        }
        let is_of_store = !matches!(statement.plan, Plan::Catalogue(_));
        let values =
            values.into_iter().zip(types).map(|(value, type_id)| match is_of_store && !is_of_uuids(*type_id) {
                // The store's session converts it.
                true => Ok(assigned(value, *type_id)),
                false => of_type((value, type_id)),
            });
        let values: Vec<ScalarValue> = values.collect::<Result<_, _>>()?;
        let outcome = self.execute_bound(&statement, &values)?;
        if let Outcome::Rows { rows, .. } = &outcome {
            check_columns(statement.columns.as_deref(), rows.columns())?;
        }
        Ok(outcome)
    }

    /// The values of expressions, which are written one after the other with commas between them.
    fn values_of(&mut self, expressions: &str) -> Result<Vec<ScalarValue>, Failure> {
        if expressions.is_empty() {
            return Ok(Vec::new());
        }
        self.take_permit()?;
        // A comment may end the line.
        let Answer::Rows(mut rows) = self.session.execute(&format!("VALUES ({expressions}\n)"))? else {
            return Err(Error::internal("expressions have no values").into());
        };
        let Some(row) = rows.next().transpose()? else {
            return Err(Error::internal("expressions have no values").into());
        };
        let value = |column: &ArrayRef| ScalarValue::try_from_array(column, 0).map(widened);
        let values = row.columns().iter().map(value).collect::<Result<_, _>>();
        values.map_err(|error| Error::internal(error.to_string()).into())
    }
}

/// An `INT` as a `BIGINT`, which may be a value of a parameter of any numeric type.
fn widened(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Int32(number) => ScalarValue::Int64(number.map(i64::from)),
        other => other,
    }
}

/// A number with a fraction for an integer parameter, rounded as by an assignment: a half of a float to the even
/// integer, and of a decimal away from zero.
fn assigned(value: ScalarValue, type_id: u32) -> ScalarValue {
    if ![known::INT2, known::INT4, known::INT8].contains(&type_id) {
        return value;
    }
    match value {
        // Zero is added because -0.0 is not an integer.
        ScalarValue::Float32(Some(number)) => ScalarValue::Float32(Some(number.round_ties_even() + 0.0)),
        ScalarValue::Float64(Some(number)) => ScalarValue::Float64(Some(number.round_ties_even() + 0.0)),
        // With all digits, because rounding may add one.
        ScalarValue::Decimal128(Some(_), _, scale) if scale > 0 => {
            value.cast_to(&DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0)).unwrap_or(value)
        }
        other => other,
    }
}

/// Returns whether a type is that of UUIDs or of their arrays, which are texts for the store.
fn is_of_uuids(type_id: u32) -> bool {
    type_id == known::UUID || known::element_of(type_id).is_some_and(|element| element.id == known::UUID)
}

/// A value as one of a parameter's type: a text is read as the client of the extended protocol would send it.
fn of_type((value, type_id): (ScalarValue, &u32)) -> Result<ScalarValue, PgError> {
    match value.try_as_str() {
        Some(text) => parameter(*type_id, Format::Text, text.map(str::as_bytes)),
        None => Ok(value),
    }
}
