//! Turns a statement into a query, and determines the use of the query's rows.

use super::query::Query;
use super::with_rows::StepRequest;
use crate::dml::change::Change;
use crate::dml::change_query::query_of_change;
use crate::dml::merge_query::query_of_merge;
use crate::dml::target::Target;
use crate::dml::values::source_with_defaults;
use crate::plan::files::take_files;
use crate::plan::rollups::PlanFocus;
use crate::plan::work_table::{WorkQuery, WorkTable};
use arrow::array::RecordBatch;
use atsdb_core::{Result, Table};
use atsdb_dialect::parse::refuse::refused;
use atsdb_dialect::parse::statement::{parse_over, parse_step};
use atsdb_dialect::parse::with_clause::{add_with, split_with};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::identifiers::{SharedSpellings, Spellings};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::table_names::Scope;
use datafusion::catalog::TableProvider;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A statement as a query, and the use of its rows.
pub(super) struct StatementQuery {
    pub(super) statement: Ast,
    pub(super) insert: Option<Box<Target>>,
    pub(super) change: Option<Box<Change>>,
    pub(super) spellings: SharedSpellings,
    pub(super) focus: PlanFocus,
    pub(super) work_table: Option<Arc<WorkTable>>,
    pub(super) files: Vec<Arc<dyn TableProvider>>,
    pub(super) more: Option<mpsc::UnboundedReceiver<RecordBatch>>,
    pub(super) parameters: Parameters,
}

impl StatementQuery {
    pub(super) fn of_text(query: &Query, focus: PlanFocus) -> Result<Self> {
        let scope = Scope::of(&query.snapshot);
        let (statement, spellings) = parse_over(&query.text, query.position, &query.parameters, scope)?;
        Self::of_statement(query, statement, spellings, focus, Vec::new())
    }

    /// One step of a statement whose `WITH` changes rows.
    pub(super) fn of_step(query: &Query, step: &StepRequest) -> Result<Self> {
        let scope = Scope::of(&query.snapshot);
        let (statement, spellings) = parse_step(&query.text, query.position, &query.parameters, scope, &step.step)?;
        let items = step.rows.iter().map(|rows| rows.provider(&spellings)).collect::<Result<Vec<_>>>()?;
        Self::of_statement(query, statement, spellings, PlanFocus::default(), items)
    }

    fn of_statement(
        query: &Query,
        statement: Ast,
        spellings: Spellings,
        focus: PlanFocus,
        items: Vec<Arc<dyn TableProvider>>,
    ) -> Result<Self> {
        let tables = query.snapshot.tables();
        let (with, mut statement) = split_with(statement);
        let change = match &mut statement {
            Ast::Merge(merge) => Some(query_of_merge(merge, tables, &spellings)?),
            other => query_of_change(other, tables, &spellings, with.is_some())?,
        };
        let (statement, insert, change) = match change {
            Some((mut query, change)) => {
                add_with(&mut query, with);
                (Ast::Query(Box::new(query)), None, Some(Box::new(change)))
            }
            None => {
                let (statement, insert) = query_of_statement(statement, tables)?;
                (statement, insert.map(Box::new), None)
            }
        };
        let mut statement = statement;
        let files = take_files(&mut statement, query.files.as_ref(), &spellings, items)?;
        let spellings = SharedSpellings::new(spellings);
        let parameters = query.parameters.clone();
        Ok(Self { statement, insert, change, spellings, focus, work_table: None, files, more: None, parameters })
    }

    pub(super) fn on_work_table(query: WorkQuery) -> Self {
        let WorkQuery { query, spellings, work_table, more, parameters } = query;
        let (statement, focus, work_table) = (Ast::Query(Box::new(query)), PlanFocus::default(), Some(work_table));
        let (insert, change, files) = (None, None, Vec::new());
        Self { statement, insert, change, spellings, focus, work_table, files, more, parameters }
    }
}

/// The statement to plan: a query, an EXPLAIN, or the query of an INSERT.
fn query_of_statement(statement: Ast, tables: &[Table]) -> Result<(Ast, Option<Target>)> {
    match statement {
        Ast::Query(_) => Ok((statement, None)),
        Ast::Explain { statement: inner, .. } if !matches!(*inner, Ast::Query(_)) => {
            Err(not_supported("EXPLAIN of anything but a query")
                .with_hint("write the query that finds the rows: EXPLAIN SELECT ..."))
        }
        Ast::Explain { .. } => Ok((statement, None)),
        Ast::ExplainTable { .. } => Err(sql_error("EXPLAIN takes a query").with_hint("write DESCRIBE table")),
        Ast::Insert(mut insert) => {
            let mut target = Target::of(&insert)?;
            let source = source_with_defaults(&mut insert, &mut target, tables)?;
            Ok((Ast::Query(source), Some(target)))
        }
        other => Err(refused(&other)),
    }
}
