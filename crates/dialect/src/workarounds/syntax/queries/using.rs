//! The column that `JOIN ... USING (k)` merges: `k` is the value of the side that has a row. DataFusion takes the left
//! side's value, which is missing in some rows of `RIGHT` and `FULL` joins, and sometimes reports an ambiguity.
//!
//! Waits for [#22881](https://github.com/apache/datafusion/issues/22881).

use crate::text::errors::not_supported;
use crate::text::relations::{constraint_of, is_merging};
use crate::text::tree_walk::visit_outer_expressions_mut;
use crate::workarounds::syntax::binary;
use crate::workarounds::syntax::rows::rows_of_functions::is_table_function;
use atsdb_core::Error;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Distinct, ExcludeSelectItem, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator,
    ObjectName, OrderBy, ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, TableWithJoins, VisitMut, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Replaces merged columns in a query and its ORDER BY by expressions over the joined tables. Of each join, `*` shows
/// them first.
pub(crate) fn merge_columns(select: &mut Select, order: Option<&mut OrderBy>) -> ControlFlow<Error> {
    let (mut merged, mut shown) = (Merged::default(), Some(Vec::new()));
    for from in &mut select.from {
        let joined = Joined::of(from)?;
        shown = shown.zip(joined.shown).map(|(before, more)| [before, more].concat());
        merged.columns.extend(joined.merged.columns);
        merged.has_conditions |= joined.merged.has_conditions;
    }
    if merged.columns.is_empty() {
        return ControlFlow::Continue(());
    }
    let mut items = Vec::with_capacity(select.projection.len());
    for mut item in std::mem::take(&mut select.projection) {
        let is_all = matches!(&item, SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default());
        match shown.as_ref().filter(|_| is_all) {
            Some(shown) => items.extend(shown.iter().map(ShownPart::item)),
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
    for from in &mut select.from {
        merged.replace_in_arguments(&mut from.relation);
        from.joins.iter_mut().for_each(|join| merged.replace_in_arguments(&mut join.relation));
    }
    merged.replace_in(&mut select.selection);
    if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
        merged.replace_in(groups);
    }
    merged.replace_in(&mut select.having);
    merged.replace_in(&mut select.qualify);
    // In ORDER BY and DISTINCT ON a name refers to a column of the answer first, and only then to one of a table.
    merged.columns.retain(|column| !select.projection.iter().any(|item| is_called(item, &column.name)));
    if let Some(Distinct::On(columns)) = &mut select.distinct {
        merged.replace_in(columns);
    }
    if let Some(order) = order {
        merged.replace_in(order);
    }
    ControlFlow::Continue(())
}

/// An item of FROM, or one side of a join.
struct Joined {
    /// The names of its tables; `None` for a table without one.
    tables: Vec<Option<Ident>>,
    merged: Merged,
    /// What `*` shows of it; `None` if it is not known which of several tables a merged column is of.
    shown: Option<Vec<ShownPart>>,
}

/// A part of what `*` shows.
#[derive(Clone)]
enum ShownPart {
    Merged(Box<MergedColumn>),
    /// A table's columns without those that are merged.
    Table {
        name: Ident,
        merged: Vec<Ident>,
    },
}

impl ShownPart {
    /// The part as an item of SELECT.
    fn item(&self) -> SelectItem {
        match self {
            Self::Merged(column) if column.is_changed => {
                SelectItem::ExprWithAlias { expr: column.value.clone(), alias: column.name.clone() }
            }
            Self::Merged(column) => SelectItem::UnnamedExpr(column.value.clone()),
            Self::Table { name, merged } => {
                let merged: Vec<ObjectName> = merged.iter().map(|name| ObjectName::from(vec![name.clone()])).collect();
                let opt_exclude = (!merged.is_empty()).then_some(ExcludeSelectItem::Multiple(merged));
                let kind = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![name.clone()]));
                SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions { opt_exclude, ..Default::default() })
            }
        }
    }
}

/// What `*` shows of one side of a join without the columns that the join merges.
fn without(mut parts: Vec<ShownPart>, names: &[Ident]) -> Option<Vec<ShownPart>> {
    for name in names {
        let is_it = |part: &ShownPart| matches!(part, ShownPart::Merged(column) if is_same(&column.name, name));
        if let Some(known) = parts.iter().position(is_it) {
            parts.remove(known);
        } else if let [ShownPart::Table { merged, .. }] = parts.as_mut_slice() {
            merged.push(name.clone());
        } else {
            return None;
        }
    }
    Some(parts)
}

