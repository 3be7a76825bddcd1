//! `(SELECT)`, `x IN (SELECT)` and `x IN (SELECT a, b)`: subqueries with too few or too many columns. DataFusion looks
//! at the first column of a subquery without asking whether there is one. Such subqueries are refused here.
//!
//! The tables and views that a statement names always have columns. How many is unknown here, so subqueries over all of
//! their columns are not checked.
//!
//! No upstream issue known.

use crate::text::errors::sql_error;
use crate::text::relations::{merges_columns, relations_of};
use crate::text::tree_walk::visit;
use crate::workarounds::syntax::names::named_tables::of_cte;
use crate::workarounds::syntax::names::shown_columns::shown_name;
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, Visitor, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Refuses subqueries of the wrong width.
pub(crate) fn refuse_wrong_widths(statement: &Statement) -> Result<()> {
    match visit(statement, &mut Subqueries::default()) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

#[derive(Default)]
struct Subqueries {
    widths: Widths,
    /// The number of common table expressions outside of each of the queries around.
    outer_ctes: Vec<usize>,
}

impl Visitor for Subqueries {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        self.outer_ctes.push(self.widths.ctes.len());
        self.widths.note(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Error> {
        let outer = self.outer_ctes.pop().unwrap_or_default();
        self.widths.ctes.truncate(outer);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        match self.check(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Subqueries {
    fn check(&self, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Subquery(query) => self.check_value(query),
            Expr::Function(Function { args: FunctionArguments::Subquery(query), .. }) => self.check_value(query),
            Expr::InSubquery { expr, subquery, .. } => self.check_members(expr, subquery),
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => match right.as_ref() {
                Expr::Subquery(query) => self.check_members(left, query),
                _ => Ok(()),
            },
            Expr::BinaryOp { left, right, .. } => match (width_of(left), right.as_ref()) {
                (Some(2..), Expr::Subquery(query)) => self.check_members(left, query),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Refuses a value without columns. A subquery with several may stand beside several columns of an `UPDATE`.
    fn check_value(&self, query: &Query) -> Result<()> {
        match self.widths.of_query(query) {
            Some(0) => Err(sql_error("subquery must return only one column")),
            _ => Ok(()),
        }
    }

    /// Refuses rows that are wider or narrower than the row they are compared with.
    fn check_members(&self, row: &Expr, query: &Query) -> Result<()> {
        let (Some(wanted), Some(width)) = (width_of(row), self.widths.of_query(query)) else { return Ok(()) };
        if width < wanted {
            return Err(sql_error("subquery has too few columns"));
        }
        if width > wanted {
            return Err(sql_error("subquery has too many columns"));
        }
        Ok(())
    }
}

/// The number of values of an expression; `None` if a `*` is among them.
fn width_of(expr: &Expr) -> Option<usize> {
    let is_star = |value: &Expr| matches!(value, Expr::Wildcard(_) | Expr::QualifiedWildcard(..));
    match expr {
        Expr::Nested(inner) => width_of(inner),
        Expr::Tuple(values) => (!values.iter().any(is_star)).then_some(values.len()),
        Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, .. })
            if name.to_string().eq_ignore_ascii_case("row") =>
        {
            let is_value = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
            list.args.iter().all(is_value).then_some(list.args.len())
        }
        other => (!is_star(other)).then_some(1),
    }
}

/// The numbers of columns of common table expressions; `None` where one is unknown.
#[derive(Clone, Default)]
struct Widths {
    ctes: Vec<(String, Option<usize>)>,
}

impl Widths {
    /// Notes the common table expressions of a query.
    fn note(&mut self, query: &Query) {
        let Some(with) = &query.with else { return };
        if with.recursive {
            let unknown = with.cte_tables.iter().map(|Cte { alias, .. }| (alias.name.value.clone(), None));
            self.ctes.extend(unknown);
        }
        for Cte { alias, query, .. } in &with.cte_tables {
            let width = self.of_query(query);
            self.ctes.push((alias.name.value.clone(), width));
        }
    }

    fn of_query(&self, query: &Query) -> Option<usize> {
        if query.with.is_none() {
            return self.of_body(&query.body);
        }
        let mut inner = self.clone();
        inner.note(query);
        inner.of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Option<usize> {
        match body {
            SetExpr::Select(select) => self.of_select(select),
            SetExpr::Query(query) => self.of_query(query),
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
            SetExpr::Table(table) => {
                let name = table.table_name.as_ref().filter(|_| table.schema_name.is_none())?;
                self.ctes.iter().rev().find(|(cte, _)| same_name(cte, name)).and_then(|(_, width)| *width)
            }
            _ => None,
        }
    }

    fn of_select(&self, select: &Select) -> Option<usize> {
        let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        let relations: Vec<(&TableFactor, Option<usize>)> = if select.projection.iter().any(is_star) {
            relations_of(&select.from).map(|relation| (relation, self.of_relation(relation))).collect()
        } else {
            Vec::new()
        };
        let is_plain = |options: &WildcardAdditionalOptions| *options == WildcardAdditionalOptions::default();
        let mut width: usize = 0;
        for item in &select.projection {
            let of_item = match item {
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => 1,
                SelectItem::Wildcard(options) if is_plain(options) => {
                    let all = sum(relations.iter().map(|(_, width)| *width))?;
                    if all > 0 && merges_columns(&select.from) {
                        return None;
                    }
                    all
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if is_plain(options) =>
                {
                    let named = relations.iter().find(|(relation, _)| is_named(relation, name));
                    named.and_then(|(_, width)| *width)?
                }
                _ => return None,
            };
            width = width.saturating_add(of_item);
        }
        Some(width)
    }

    fn of_relation(&self, relation: &TableFactor) -> Option<usize> {
        match relation {
            TableFactor::Table { name, args: None, .. } => of_cte(&self.ctes, name).copied().flatten(),
            TableFactor::Derived { subquery, .. } => self.of_query(subquery),
            TableFactor::NestedJoin { table_with_joins, .. } => {
                let inner = std::slice::from_ref(table_with_joins.as_ref());
                let all = sum(relations_of(inner).map(|relation| self.of_relation(relation)))?;
                (all == 0 || !merges_columns(inner)).then_some(all)
            }
            _ => None,
        }
    }
}

/// Returns whether `name.*` means the columns of a relation.
fn is_named(relation: &TableFactor, name: &ObjectName) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.zip(shown_name(relation)).is_some_and(|(name, shown)| same_name(&name.value, &shown.value))
}

fn sum(mut widths: impl Iterator<Item = Option<usize>>) -> Option<usize> {
    widths.try_fold(0_usize, |sum, width| Some(sum.saturating_add(width?)))
}
