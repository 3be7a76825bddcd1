//! What the evaluation of a query goes on with: the session, parameters, outer rows.

use super::relation::{ColumnName, Relation, Row, find};
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::settings::Settings;
use datafusion::sql::sqlparser::ast::{Expr, Query};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Named results of `WITH`.
pub(in crate::pg) type Ctes = Rc<BTreeMap<String, Relation>>;

/// What all parts of a query share.
pub(in crate::pg) struct Context<'a> {
    pub(in crate::pg) parameters: &'a [Value],
    pub(in crate::pg) database: &'a str,
    pub(in crate::pg) user: &'a str,
    pub(in crate::pg) process: i32,
    pub(in crate::pg) settings: RefCell<Settings>,
    /// Settings that `set_config` changed.
    pub(in crate::pg) changed: RefCell<Vec<(String, String)>>,
    /// The tables of the catalogue.
    pub(in crate::pg) source: &'a dyn Source,
    /// Executes the queries inside of expressions.
    pub(in crate::pg) queries: &'a dyn Queries,
}

/// Gives the tables of the catalogue.
pub(in crate::pg) trait Source {
    /// The table of this schema and name.
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>, PgError>;
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
    /// The rows of the group, where there are groups.
    pub(in crate::pg) group: Option<&'a [Row]>,
    /// Values of calls that were computed before: of sets, of windows.
    pub(in crate::pg) computed: Option<&'a BTreeMap<*const Expr, Value>>,
    pub(in crate::pg) outer: Option<&'a Frame<'a>>,
    pub(in crate::pg) ctes: Ctes,
}

impl<'a> Frame<'a> {
    /// The frame of a query that nothing surrounds.
    pub(in crate::pg) fn root() -> Self {
        Self { columns: &[], row: &[], group: None, computed: None, outer: None, ctes: Ctes::default() }
    }

    /// One row of some columns inside of this frame.
    pub(in crate::pg) fn with_row<'b>(&'b self, columns: &'b [ColumnName], row: &'b [Value]) -> Frame<'b>
    where
        'a: 'b,
    {
        Frame { columns, row, group: None, computed: None, outer: Some(self), ctes: Rc::clone(&self.ctes) }
    }

    /// The column that a name leads to, here or outside.
    pub(in crate::pg) fn column(&self, table: Option<&str>, name: &str) -> Option<(&ColumnName, &Value)> {
        match find(self.columns, table, name) {
            Some(position) => Some((&self.columns[position], self.row.get(position).unwrap_or(&Value::Null))),
            None => self.outer?.column(table, name),
        }
    }

    /// The row of a table, if a name is one's.
    pub(in crate::pg) fn whole_row(&self, table: &str) -> Option<Vec<Value>> {
        let is_of_it = |column: &ColumnName| column.table.as_deref() == Some(table) && !column.is_system();
        let of_table = self.columns.iter().zip(self.row).filter(|(column, _)| is_of_it(column));
        let values: Vec<Value> = of_table.map(|(_, value)| value.clone()).collect();
        if values.is_empty() { self.outer?.whole_row(table) } else { Some(values) }
    }
}
