//! Prepared statements and portals: statements with types, and statements with values.

use super::cursor::Cursor;
use crate::pg::catalogue::CatalogueQuery;
use crate::pg::error::{Failure, PgError};
use crate::pg::rows::RowSource;
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::input::{self, Format};
use crate::pg::types::known;
use crate::pg::wire::incoming::Bind;
use crate::pg::wire::outgoing::{Outgoing, ResultColumn};
use crate::shared::clock;
use arrow::datatypes::SchemaRef;
use atsdb::sql::Prepared;
use datafusion::common::ScalarValue;
use std::sync::Arc;

/// A statement whose parameters have types.
pub(super) struct PreparedStatement {
    pub(super) text: String,
    pub(super) kind: StatementKind,
    /// The types of its parameters, as sent to the client.
    pub(super) parameter_types: Vec<u32>,
    /// The types that the client has declared, and those of the parameters of calls about the session.
    pub(super) declared_types: Vec<u32>,
    /// The columns of its answer; `None` if it has no rows.
    pub(super) columns: Option<Vec<ResultColumn>>,
    /// The columns as the store has described them, if it executes the statement.
    pub(super) described: Option<SchemaRef>,
    pub(super) plan: Plan,
    /// The `PREPARE` that has prepared it; `None` for a message of the extended protocol.
    pub(super) prepare: Option<String>,
    /// The time at which it was prepared, in nanoseconds since 1970.
    pub(super) prepared_ns: i64,
}

/// The executor of a statement.
pub(super) enum Plan {
    /// The statement is empty or contains only comments.
    Empty,
    /// The connection itself.
    Connection,
    Store(Prepared),
    /// The store. Each execution computes the calls about the session and plans the statement anew.
    StoreWithSessionValues,
    Catalogue(Arc<CatalogueQuery>),
}

/// A statement with values, and its rows that are not read yet.
pub(super) struct Portal {
    pub(super) statement: Arc<PreparedStatement>,
    pub(super) values: Vec<ScalarValue>,
    pub(super) formats: Vec<Format>,
    pub(super) progress: Progress,
    /// The time at which it was created, in nanoseconds since 1970.
    pub(super) created_ns: i64,
}

/// The progress of a portal.
pub(super) enum Progress {
    Bound,
    Running {
        rows: Box<RowSource>,
        verb: &'static str,
    },
    /// A cursor that `DECLARE` has opened.
    Cursor(Box<Cursor>),
    /// All rows were read. Executing it again returns no rows, and the tag of this verb.
    Read {
        verb: &'static str,
    },
    /// A statement without rows was executed, or a statement failed. It cannot be executed again.
    Finished,
}

/// Creates a portal for the values of a Bind message.
pub(super) fn bind(statement: &Arc<PreparedStatement>, bind: &Bind) -> Result<Portal, Failure> {
    let types = &statement.parameter_types;
    if bind.values.len() != types.len() {
        let message = format!(
            "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
            bind.values.len(),
            bind.statement,
            types.len()
        );
        return Err(PgError::error("08P01", message).into());
    }
    let values = bind.values.iter().zip(types).enumerate().map(|(position, (value, type_id))| {
        input::parameter(*type_id, Format::at(&bind.formats, position)?, value.as_deref())
    });
    let values = values.collect::<Result<_, _>>()?;
    let column_count = statement.columns.as_ref().map_or(0, Vec::len);
    let formats = formats(&bind.result_formats, column_count)?;
    let (progress, created_ns) = (Progress::Bound, clock::wall_ns());
    Ok(Portal { statement: Arc::clone(statement), values, formats, progress, created_ns })
}

/// The format of each column.
pub(super) fn formats(codes: &[i16], column_count: usize) -> Result<Vec<Format>, PgError> {
    if codes.len() > 1 && codes.len() != column_count {
        let message = format!("bind message has {} result formats but query has {column_count} columns", codes.len());
        return Err(PgError::error("08P01", message));
    }
    (0..column_count).map(|position| Format::at(codes, position)).collect()
}

/// Sends the description of the columns of an answer.
pub(super) fn describe(out: &mut Outgoing, columns: &[ResultColumn], formats: &[Format]) {
    let format = |position: usize| formats.get(position).map_or(0, |format| format.code());
    let described: Vec<_> = columns
        .iter()
        .enumerate()
        .map(|(position, column)| (column, format(position), known::width_of(column.type_id)))
        .collect();
    out.row_description(&described);
}
