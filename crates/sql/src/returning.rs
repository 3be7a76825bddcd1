//! `RETURNING`: what a statement answers of the rows that it has added, changed or removed.

use crate::answer::Rows;
use crate::ddl::defaults::default_type;
use crate::given::{Given, Over, query_over, select_of};
use crate::identifiers::SharedSpellings;
use crate::runtime::{Interrupt, Worker};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Field, Schema};
use atsdb_core::{Column, Error, ErrorKind, Result, Table};
use atsdb_engine::ReadSnapshot;
use datafusion::sql::sqlparser::ast::SelectItem;
use std::sync::Arc;

/// What a `RETURNING` asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Returning {
    pub(crate) items: Vec<SelectItem>,
    /// What the statement calls the table.
    pub(crate) alias: String,
}

/// Where and how the queries that belong to a statement run: over the state before it.
pub(crate) struct Asking<'a> {
    pub(crate) worker: Arc<Worker>,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) snapshot: ReadSnapshot,
    pub(crate) spellings: SharedSpellings,
}

impl Returning {
    /// The answer for some rows, which are complete ones.
    pub(crate) fn answer(
        &self,
        asking: &Asking<'_>,
        table: &Table,
        rows: Vec<RecordBatch>,
        bytes_max: usize,
    ) -> Result<RecordBatch> {
        let rows = match gathered(rows, bytes_max)? {
            Some(rows) => rows,
            None => no_rows(table),
        };
        let given = Given::new(table, &[], &asking.spellings, &rows)?;
        let mut query = query_over(&self.alias)?;
        select_of(&mut query)?.projection.clone_from(&self.items);
        let over = Over { query, spellings: Arc::clone(&asking.spellings), given: Arc::new(given), more: None };
        let rows = asking.worker.start_over(over, &asking.snapshot, asking.interrupt)?;
        let schema = rows.schema();
        let batches = Rows::query(rows).collect::<Result<Vec<RecordBatch>>>()?;
        concat_batches(&schema, &batches).map_err(|error| Error::internal(error.to_string()))
    }
}

/// Rows of one schema in one batch; `bytes_max` bounds what a statement may hold.
pub(crate) fn gathered(mut batches: Vec<RecordBatch>, bytes_max: usize) -> Result<Option<RecordBatch>> {
    let bytes: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    if bytes > bytes_max {
        return Err(Error::new(ErrorKind::Resources, "the rows of the statement do not fit into memory")
            .with_hint("change fewer rows at a time, or give the session more memory"));
    }
    match batches.as_slice() {
        [] => Ok(None),
        [_] => Ok(batches.pop()),
        [first, ..] => {
            let joined = concat_batches(&first.schema(), &batches);
            joined.map(Some).map_err(|error| Error::internal(error.to_string()))
        }
    }
}

/// No rows, of a table's columns.
pub(crate) fn no_rows(table: &Table) -> RecordBatch {
    let field = |column: &Column| Field::new(&column.name, default_type(column), true);
    RecordBatch::new_empty(Arc::new(Schema::new(table.definition.columns.iter().map(field).collect::<Vec<_>>())))
}
