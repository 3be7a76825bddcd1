//! The values of calls about the session and the catalogue in statements over the user's tables.

use super::session::Connection;
use crate::pg::catalogue::CatalogueQuery;
use crate::pg::catalogue::value::Value;
use crate::pg::error::{Failure, PgError};
use crate::pg::session_calls::{SessionCall, parameter_numbers, session_calls};
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::known;
use atsdb::Error;
use datafusion::common::ScalarValue;
use std::collections::BTreeMap;

/// The maximum number of different calls in a statement.
const CALLS_MAX: usize = 1_000;

/// Calls that do something. A report about a statement does not make them.
const ACTING: [&str; 4] = ["set_config", "pg_cancel_backend", "pg_terminate_backend", "pg_export_snapshot"];

/// The parameters of a statement that has calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallParameters<'a> {
    /// Their types, as far as they are known.
    pub(super) types: &'a [u32],
    /// Their values; `None` if the statement is only prepared.
    pub(super) values: Option<&'a [ScalarValue]>,
}

impl CallParameters<'_> {
    /// The statement has none.
    pub(super) const NONE: Self = Self { types: &[], values: Some(&[]) };
}

/// The value of a call, with its type and its heading.
struct SessionValue {
    value: Value,
    type_id: u32,
    heading: String,
}

impl Connection {
    /// The statement with the values of these calls in their places; `None` if it has none. If the statement is only
    /// prepared, they are NULLs of the calls' types, and nothing is set.
    pub(super) fn with_session_values(
        &mut self,
        text: &str,
        kind: &StatementKind,
        calls: &[SessionCall],
        parameters: CallParameters<'_>,
    ) -> Result<Option<String>, Failure> {
        let (mut bound, mut copied) = (String::new(), 0);
        let mut known: BTreeMap<&str, SessionValue> = BTreeMap::new();
        for call in calls {
            let written = &text[call.range.clone()];
            if known.len() > CALLS_MAX {
                return Err(PgError::error("54000", format!("more than {CALLS_MAX} calls about the session")).into());
            }
            let found = match known.get(written) {
                Some(found) => found,
                None => {
                    let is_report = matches!(kind, StatementKind::Report(_)) && acts(written);
                    let values = parameters.values.filter(|_| !is_report);
                    let parameters = CallParameters { values, ..parameters };
                    let Some(found) = self.session_value(written, parameters)? else { continue };
                    &*known.entry(written).or_insert(found)
                }
            };
            if let Some(literal) = call.written(&found.value, found.type_id, &found.heading) {
                bound += &text[copied..call.range.start];
                bound += &literal;
                copied = call.range.end;
            }
        }
        Ok((copied > 0).then(|| bound + &text[copied..]))
    }

    /// The types of a statement's parameters: the declared ones, and those of the parameters of calls.
    pub(super) fn types_with_calls(&self, text: &str, calls: &[SessionCall], declared: &[u32]) -> Vec<u32> {
        let mut types = declared.to_vec();
        for call in calls {
            let written = &text[call.range.clone()];
            let mut numbers = parameter_numbers(written).peekable();
            if numbers.peek().is_none() {
                continue;
            }
            let Some(query) = call_query(written, declared) else { continue };
            for position in numbers.filter_map(|number| number.checked_sub(1)) {
                types.resize(types.len().max(position + 1), known::UNKNOWN);
                if matches!(types[position], 0 | known::UNKNOWN) {
                    types[position] = query.parameter_types.get(position).copied().unwrap_or(known::UNKNOWN);
                }
            }
        }
        types
    }

    /// The value of a call; `None` if the catalogue does not know it. If the parameters have no values, the call is not
    /// made, and its value is NULL.
    fn session_value(&mut self, call: &str, parameters: CallParameters<'_>) -> Result<Option<SessionValue>, Failure> {
        let Some(query) = call_query(call, parameters.types) else { return Ok(None) };
        let (columns, value) = match parameters.values {
            None => (query.columns(self.connection_context())?, Value::Null),
            Some(values) => {
                let (columns, rows) = self.answered(&query, values)?;
                let value = rows.into_iter().next().and_then(|row| row.into_iter().next());
                (columns, value.unwrap_or(Value::Null))
            }
        };
        let column = columns.into_iter().next();
        Ok(column.map(|column| SessionValue { value, type_id: column.type_id, heading: column.name }))
    }
}

/// The calls of a statement whose values stand in their places.
pub(super) fn calls_of(text: &str, kind: &StatementKind) -> Vec<SessionCall> {
    match kind {
        StatementKind::Query | StatementKind::Report(_) | StatementKind::Change(_) => session_calls(text),
        _ => Vec::new(),
    }
}

/// The query that computes a call; `None` if the catalogue does not know it.
fn call_query(call: &str, types: &[u32]) -> Option<CatalogueQuery> {
    CatalogueQuery::read(&format!("SELECT {call}"), types, &|_, _| false)
}

/// The error of a statement. If calls were replaced by values, it names no line and column, because they refer to the
/// changed text.
pub(super) fn error_in(bound: Option<&str>, error: Error) -> PgError {
    let error = PgError::from(error);
    if bound.is_some() { error.without_place() } else { error }
}

fn acts(call: &str) -> bool {
    let call = call.to_ascii_lowercase();
    ACTING.iter().any(|name| call.contains(name))
}
