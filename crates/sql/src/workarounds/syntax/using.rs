//! The column that `JOIN ... USING (k)` merges: `k` is the value of whichever side has a row. DataFusion takes the left
//! side's, which `RIGHT` and `FULL` may lack, and now and then cannot decide.
//!
//! Waits for [#22881](https://github.com/apache/datafusion/issues/22881).

use crate::text::errors::not_supported;
use atsdb_core::Error;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, OrderBy, Query,
    ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    TableWithJoins, VisitMut, VisitorMut, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Names the sides of merged columns in a query and its ORDER BY. In the `*` of a single join they come first.
pub(crate) fn merge_columns(select: &mut Select, order: Option<&mut OrderBy>) -> ControlFlow<Error> {
    let mut merged = Merged::default();
    for from in &select.from {
        merged.of(from)?;
    }
    if merged.columns.is_empty() {
        return ControlFlow::Continue(());
    }
    let sides = sides_of(&select.from);
    let mut items = Vec::with_capacity(select.projection.len());
    for mut item in std::mem::take(&mut select.projection) {
        let is_all = matches!(&item, SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default());
        match sides.as_ref().filter(|_| is_all) {
            Some(sides) => {
                items.extend(merged.columns.iter().map(MergedColumn::item));
                items.extend(sides.iter().map(|side| merged.others_of(side)));
            }
            None => {
                merged.rewrite_item(&mut item);
                items.push(item);
            }
        }
    }
    select.projection = items;
    let _ = select.selection.visit(&mut merged);
    if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
        let _ = groups.visit(&mut merged);
    }
    let _ = select.having.visit(&mut merged);
    let _ = select.qualify.visit(&mut merged);
    // In ORDER BY a name is a column of the answer before it is one of a table.
    merged.columns.retain(|column| !select.projection.iter().any(|item| is_called(item, &column.name)));
    if let Some(order) = order {
        let _ = order.visit(&mut merged);
    }
    ControlFlow::Continue(())
}

/// The names of the two sides of a single join.
fn sides_of(from: &[TableWithJoins]) -> Option<[Ident; 2]> {
    let [TableWithJoins { relation, joins }] = from else { return None };
    let [join] = joins.as_slice() else { return None };
    Some([name_of(relation)?, name_of(&join.relation)?])
}

#[derive(Default)]
struct Merged {
    columns: Vec<MergedColumn>,
    /// How many subqueries the visitor is in.
    depth: usize,
}

struct MergedColumn {
    name: Ident,
    value: Expr,
    /// Whether it is something else than the left side's column.
    is_changed: bool,
}

impl MergedColumn {
    /// It as a column of the answer.
    fn item(&self) -> SelectItem {
        match self.is_changed {
            true => SelectItem::ExprWithAlias { expr: self.value.clone(), alias: self.name.clone() },
            false => SelectItem::UnnamedExpr(self.value.clone()),
        }
    }
}

