//! The values of calls about the session and the catalogue in statements over the user's tables.

use super::session::Connection;
use crate::pg::catalogue::CatalogueQuery;
use crate::pg::catalogue::value::Value;
use crate::pg::error::Failure;
use crate::pg::session_calls::session_calls;
use crate::pg::statement::kind::StatementKind;

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
        let mut bound = String::new();
        let mut copied = 0;
        for call in session_calls(text) {
            let question = format!("SELECT {}", &text[call.range.clone()]);
            let Some(query) = CatalogueQuery::read(&question, &[], &|_, _| false) else { continue };
            let (columns, value) = if is_prepared {
                (query.columns(self.surroundings())?, Value::Null)
            } else {
                let answer = query.run(&[], self.surroundings())?;
                let value = answer.rows.into_iter().next().and_then(|row| row.into_iter().next());
                answer.notices.iter().for_each(|notice| self.io.out.error(notice));
                for (name, value, is_local) in answer.changed_settings {
                    self.set(&name, Some(&value), is_local)?;
                }
                (answer.columns, value.unwrap_or(Value::Null))
            };
            let written = columns.first().and_then(|column| call.written(&value, column.type_id, &column.name));
            if let Some(written) = written {
                bound += &text[copied..call.range.start];
                bound += &written;
                copied = call.range.end;
            }
        }
        Ok((copied > 0).then(|| bound + &text[copied..]))
    }
}
