//! `NATURAL JOIN` of tables becomes `JOIN ... USING` the columns that both have, because DataFusion is wrong about
//! `NATURAL RIGHT` and `FULL JOIN`, and about the columns that `*` shows.
//!
//! Waits for [#22881](https://github.com/apache/datafusion/issues/22881), as `USING` does.

use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, Statement, TableFactor, TableWithJoins,
    Value, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Names the columns of natural joins of tables. Joins with a subquery or a view stay as they are.
pub(super) fn name_natural_columns(statement: &mut Statement, tables: &[Table]) {
    if !tables.is_empty() {
        let _ = statement.visit(&mut Naming { tables, hidden: Vec::new() });
    }
}

struct Naming<'a> {
    tables: &'a [Table],
    /// Names of common table expressions, which hide tables of the same name.
    hidden: Vec<String>,
}

impl VisitorMut for Naming<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.extend(ctes.map(|Cte { alias, .. }| alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for from in &mut select.from {
            self.name(from);
        }
        ControlFlow::Continue(())
    }
}

impl Naming<'_> {
    fn name(&self, from: &mut TableWithJoins) {
        let mut left = self.columns_of(&from.relation);
        for join in &mut from.joins {
            let right = self.columns_of(&join.relation);
            let constraint = match &mut join.join_operator {
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::Left(constraint)
                | JoinOperator::LeftOuter(constraint)
                | JoinOperator::Right(constraint)
                | JoinOperator::RightOuter(constraint)
                | JoinOperator::FullOuter(constraint) => constraint,
                _ => return,
            };
            let (Some(before), Some(right)) = (left.take(), right) else { return };
            let is_shared = |name: &&Ident| right.iter().any(|other| same_name(&other.value, &name.value));
            let shared: Vec<Ident> = match constraint {
                JoinConstraint::Natural => before.iter().filter(is_shared).cloned().collect(),
                JoinConstraint::Using(names) => {
                    names.iter().filter_map(|name| name.0.last()?.as_ident()).cloned().collect()
                }
                _ => Vec::new(),
            };
            let count = |name: &Ident| before.iter().filter(|other| same_name(&other.value, &name.value)).count();
            if shared.iter().any(|name| count(name) > 1) {
                return;
            }
            let is_merged = |name: &Ident| shared.iter().any(|other| same_name(&other.value, &name.value));
            if matches!(constraint, JoinConstraint::Natural) {
                *constraint = match shared.is_empty() {
                    true => JoinConstraint::On(Expr::value(Value::Boolean(true))),
                    false => {
                        JoinConstraint::Using(shared.iter().map(|name| ObjectName::from(vec![name.clone()])).collect())
                    }
                };
            }
            let others = before.into_iter().chain(right).filter(|name| !is_merged(name));
            left = Some(shared.iter().cloned().chain(others).collect());
        }
    }

    fn columns_of(&self, relation: &TableFactor) -> Option<Vec<Ident>> {
        let TableFactor::Table { name, alias, args: None, .. } = relation else { return None };
        let [part] = name.0.as_slice() else { return None };
        let name = &part.as_ident()?.value;
        if self.hidden.iter().any(|hidden| same_name(hidden, name))
            || alias.as_ref().is_some_and(|alias| !alias.columns.is_empty())
        {
            return None;
        }
        let table = self.tables.iter().find(|table| same_name(&table.definition.name, name))?;
        let columns = &table.definition.columns;
        let quoted = |name: &str| Ident::with_quote('"', name);
        table.definition.view.is_none().then(|| columns.iter().map(|column| quoted(&column.name)).collect())
    }
}