impl Merged {
    fn of(&mut self, from: &TableWithJoins) -> ControlFlow<Error> {
        let mut relations: Vec<Option<Ident>> = vec![name_of(&from.relation)];
        for Join { relation, join_operator, .. } in &from.joins {
            let right = name_of(relation);
            let (constraint, keeps_right, keeps_left) = match join_operator {
                JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, true, false),
                JoinOperator::FullOuter(constraint) => (constraint, true, true),
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::Left(constraint)
                | JoinOperator::LeftOuter(constraint) => (constraint, false, true),
                _ => (&JoinConstraint::None, false, true),
            };
            if let (JoinConstraint::Natural, true) = (constraint, keeps_right) {
                let hint = "write USING (...)";
                return ControlFlow::Break(not_supported("NATURAL RIGHT or FULL JOIN").with_hint(hint));
            }
            if let JoinConstraint::Using(names) = constraint {
                for name in names {
                    self.merge(name, &relations, right.as_ref(), (keeps_left, keeps_right))?;
                }
            }
            relations.push(right);
        }
        ControlFlow::Continue(())
    }

    fn merge(
        &mut self,
        name: &ObjectName,
        relations: &[Option<Ident>],
        right: Option<&Ident>,
        (keeps_left, keeps_right): (bool, bool),
    ) -> ControlFlow<Error> {
        let Some(name) = name.0.last().and_then(|part| part.as_ident()) else { return ControlFlow::Continue(()) };
        let qualified = |relation: &Ident| Expr::CompoundIdentifier(vec![relation.clone(), name.clone()]);
        let known = self.columns.iter().position(|column| is_same(&column.name, name));
        let left = match (known, relations) {
            (Some(known), _) => Some((self.columns[known].value.clone(), self.columns[known].is_changed)),
            (None, [Some(relation)]) => Some((qualified(relation), false)),
            _ => None,
        };
        let (value, is_changed) = match (left, right, keeps_right) {
            (Some((value, is_changed)), _, false) => (value, is_changed),
            (None, _, false) => return ControlFlow::Continue(()),
            (_, Some(right), true) if !keeps_left => (qualified(right), true),
            (Some((left, _)), Some(right), true) => (coalesced(&left, &qualified(right)), true),
            _ => {
                let hint = "name the tables, and join ON their columns";
                return ControlFlow::Break(not_supported("this RIGHT or FULL JOIN ... USING").with_hint(hint));
            }
        };
        let column = MergedColumn { name: name.clone(), value, is_changed };
        match known {
            Some(known) => self.columns[known] = column,
            None => self.columns.push(column),
        }
        ControlFlow::Continue(())
    }

    /// The columns of one side that are not merged.
    fn others_of(&self, side: &Ident) -> SelectItem {
        let names = self.columns.iter().map(|column| ObjectName::from(vec![column.name.clone()]));
        let opt_exclude = Some(ExcludeSelectItem::Multiple(names.collect()));
        let kind = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![side.clone()]));
        SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions { opt_exclude, ..Default::default() })
    }

    fn find(&self, name: &Ident) -> Option<&MergedColumn> {
        self.columns.iter().find(|column| is_same(&column.name, name))
    }

    fn rewrite_item(&mut self, item: &mut SelectItem) {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                if let Some(column) = self.find(name) {
                    *item = SelectItem::ExprWithAlias { expr: column.value.clone(), alias: name.clone() };
                }
            }
            SelectItem::Wildcard(options) if options.opt_replace.is_none() => {
                let element = |column: &MergedColumn| {
                    let (expr, column_name) = (column.value.clone(), column.name.clone());
                    Box::new(ReplaceSelectElement { expr, column_name, as_keyword: true })
                };
                let changed = self.columns.iter().filter(|column| column.is_changed);
                let items: Vec<_> = changed.map(element).collect();
                options.opt_replace = (!items.is_empty()).then_some(ReplaceSelectItem { items });
            }
            other => drop(other.visit(self)),
        }
    }
}

impl VisitorMut for Merged {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.depth == 0
            && let Some(column) = self.find(name)
        {
            *expr = column.value.clone();
        }
        ControlFlow::Continue(())
    }
}

fn is_same(one: &Ident, other: &Ident) -> bool {
    one.value.eq_ignore_ascii_case(&other.value)
}

fn is_called(item: &SelectItem, name: &Ident) -> bool {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => is_same(alias, name),
        SelectItem::Wildcard(_) => true,
        _ => false,
    }
}

/// What a relation's columns may be qualified by.
fn name_of(relation: &TableFactor) -> Option<Ident> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, alias: None, .. } => name.0.last().and_then(|part| part.as_ident()).cloned(),
        _ => None,
    }
}

fn coalesced(left: &Expr, right: &Expr) -> Expr {
    let text = format!("coalesce({left}, {right})");
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_expr());
    parsed.unwrap_or_else(|_| left.clone())
}