#[derive(Clone)]
struct MergedColumn {
    name: Ident,
    value: Expr,
    /// Whether the value differs from the left side's column.
    is_changed: bool,
    /// The number of joins that have merged it.
    join_count: usize,
}

impl MergedColumn {
    /// Returns whether DataFusion would take another column for it in a later USING, or finds none because two joins
    /// have merged it.
    fn is_mistaken(&self) -> bool {
        self.is_changed || self.join_count > 1
    }
}

impl Joined {
    /// The joins of an item of FROM. A USING becomes ON where DataFusion would compare other columns.
    fn of(from: &mut TableWithJoins) -> ControlFlow<Error, Self> {
        let mut left = Self::of_relation(&mut from.relation)?;
        for Join { relation, join_operator, .. } in &mut from.joins {
            let right = Self::of_relation(relation)?;
            left = left.join(right, join_operator)?;
        }
        ControlFlow::Continue(left)
    }

    fn of_relation(relation: &mut TableFactor) -> ControlFlow<Error, Self> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = relation {
            return Self::of(table_with_joins);
        }
        let name = name_of(relation);
        let shown = name.clone().map(|name| vec![ShownPart::Table { name, merged: Vec::new() }]);
        ControlFlow::Continue(Self { tables: vec![name], merged: Merged::default(), shown })
    }

    fn join(self, right: Self, operator: &mut JoinOperator) -> ControlFlow<Error, Self> {
        let is_plain = constraint_of(operator).is_some();
        let mut none = JoinConstraint::None;
        let (constraint, keeps_right, keeps_left) = match operator {
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, true, false),
            JoinOperator::FullOuter(constraint) => (constraint, true, true),
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint) => (constraint, false, true),
            _ => (&mut none, false, true),
        };
        let is_natural = matches!(constraint, JoinConstraint::Natural);
        if is_natural && keeps_right {
            return ControlFlow::Break(not_supported("NATURAL RIGHT or FULL JOIN").with_hint("write USING (...)"));
        }
        let names: Vec<Ident> = match &*constraint {
            JoinConstraint::Using(names) => {
                names.iter().filter_map(|name| name.0.last()?.as_ident()).cloned().collect()
            }
            _ => Vec::new(),
        };
        let mut columns = Vec::with_capacity(names.len());
        for name in &names {
            columns.extend(merged_column(name, (&self, keeps_left), (&right, keeps_right))?);
        }
        let condition = condition(&names, &self, &right)?;
        let are_known = is_plain && !is_natural && columns.len() == names.len();
        let shown = self.shown.zip(right.shown).filter(|_| are_known).and_then(|(left, right)| {
            let merged = columns.iter().cloned().map(|column| ShownPart::Merged(Box::new(column)));
            Some(merged.chain(without(left, &names)?).chain(without(right, &names)?).collect())
        });
        let others = self.merged.columns.into_iter().chain(right.merged.columns);
        columns.extend(others.filter(|column| !names.iter().any(|name| is_same(name, &column.name))));
        let has_conditions = self.merged.has_conditions || right.merged.has_conditions || condition.is_some();
        let merged = Merged { columns, has_conditions };
        if let Some(condition) = condition {
            *constraint = JoinConstraint::On(condition);
        } else if let JoinConstraint::On(condition) = constraint {
            merged.replace_in(condition);
        }
        let tables = self.tables.into_iter().chain(right.tables).collect();
        ControlFlow::Continue(Self { tables, merged, shown })
    }

    /// The column that USING means on this side; `None` if it is not known which of several tables has it.
    fn column(&self, name: &Ident) -> Option<MergedColumn> {
        match (self.merged.find(name), self.tables.as_slice()) {
            (Some(column), _) => Some(column.clone()),
            (None, [Some(table)]) => {
                let (name, value) = (name.clone(), qualified(table, name));
                Some(MergedColumn { name, value, is_changed: false, join_count: 0 })
            }
            _ => None,
        }
    }
}

