//! The column that `JOIN ... USING (k)` merges: `k` is the value of the side that has a row. DataFusion takes the left
//! side's value, which is missing in some rows of `RIGHT` and `FULL` joins, and sometimes reports an ambiguity.
//!
//! Waits for [#22881](https://github.com/apache/datafusion/issues/22881).

use crate::text::errors::not_supported;
use crate::text::tree_walk::visit_outer_expressions_mut;
use crate::workarounds::syntax::binary;
use crate::workarounds::syntax::rows::rows_of_functions::is_table_function;
use atsdb_core::Error;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, ExcludeSelectItem, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    OrderBy, ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    TableWithJoins, VisitMut, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Replaces merged columns in a query and its ORDER BY by expressions over the joined tables. Of each item of FROM, `*`
/// shows them first, those of the last join before the others.
pub(crate) fn merge_columns(select: &mut Select, order: Option<&mut OrderBy>) -> ControlFlow<Error> {
    let mut merged = Merged::default();
    for from in &mut select.from {
        merged.of(from)?;
    }
    if merged.columns.is_empty() {
        return ControlFlow::Continue(());
    }
    let shown = merged.shown();
    let mut items = Vec::with_capacity(select.projection.len());
    for mut item in std::mem::take(&mut select.projection) {
        let is_all = matches!(&item, SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default());
        match shown.as_ref().filter(|_| is_all) {
            Some(shown) => items.extend(shown.iter().cloned()),
            None if merged.has_conditions && matches!(item, SelectItem::Wildcard(_)) => {
                let what = not_supported("* over this JOIN ... USING after a RIGHT or FULL JOIN");
                return ControlFlow::Break(what.with_hint("name the columns"));
            }
            None => {
                merged.rewrite_item(&mut item);
                items.push(item);
            }
        }
    }
    select.projection = items;
    merged.replace_in(&mut select.selection);
    if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
        merged.replace_in(groups);
    }
    merged.replace_in(&mut select.having);
    merged.replace_in(&mut select.qualify);
    // In ORDER BY a name refers to a column of the answer first, and only then to one of a table.
    merged.columns.retain(|column| !select.projection.iter().any(|item| is_called(item, &column.name)));
    if let Some(order) = order {
        merged.replace_in(order);
    }
    ControlFlow::Continue(())
}

#[derive(Default)]
struct Merged {
    columns: Vec<MergedColumn>,
    /// What `*` shows of each item of FROM.
    shown_joins: Vec<ShownJoin>,
    /// Whether a join was rewritten to one with ON, for which DataFusion merges no columns.
    has_conditions: bool,
}

/// The columns that `*` shows of an item of FROM.
struct ShownJoin {
    /// The names of the merged columns, in the order in which they are shown.
    first: Vec<Ident>,
    /// The joined tables; `None` if it is not known which of their columns are merged.
    sides: Option<Vec<JoinedTable>>,
}

impl ShownJoin {
    fn of(relation: &TableFactor) -> Self {
        let sides = name_of(relation).map(|name| vec![JoinedTable { name, merged: Vec::new() }]);
        Self { first: Vec::new(), sides }
    }

    /// Adds a joined table, and the columns that it shares with those before it. `are_known` is false if a value of a
    /// shared column is not known.
    fn join(&mut self, side: Option<&Ident>, operator: &JoinOperator, names: &[Ident], are_known: bool) {
        let is_plain = matches!(
            operator,
            JoinOperator::Join(_)
                | JoinOperator::Inner(_)
                | JoinOperator::Left(_)
                | JoinOperator::LeftOuter(_)
                | JoinOperator::Right(_)
                | JoinOperator::RightOuter(_)
                | JoinOperator::FullOuter(_)
                | JoinOperator::CrossJoin(_)
        );
        let (Some(mut sides), Some(side), true) = (self.sides.take(), side, is_plain && are_known) else { return };
        let is_new = |name: &&Ident| !self.first.iter().any(|known| is_same(known, name));
        match (names.iter().any(|name| is_new(&name)), sides.as_mut_slice()) {
            (false, _) => {}
            (true, [only]) => only.merged = names.to_vec(),
            // It is not known which table on the left the column belongs to.
            (true, _) => return,
        }
        self.first.retain(|known| !names.iter().any(|name| is_same(known, name)));
        self.first.splice(0..0, names.iter().cloned());
        sides.push(JoinedTable { name: side.clone(), merged: names.to_vec() });
        self.sides = Some(sides);
    }
}

