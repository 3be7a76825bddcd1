//! `(a JOIN b USING (k)) AS j`: `j.*` shows `k` once. DataFusion shows it for each table, so the join becomes a
//! subquery.
//!
//! No upstream issue known.

use crate::text::tree_walk::visit_mut;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, SetExpr, Statement, TableFactor, TableWithJoins, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Makes subqueries of the joins in a statement that have a name and merge columns.
pub(crate) fn select_aliased_joins(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut AliasedJoins) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct AliasedJoins;

impl VisitorMut for AliasedJoins {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let selected = match factor {
            TableFactor::NestedJoin { table_with_joins, alias } if alias.is_some() && merges(table_with_joins) => {
                selected(table_with_joins).map(|mut derived| {
                    if let TableFactor::Derived { alias: name, .. } = &mut derived {
                        *name = alias.take();
                    }
                    derived
                })
            }
            _ => return ControlFlow::Continue(()),
        };
        match selected {
            Ok(derived) => {
                *factor = derived;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Whether a join merges columns, and mentions no columns of other relations.
fn merges(joined: &TableWithJoins) -> bool {
    let is_plain = |factor: &TableFactor| {
        matches!(factor, TableFactor::Table { args: None, .. } | TableFactor::Derived { lateral: false, .. })
    };
    let merges_columns = |operator: &JoinOperator| match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => {
            matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        _ => false,
    };
    is_plain(&joined.relation)
        && joined.joins.iter().all(|join| is_plain(&join.relation))
        && joined.joins.iter().any(|join| merges_columns(&join.join_operator))
}

/// A subquery that selects all columns of a join, which it takes.
fn selected(joined: &mut TableWithJoins) -> Result<TableFactor> {
    let text = "SELECT * FROM joined";
    let parsed = Parser::new(&GenericDialect).try_with_sql(text).and_then(|mut parser| parser.parse_query());
    let mut subquery = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let SetExpr::Select(select) = subquery.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        std::mem::swap(from, joined);
    }
    Ok(TableFactor::Derived { lateral: false, subquery, alias: None, sample: None })
}