/// The column that a join merges. The flags say which side keeps rows without a partner. `None` if it is the left
/// side's, and it is not known which of several tables has it.
fn merged_column(
    name: &Ident,
    (left, keeps_left): (&Joined, bool),
    (right, keeps_right): (&Joined, bool),
) -> ControlFlow<Error, Option<MergedColumn>> {
    let (left, right) = (left.column(name), right.column(name));
    let count = |column: &Option<MergedColumn>| column.as_ref().map_or(0, |column| column.join_count);
    let join_count = count(&left) + count(&right) + 1;
    let (value, is_changed) = match (left, right, keeps_right) {
        (Some(left), _, false) => (left.value, left.is_changed),
        (None, _, false) => return ControlFlow::Continue(None),
        (_, Some(right), true) if !keeps_left => (right.value, true),
        (Some(left), Some(right), true) => (coalesced(&left.value, &right.value), true),
        _ => {
            let hint = "name the tables, and join ON their columns";
            return ControlFlow::Break(not_supported("this RIGHT or FULL JOIN ... USING").with_hint(hint));
        }
    };
    ControlFlow::Continue(Some(MergedColumn { name: name.clone(), value, is_changed, join_count }))
}

/// The condition that replaces USING if DataFusion would take other columns. It compares the values merged so far.
fn condition(names: &[Ident], left: &Joined, right: &Joined) -> ControlFlow<Error, Option<Expr>> {
    let is_mistaken = |side: &Joined, name: &Ident| side.merged.find(name).is_some_and(MergedColumn::is_mistaken);
    if !names.iter().any(|name| is_mistaken(left, name) || is_mistaken(right, name)) {
        return ControlFlow::Continue(None);
    }
    let equal = |name: &Ident| Some(binary(left.column(name)?.value, BinaryOperator::Eq, right.column(name)?.value));
    let both = |left, right| binary(left, BinaryOperator::And, right);
    match names.iter().map(equal).collect::<Option<Vec<_>>>() {
        Some(conditions) => ControlFlow::Continue(conditions.into_iter().reduce(both)),
        None => {
            let hint = "name the tables, and join ON their columns";
            ControlFlow::Break(not_supported("this JOIN ... USING after a RIGHT or FULL JOIN").with_hint(hint))
        }
    }
}

/// Returns whether a join of an item of FROM merges columns.
pub(super) fn merges(from: &TableWithJoins) -> bool {
    let is_merging_join = |join: &Join| constraint_of(&join.join_operator).is_some_and(is_merging);
    let is_inside = |relation: &TableFactor| match relation {
        TableFactor::NestedJoin { table_with_joins, alias: None } => merges(table_with_joins),
        _ => false,
    };
    is_inside(&from.relation) || from.joins.iter().any(|join| is_merging_join(join) || is_inside(&join.relation))
}

/// The columns that the joins of a `FROM` merge; none of an item of it that is refused.
pub(super) fn merged_in(from: &[TableWithJoins]) -> Merged {
    let mut merged = Merged::default();
    for item in from.iter().filter(|item| merges(item)) {
        if let ControlFlow::Continue(joined) = Joined::of(&mut item.clone()) {
            merged.columns.extend(joined.merged.columns);
        }
    }
    merged
}

/// The columns that joins merge.
#[derive(Default)]
pub(super) struct Merged {
    columns: Vec<MergedColumn>,
    /// Whether a join was rewritten to one with ON, for which DataFusion merges no columns.
    has_conditions: bool,
}

impl Merged {
    /// The merged column of a name; `None` if there are several.
    fn find(&self, name: &Ident) -> Option<&MergedColumn> {
        let mut columns = self.columns.iter().filter(|column| is_same(&column.name, name));
        columns.next().filter(|_| columns.next().is_none())
    }

    /// The value of the merged column of a name.
    pub(super) fn value(&self, name: &Ident) -> Option<&Expr> {
        self.find(name).map(|column| &column.value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns whether a merged column has a name.
    pub(super) fn has(&self, name: &Ident) -> bool {
        self.columns.iter().any(|column| is_same(&column.name, name))
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

    /// Replaces the names of merged columns in the arguments of a function of FROM.
    fn replace_in_arguments(&self, relation: &mut TableFactor) {
        match relation {
            TableFactor::Table { args: Some(args), .. } => self.replace_in(&mut args.args),
            TableFactor::Function { args, .. } => self.replace_in(args),
            TableFactor::UNNEST { array_exprs, .. } => self.replace_in(array_exprs),
            _ => {}
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
