//! `RETURNING`: the answer of a statement about the rows that it has added, changed or removed.

use crate::ddl::defaults::default_type;
use crate::dml::returning::Returning;
use crate::plan::work_table::{WorkQuery, WorkTable, select_of, work_query};
use crate::run::answer::AnswerRows;
use crate::run::interrupt::Interrupt;
use crate::run::worker::Worker;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_core::{Column, Error, ErrorKind, Result, Table};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_engine::ReadSnapshot;
use std::sync::Arc;

/// The context for the queries that belong to a statement: they run over the state before it.
pub(crate) struct StatementContext<'a> {
    pub(crate) worker: Arc<Worker>,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) snapshot: ReadSnapshot,
    pub(crate) spellings: SharedSpellings,
    pub(crate) parameters: &'a Parameters,
}

impl Returning {
    /// The answer for some complete rows. `others` are the columns of other tables in them.
    pub(crate) fn answer(
        &self,
        context: &StatementContext<'_>,
        table: &Table,
        rows: Vec<RecordBatch>,
        others: Vec<Field>,
        bytes_max: usize,
    ) -> Result<RecordBatch> {
        let rows = match gathered(rows, bytes_max)? {
            Some(rows) => rows,
            None => no_rows_with(table, others),
        };
        let query = self.query(table, &rows, &context.spellings, context.parameters)?;
        let rows = context.worker.start_on_work_table(query, &context.snapshot, context.interrupt)?;
        let schema = rows.schema();
        let batches = AnswerRows::query(rows).collect::<Result<Vec<RecordBatch>>>()?;
        concat_batches(&schema, &batches).map_err(Error::from)
    }

    /// The columns of other tables in the rows. `found` has those of the query for the rows that change.
    pub(crate) fn other_fields(&self, found: &Schema) -> Vec<Field> {
        let first = found.fields().len().saturating_sub(self.others.len());
        let fields = found.fields().iter().skip(first).zip(self.other_names());
        fields.map(|(field, name)| other_field(field, name)).collect()
    }

    /// The query over the rows.
    pub(crate) fn query(
        &self,
        table: &Table,
        rows: &RecordBatch,
        spellings: &SharedSpellings,
        parameters: &Parameters,
    ) -> Result<WorkQuery> {
        let others = rows.schema_ref().fields().iter().skip(table.definition.columns.len());
        let others: Vec<Field> = others.map(|field| field.as_ref().clone()).collect();
        let work_table = Arc::new(WorkTable::new(table, &others, spellings, rows)?);
        let mut query = work_query(&self.alias)?;
        select_of(&mut query)?.projection = self.items_apart(table, spellings);
        let (spellings, parameters) = (Arc::clone(spellings), parameters.clone());
        Ok(WorkQuery { query, spellings, work_table, more: None, parameters })
    }
}

/// Combines rows of one schema into one batch. `bytes_max` limits the memory of a statement.
pub(crate) fn gathered(mut batches: Vec<RecordBatch>, bytes_max: usize) -> Result<Option<RecordBatch>> {
    let bytes: usize = batches.iter().map(RecordBatch::get_array_memory_size).sum();
    if bytes > bytes_max {
        return Err(Error::new(ErrorKind::Resources, "the rows of the statement do not fit into memory")
            .with_hint("change fewer rows at a time, or give the session more memory"));
    }
    match batches.as_slice() {
        [] => Ok(None),
        [_] => Ok(batches.pop()),
        [first, ..] => Ok(Some(concat_batches(&first.schema(), &batches)?)),
    }
}

/// An empty batch with a table's columns.
pub(crate) fn no_rows(table: &Table) -> RecordBatch {
    no_rows_with(table, Vec::new())
}

/// An empty batch with a table's columns, and others after them.
pub(crate) fn no_rows_with(table: &Table, others: Vec<Field>) -> RecordBatch {
    let field = |column: &Column| Field::new(&column.name, default_type(column), true);
    let fields = table.definition.columns.iter().map(field).chain(others);
    RecordBatch::new_empty(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The column in which a value of another table is returned. That of a mapped column has its texts.
pub(crate) fn other_field(found: &Field, name: String) -> Field {
    let data_type = match found.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::Null => DataType::Utf8,
        other => other.clone(),
    };
    found.clone().with_name(name).with_data_type(data_type).with_nullable(true)
}
