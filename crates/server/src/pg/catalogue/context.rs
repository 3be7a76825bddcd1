//! The context in which a query is evaluated: the session, parameters, outer rows.

use super::activity::Activity;
use super::limits::Limits;
use super::patterns::LastPattern;
use super::relation::{ColumnName, Relation, Row, find};
use super::store_functions::StoreFunctions;
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::settings::Settings;
use datafusion::sql::sqlparser::ast::{Expr, Query};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Named results of `WITH`.
pub(in crate::pg) type Ctes = Rc<BTreeMap<String, Relation>>;

/// The state that all parts of a query share.
pub(in crate::pg) struct Context<'a> {
    pub(in crate::pg) parameters: &'a [Value],
    pub(in crate::pg) database: &'a str,
    pub(in crate::pg) user: &'a str,
    pub(in crate::pg) process: i32,
    pub(in crate::pg) settings: RefCell<Settings>,
    /// Settings that `set_config` changed, and whether until the end of the transaction.
    pub(in crate::pg) changed: RefCell<Vec<(String, String, bool)>>,
    /// Messages for the client beside the answer.
    pub(in crate::pg) notices: RefCell<Vec<PgError>>,
    pub(in crate::pg) purpose: Purpose,
    pub(in crate::pg) limits: Limits<'a>,
    pub(in crate::pg) last_pattern: LastPattern,
    pub(in crate::pg) activity: &'a dyn Activity,
    /// The functions that the store computes.
    pub(in crate::pg) functions: StoreFunctions<'a>,
    /// The tables of the catalogue.
    pub(in crate::pg) source: &'a dyn CatalogueSource,
    /// Executes the subqueries of expressions.
    pub(in crate::pg) queries: &'a dyn Queries,
}

/// The purpose for which a query is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum Purpose {
    /// The query is evaluated for its columns only: nothing may happen.
    Columns,
    /// The query is evaluated for its answer.
    Answer,
}

/// Provides the tables of the catalogue.
pub(in crate::pg) trait CatalogueSource {
    /// Returns the table with this schema and name, or `None` if it does not exist.
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>, PgError>;

    /// Returns the state of the sequence with this schema and name, as a table, or `None` if it does not exist.
    fn sequence(&self, schema: &str, name: &str) -> Result<Option<Relation>, PgError>;
}

/// Executes queries.
pub(in crate::pg) trait Queries {
    fn query(&self, context: &Context<'_>, query: &Query, frame: &Frame<'_>) -> Result<Relation, PgError>;
}

/// The rows that an expression sees.
#[derive(Clone)]
pub(in crate::pg) struct Frame<'a> {
    pub(in crate::pg) columns: &'a [ColumnName],
    pub(in crate::pg) row: &'a [Value],
    /// The rows of the current group, if the query has groups.
    pub(in crate::pg) group: Option<&'a [Row]>,
    /// The values of calls that are computed in advance: set-returning functions and window functions.
    pub(in crate::pg) computed: Option<&'a BTreeMap<*const Expr, Value>>,
    pub(in crate::pg) outer: Option<&'a Frame<'a>>,
    pub(in crate::pg) ctes: Ctes,
}

impl<'a> Frame<'a> {
    /// The frame of a query that is not a subquery.
    pub(in crate::pg) fn root() -> Self {
        Self { columns: &[], row: &[], group: None, computed: None, outer: None, ctes: Ctes::default() }
    }

    /// Creates a frame for one row, inside this frame.
    pub(in crate::pg) fn with_row<'b>(&'b self, columns: &'b [ColumnName], row: &'b [Value]) -> Frame<'b>
    where
        'a: 'b,
    {
        Frame { columns, row, group: None, computed: None, outer: Some(self), ctes: Rc::clone(&self.ctes) }
    }

    /// Resolves a column name, in this frame or an outer one.
    pub(in crate::pg) fn column(&self, table: Option<&str>, name: &str) -> Option<(&ColumnName, &Value)> {
        match find(self.columns, table, name) {
            Some(position) => Some((&self.columns[position], self.row.get(position).unwrap_or(&Value::Null))),
            None => self.outer?.column(table, name),
        }
    }

    /// The row of the table with this name, if there is one.
    pub(in crate::pg) fn whole_row(&self, table: &str) -> Option<Vec<Value>> {
        Some(self.fields(table)?.into_iter().map(|(_, value)| value.clone()).collect())
    }

    /// The columns and the values of the row of the table with this name, if there is one.
    pub(in crate::pg) fn fields(&self, table: &str) -> Option<Vec<(&ColumnName, &Value)>> {
        let is_of_it = |column: &ColumnName| column.table.as_deref() == Some(table) && !column.is_system();
        let of_table: Vec<_> = self.columns.iter().zip(self.row).filter(|(column, _)| is_of_it(column)).collect();
        if of_table.is_empty() { self.outer?.fields(table) } else { Some(of_table) }
    }
}