/// A joined table.
struct JoinedTable {
    name: Ident,
    merged: Vec<Ident>,
}

impl JoinedTable {
    /// The table's columns that are not merged, as an item of SELECT.
    fn others(&self) -> SelectItem {
        let names: Vec<ObjectName> = self.merged.iter().map(|name| ObjectName::from(vec![name.clone()])).collect();
        let opt_exclude = (!names.is_empty()).then_some(ExcludeSelectItem::Multiple(names));
        let kind = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![self.name.clone()]));
        SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions { opt_exclude, ..Default::default() })
    }
}

struct MergedColumn {
    name: Ident,
    value: Expr,
    /// Whether the value differs from the left side's column.
    is_changed: bool,
    /// The number of joins that have merged it.
    join_count: usize,
}

impl MergedColumn {
    /// The merged column as a column of the answer.
    fn item(&self) -> SelectItem {
        match self.is_changed {
            true => SelectItem::ExprWithAlias { expr: self.value.clone(), alias: self.name.clone() },
            false => SelectItem::UnnamedExpr(self.value.clone()),
        }
    }
}

impl Merged {
    fn of(&mut self, from: &mut TableWithJoins) -> ControlFlow<Error> {
        let mut relations: Vec<Option<Ident>> = vec![name_of(&from.relation)];
        let mut shown = ShownJoin::of(&from.relation);
        for Join { relation, join_operator, .. } in &mut from.joins {
            let right = name_of(relation);
            let mut none = JoinConstraint::None;
            let (constraint, keeps_right, keeps_left) = match join_operator {
                JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, true, false),
                JoinOperator::FullOuter(constraint) => (constraint, true, true),
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::Left(constraint)
                | JoinOperator::LeftOuter(constraint) => (constraint, false, true),
                _ => (&mut none, false, true),
            };
            if let (JoinConstraint::Natural, true) = (&*constraint, keeps_right) {
                let hint = "write USING (...)";
                return ControlFlow::Break(not_supported("NATURAL RIGHT or FULL JOIN").with_hint(hint));
            }
            if let JoinConstraint::On(condition) = constraint {
                self.replace_in(condition);
            }
            let is_natural = matches!(constraint, JoinConstraint::Natural);
            let mut merged = Vec::new();
            if let JoinConstraint::Using(names) = constraint {
                merged.extend(names.iter().filter_map(|name| name.0.last()?.as_ident()).cloned());
                let condition = self.condition(&merged, right.as_ref())?;
                for name in &merged {
                    self.merge(name, &relations, right.as_ref(), (keeps_left, keeps_right))?;
                }
                if let Some(condition) = condition {
                    *constraint = JoinConstraint::On(condition);
                    self.has_conditions = true;
                }
            }
            if is_natural {
                shown.sides = None;
            } else {
                let are_known = merged.iter().all(|name| self.find(name).is_some());
                shown.join(right.as_ref(), join_operator, &merged, are_known);
            }
            relations.push(right);
        }
        self.shown_joins.push(shown);
        ControlFlow::Continue(())
    }

    /// What `*` shows; `None` if that is not known, or if several items of FROM merge columns of the same name.
    fn shown(&self) -> Option<Vec<SelectItem>> {
        let (mut names, mut items) = (Vec::<&Ident>::new(), Vec::new());
        for shown in &self.shown_joins {
            if shown.first.iter().any(|name| names.iter().any(|known| is_same(known, name))) {
                return None;
            }
            names.extend(&shown.first);
            items.extend(shown.first.iter().filter_map(|name| self.find(name)).map(MergedColumn::item));
            items.extend(shown.sides.as_ref()?.iter().map(JoinedTable::others));
        }
        Some(items)
    }

    /// The condition that replaces USING if the left side's value is not the column that DataFusion would take, or if
    /// it finds none because two joins have merged the column before. It compares the values merged so far.
    fn condition(&self, names: &[Ident], right: Option<&Ident>) -> ControlFlow<Error, Option<Expr>> {
        let is_unknown = |column: &MergedColumn| column.is_changed || column.join_count > 1;
        if !names.iter().any(|name| self.find(name).is_some_and(is_unknown)) {
            return ControlFlow::Continue(None);
        }
        let equal = |name: &Ident| {
            let (left, right) = (self.find(name)?.value.clone(), qualified(right?, name));
            Some(binary(left, BinaryOperator::Eq, right))
        };
        let both = |left, right| binary(left, BinaryOperator::And, right);
        match names.iter().map(equal).collect::<Option<Vec<_>>>() {
            Some(conditions) => ControlFlow::Continue(conditions.into_iter().reduce(both)),
            None => {
                let hint = "name the tables, and join ON their columns";
                ControlFlow::Break(not_supported("this JOIN ... USING after a RIGHT or FULL JOIN").with_hint(hint))
            }
        }
    }

    fn merge(
        &mut self,
        name: &Ident,
        relations: &[Option<Ident>],
        right: Option<&Ident>,
        (keeps_left, keeps_right): (bool, bool),
    ) -> ControlFlow<Error> {
        let known = self.columns.iter().position(|column| is_same(&column.name, name));
        let left = match (known, relations) {
            (Some(known), _) => Some((self.columns[known].value.clone(), self.columns[known].is_changed)),
            (None, [Some(relation)]) => Some((qualified(relation, name), false)),
            _ => None,
        };
        let (value, is_changed) = match (left, right, keeps_right) {
            (Some((value, is_changed)), _, false) => (value, is_changed),
            (None, _, false) => return ControlFlow::Continue(()),
            (_, Some(right), true) if !keeps_left => (qualified(right, name), true),
            (Some((left, _)), Some(right), true) => (coalesced(&left, &qualified(right, name)), true),
            _ => {
                let hint = "name the tables, and join ON their columns";
                return ControlFlow::Break(not_supported("this RIGHT or FULL JOIN ... USING").with_hint(hint));
            }
        };
        let join_count = known.map_or(0, |known| self.columns[known].join_count) + 1;
        let column = MergedColumn { name: name.clone(), value, is_changed, join_count };
        match known {
            Some(known) => self.columns[known] = column,
            None => self.columns.push(column),
        }
        ControlFlow::Continue(())
    }

    fn find(&self, name: &Ident) -> Option<&MergedColumn> {
        self.columns.iter().find(|column| is_same(&column.name, name))
    }

    fn rewrite_item(&self, item: &mut SelectItem) {
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
            other => self.replace_in(other),
        }
    }

    /// Replaces the names of merged columns in a part of the query. Those in subqueries stay.
    fn replace_in(&self, part: &mut impl VisitMut) {
        let _ = visit_outer_expressions_mut(part, |expr| {
            if let Expr::Identifier(name) = expr
                && let Some(column) = self.find(name)
            {
                *expr = column.value.clone();
            }
            ControlFlow::<()>::Continue(())
        });
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

/// The name that qualifies a relation's columns. Those of a function that only returns rows have none without an alias.
fn name_of(relation: &TableFactor) -> Option<Ident> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, alias: None, args, .. } if args.is_none() || !is_table_function(name) => {
            name.0.last().and_then(|part| part.as_ident()).cloned()
        }
        _ => None,
    }
}

fn qualified(relation: &Ident, name: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![relation.clone(), name.clone()])
}

fn coalesced(left: &Expr, right: &Expr) -> Expr {
    let text = format!("coalesce({left}, {right})");
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_expr());
    parsed.unwrap_or_else(|_| left.clone())
}
