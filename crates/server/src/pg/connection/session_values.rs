//! The values of calls about the session and the catalogue in statements over the user's tables.

use super::session::Connection;
use crate::pg::catalogue::CatalogueQuery;
use crate::pg::catalogue::value::Value;
use crate::pg::error::{Failure, PgError};
use crate::pg::session_calls::session_calls;
use crate::pg::statement::kind::StatementKind;
use atsdb::Error;
use std::collections::BTreeMap;

/// The maximum number of different calls in a statement.
const CALLS_MAX: usize = 1_000;

/// Calls that do something. A report about a statement does not make them.
const ACTING: [&str; 4] = ["set_config", "pg_cancel_backend", "pg_terminate_backend", "pg_export_snapshot"];

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
        is_prepared: bool,
    ) -> Result<Option<String>, Failure> {
        if !matches!(kind, StatementKind::Query | StatementKind::Report(_) | StatementKind::Change(_)) {
            return Ok(None);
        }
        let (mut bound, mut copied) = (String::new(), 0);
        let mut known: BTreeMap<&str, SessionValue> = BTreeMap::new();
        for call in session_calls(text) {
            let written = &text[call.range.clone()];
            if known.len() > CALLS_MAX {
                return Err(PgError::error("54000", format!("more than {CALLS_MAX} calls about the session")).into());
            }
            let found = match known.get(written) {
                Some(found) => found,
                None => {
                    let is_dry = is_prepared || matches!(kind, StatementKind::Report(_)) && acts(written);
                    let Some(found) = self.session_value(written, is_dry)? else { continue };
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

    /// The value of a call; `None` if the catalogue does not know it. If `is_dry`, the call is not made, and its value
    /// is NULL.
    fn session_value(&mut self, call: &str, is_dry: bool) -> Result<Option<SessionValue>, Failure> {
        let Some(query) = CatalogueQuery::read(&format!("SELECT {call}"), &[], &|_, _| false) else { return Ok(None) };
        let (columns, value) = if is_dry {
            (query.columns(self.surroundings())?, Value::Null)
        } else {
            let (columns, rows) = self.answered(&query, &[])?;
            let value = rows.into_iter().next().and_then(|row| row.into_iter().next());
            (columns, value.unwrap_or(Value::Null))
        };
        let column = columns.into_iter().next();
        Ok(column.map(|column| SessionValue { value, type_id: column.type_id, heading: column.name }))
    }
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
