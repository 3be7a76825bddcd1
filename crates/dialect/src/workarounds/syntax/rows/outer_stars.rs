//! The `*` of a table of an outer query, as in `FROM t, LATERAL (SELECT t.*, u.b FROM u)` and
//! `EXISTS (SELECT t.* FROM u WHERE ...)`. DataFusion only looks for the table in the FROM of the same SELECT. So the
//! columns of the table are named instead, if all of them are known.
//!
//! No upstream issue known.

use super::whole_rows::Relations;
use crate::text::relations::{name_of_relation, relations_of};
use crate::text::tree_walk::{visit, visit_mut};
use crate::workarounds::syntax::names::shown_columns::shown_name;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, Visitor, VisitorMut,
    WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Names the columns of such tables.
pub(crate) fn name_outer_stars(statement: &mut Statement, tables: &[Table]) {
    if visit(&*statement, &mut StarSearch).is_break() {
        let _ =
            visit_mut(statement, &mut OuterStars { known: vec![Relations::of_statement(tables)], outer: Vec::new() });
    }
}

/// Finds a SELECT with such a `*`. Few statements have one.
struct StarSearch;

impl Visitor for StarSearch {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if select.projection.iter().any(|item| outer_relation(item, select).is_some()) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

struct OuterStars<'a> {
    /// The relations that are known in each query that the visitor is inside of. The first are those of the statement.
    known: Vec<Relations<'a>>,
    /// The relations of each SELECT that the visitor is inside of, and their columns if all are known.
    outer: Vec<Vec<(Ident, Option<Vec<Ident>>)>>,
}

impl VisitorMut for OuterStars<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let inner = self.known.last().map(|outer| outer.inside(query));
        self.known.extend(inner);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.known.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut items = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match outer_relation(&item, select).and_then(|relation| self.columns_of(relation)) {
                Some(columns) => items.extend(columns),
                None => items.push(item),
            }
        }
        select.projection = items;
        let known = self.known.last();
        let relations = relations_of(&select.from)
            .filter_map(|relation| Some((shown_name(relation)?.clone(), known?.of_relation(relation))))
            .collect();
        self.outer.push(relations);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.outer.pop();
        ControlFlow::Continue(())
    }
}

impl OuterStars<'_> {
    /// The columns of a relation of the nearest outer query that has it; `None` if not all of them are known.
    fn columns_of(&self, relation: &Ident) -> Option<Vec<SelectItem>> {
        let mut outer = self.outer.iter().rev().flatten();
        let (_, columns) = outer.find(|(name, _)| same_name(&name.value, &relation.value))?;
        let item =
            |column: &Ident| SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![relation.clone(), column.clone()]));
        Some(columns.as_ref()?.iter().map(item).collect())
    }
}

/// The relation of an item `t.*`, if it is not in the FROM of the SELECT.
fn outer_relation<'i>(item: &'i SelectItem, select: &Select) -> Option<&'i Ident> {
    let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) = item else {
        return None;
    };
    let [name] = name.0.as_slice() else { return None };
    let name = name.as_ident()?;
    // One without a name may be a join of others in parentheses.
    let may_be = |own: Option<&Ident>| own.is_none_or(|own| same_name(&own.value, &name.value));
    let is_own = relations_of(&select.from).any(|relation| may_be(name_of_relation(relation)));
    (!is_own && *options == WildcardAdditionalOptions::default()).then_some(name)
}
