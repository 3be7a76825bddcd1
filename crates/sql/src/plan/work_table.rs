//! The work table of a statement: rows in memory that a query reads, namely those that the statement adds or changes,
//! for `RETURNING` and for `ON CONFLICT DO UPDATE`. The rows may be replaced after the query has read them. It then
//! processes the new ones without being planned again, like the recursive part of a `WITH RECURSIVE`.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use atsdb_codec::logical_field;
use atsdb_core::{Error, Result, Table};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, Query, Select, SetExpr, Statement as Ast, TableFactor, TableWithJoins,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The schema in which a query finds its work table. No statement can write this name.
pub(crate) const WORK_SCHEMA: &str = "\u{1}work";

/// A query over a work table.
pub(crate) struct WorkQuery {
    pub(crate) query: Query,
    pub(crate) spellings: SharedSpellings,
    pub(crate) work_table: Arc<WorkTable>,
    /// The rows that replace the first ones after those have been read; `None` if there are no more.
    pub(crate) more: Option<mpsc::UnboundedReceiver<RecordBatch>>,
    /// The parameters of the statement that the query belongs to.
    pub(crate) parameters: Parameters,
}

/// Rows in memory, which may be replaced.
#[derive(Debug)]
pub(crate) struct WorkTable {
    schema: SchemaRef,
    rows: Mutex<RecordBatch>,
}

impl WorkTable {
    /// Creates a work table whose rows have a table's columns, followed by other ones, with names spelled as in the
    /// statement. The types are those of the rows.
    pub(crate) fn new(
        table: &Table,
        others: &[Field],
        spellings: &SharedSpellings,
        rows: &RecordBatch,
    ) -> Result<Self> {
        let columns = table.definition.columns.iter();
        let of_table = columns.map(|column| logical_field(column).with_name(spellings.spell(&column.name)));
        let field =
            |(field, array): (Field, &ArrayRef)| field.with_data_type(array.data_type().clone()).with_nullable(true);
        let fields: Vec<Field> = of_table.chain(others.iter().cloned()).zip(rows.columns()).map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let rows = Mutex::new(in_schema(&schema, rows)?);
        Ok(Self { schema, rows })
    }

    /// Replaces the rows.
    pub(crate) fn replace(&self, rows: &RecordBatch) -> Result<()> {
        *self.rows.lock() = in_schema(&self.schema, rows)?;
        Ok(())
    }

    /// The rows as a table.
    pub(crate) fn provider(self: &Arc<Self>) -> DataFusionResult<Arc<dyn TableProvider>> {
        let stream: Arc<dyn PartitionStream> = Arc::new(Stream(Arc::clone(self)));
        Ok(Arc::new(StreamingTable::try_new(Arc::clone(&self.schema), vec![stream])?))
    }
}

#[derive(Debug)]
struct Stream(Arc<WorkTable>);

impl PartitionStream for Stream {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.0.rows.lock().clone();
        let length = context.session_config().batch_size().max(1);
        let starts = (0..rows.num_rows()).step_by(length);
        let pieces: Vec<_> = starts.map(|at| Ok(rows.slice(at, length.min(rows.num_rows() - at)))).collect();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.0.schema), futures::stream::iter(pieces)))
    }
}

/// `SELECT 1 FROM the work table AS alias`, to be completed.
pub(crate) fn work_query(alias: &str) -> Result<Query> {
    let statements = Parser::parse_sql(&GenericDialect, "SELECT 1 FROM a.b AS c");
    let statement = statements.map_err(|error| Error::internal(error.to_string()))?.pop();
    let Some(Ast::Query(mut query)) = statement else { return Err(Error::internal("a SELECT is not a query")) };
    match select_of(&mut query)?.from.as_mut_slice() {
        [TableWithJoins { relation: TableFactor::Table { name, alias: Some(named), .. }, .. }] => {
            *name = ObjectName::from(vec![Ident::new(WORK_SCHEMA), Ident::new("rows")]);
            named.name = Ident::new(alias);
        }
        _ => return Err(Error::internal("SELECT FROM has no table")),
    }
    Ok(*query)
}

/// The SELECT of [`work_query`].
pub(crate) fn select_of(query: &mut Query) -> Result<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(Error::internal("a query is not a SELECT")),
    }
}

fn in_schema(schema: &SchemaRef, rows: &RecordBatch) -> Result<RecordBatch> {
    let matches = |(field, array): (&Arc<Field>, &ArrayRef)| field.data_type() == array.data_type();
    match schema.fields().len() == rows.num_columns() && schema.fields().iter().zip(rows.columns()).all(matches) {
        true => RecordBatch::try_new(Arc::clone(schema), rows.columns().to_vec()).map_err(Error::from),
        false => Err(Error::internal("the rows of a work table have other columns")),
    }
}
