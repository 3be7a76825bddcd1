//! The `WHERE` of a `COPY ... FROM`: a query over each batch of complete rows, which returns the numbers of the rows
//! that satisfy the condition. It is planned once.

use crate::plan::work_table::{WorkQuery, WorkTable, select_of, work_query};
use crate::run::interrupt::Interrupt;
use crate::run::worker::{QueryRows, Worker};
use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use atsdb_core::{Error, Result, Table};
use atsdb_dialect::parse::statement::parse_over;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{Scope, exact_name};
use atsdb_dialect::text::tree_walk::visit;
use atsdb_engine::ReadSnapshot;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr, Statement as Ast, Visitor};
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The column with the number of the row in its batch, because a plan may return rows in another order.
const ORDINAL: &str = "\u{1}ordinal";

/// A condition of the rows of one table.
pub(crate) struct CopyCondition {
    table: Table,
    query: Option<Query>,
    spellings: SharedSpellings,
    parameters: Parameters,
    running: Option<(mpsc::UnboundedSender<RecordBatch>, QueryRows)>,
}

impl CopyCondition {
    /// Parses a condition. `position` is where the statement begins.
    pub(crate) fn new(
        text: &str,
        position: SourcePosition,
        table: &Table,
        tables: &[Table],
        parameters: &Parameters,
    ) -> Result<Self> {
        let name = exact_name(table);
        let (statement, spellings) =
            parse_over(&format!("SELECT 1 FROM {name} WHERE {text}"), position, parameters, Scope::in_public(tables))?;
        let selection = condition_of(statement)?;
        if visit(&selection, &mut Subqueries).is_break() {
            return Err(not_supported("a subquery in the WHERE of COPY").with_hint("load the rows, then delete some"));
        }
        let mut query = work_query(spellings.spell(table.definition.local_name()))?;
        let select = select_of(&mut query)?;
        select.projection = vec![SelectItem::UnnamedExpr(Expr::Identifier(Ident::new(ORDINAL)))];
        select.selection = Some(selection);
        let (spellings, parameters) = (Arc::new(spellings), parameters.clone());
        Ok(Self { table: table.clone(), query: Some(query), spellings, parameters, running: None })
    }

    /// The rows that satisfy the condition, in their order. They have all columns of the table.
    pub(crate) fn keep(
        &mut self,
        rows: &RecordBatch,
        worker: &Arc<Worker>,
        snapshot: &ReadSnapshot,
        interrupt: &Interrupt,
    ) -> Result<RecordBatch> {
        if rows.num_rows() == 0 {
            return Ok(rows.clone());
        }
        let numbered = numbered(rows)?;
        let (_, running) = match &mut self.running {
            Some(running) => {
                running.0.send(numbered).map_err(|_| Error::internal("the query for the condition has ended"))?;
                running
            }
            None => {
                let running = self.start(&numbered, worker, snapshot, interrupt)?;
                self.running.insert(running)
            }
        };
        let mut kept: Vec<u32> = Vec::new();
        for answer in running.round()? {
            let ordinals = answer.column(0).as_primitive_opt::<UInt32Type>();
            kept.extend(ordinals.ok_or_else(|| Error::internal("a row without its number"))?.values());
        }
        kept.sort_unstable();
        take_record_batch(rows, &UInt32Array::from(kept)).map_err(Error::from)
    }

    fn start(
        &mut self,
        rows: &RecordBatch,
        worker: &Arc<Worker>,
        snapshot: &ReadSnapshot,
        interrupt: &Interrupt,
    ) -> Result<(mpsc::UnboundedSender<RecordBatch>, QueryRows)> {
        let Some(query) = self.query.take() else { return Err(Error::internal("a condition is started twice")) };
        let ordinal = Field::new(ORDINAL, DataType::UInt32, true);
        let work_table = Arc::new(WorkTable::new(&self.table, &[ordinal], &self.spellings, rows)?);
        let (sender, more) = mpsc::unbounded_channel();
        let (spellings, parameters) = (Arc::clone(&self.spellings), self.parameters.clone());
        let query = WorkQuery { query, spellings, work_table, more: Some(more), parameters };
        Ok((sender, worker.start_on_work_table(query, snapshot, interrupt)?))
    }
}

/// The condition of the query that it was parsed in, which must have nothing else.
fn condition_of(statement: Ast) -> Result<Expr> {
    let clauses = || sql_error("the WHERE of COPY is one condition");
    let Ast::Query(query) = statement else { return Err(clauses()) };
    let is_plain = query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
    let SetExpr::Select(select) = *query.body else { return Err(clauses()) };
    let Select { selection, group_by, having, qualify, .. } = *select;
    let has_groups = match &group_by {
        datafusion::sql::sqlparser::ast::GroupByExpr::All(_) => true,
        datafusion::sql::sqlparser::ast::GroupByExpr::Expressions(by, _) => !by.is_empty(),
    };
    if !is_plain || has_groups || having.is_some() || qualify.is_some() {
        return Err(clauses());
    }
    selection.ok_or_else(clauses)
}

/// Finds a subquery.
struct Subqueries;

impl Visitor for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// The rows with their numbers.
fn numbered(rows: &RecordBatch) -> Result<RecordBatch> {
    let numbers: ArrayRef = Arc::new(UInt32Array::from_iter_values((0_u32..).take(rows.num_rows())));
    let schema = rows.schema();
    let number = Arc::new(Field::new(ORDINAL, numbers.data_type().clone(), true));
    let fields: Vec<Arc<Field>> = schema.fields().iter().cloned().chain([number]).collect();
    let columns: Vec<ArrayRef> = rows.columns().iter().cloned().chain([numbers]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::from)
}
