//! `SELECT *, a` and `SELECT t.*, t.*` show a column twice, which DataFusion refuses. A column, a cast of it or an
//! alias beside a `*` that contains the column gets a name of its own. If there are several tables, so does a column
//! that is written without its table. A `*` that repeats another one becomes the columns of its table. So does the `*`
//! of the left side of `EXCEPT ALL` and `INTERSECT ALL`, because `set_all` needs the names of its columns.
//!
//! Waits for [#4478](https://github.com/apache/datafusion/issues/4478), as `output_names` does.

use super::distinct_name::{BESIDE_STARS, distinct};
use super::named_tables::NamedTables;
use super::shown_columns::ShownColumns;
use crate::text::relations::relations_of;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::has_answer;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier,
    Statement, TableFactor, VisitorMut, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// The `*`s of a SELECT.
#[derive(Debug, Default)]
pub struct Stars {
    /// Whether there is a `*` of all tables.
    has_all: bool,
    /// The tables of `table.*`.
    tables: Vec<String>,
    /// Whether the SELECT reads one table only.
    reads_one: bool,
}

impl Stars {
    /// Returns the stars of a SELECT list.
    pub fn of(select: &Select) -> Self {
        let reads_one = matches!(select.from.as_slice(), [from] if from.joins.is_empty());
        let mut stars = Self { reads_one, ..Self::default() };
        select.projection.iter().for_each(|item| stars.add(item));
        stars
    }

    fn add(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Wildcard(_) => self.has_all = true,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                self.tables.extend(name.0.last().and_then(|part| part.as_ident()).map(|name| name.value.clone()));
            }
            _ => {}
        }
    }

    /// Returns whether one of them shows this column, or the column that is cast.
    pub fn contain(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Cast { expr, .. } | Expr::Nested(expr) => self.contain(expr),
            Expr::Identifier(_) => self.has_all || (self.reads_one && !self.tables.is_empty()),
            Expr::CompoundIdentifier(names) => {
                let table = names.len().checked_sub(2).map(|at| &names[at].value);
                self.has_all || table.is_some_and(|table| self.contain_table(table))
            }
            _ => false,
        }
    }

    fn contain_table(&self, name: &str) -> bool {
        self.tables.iter().any(|other| same_name(other, name))
    }

    /// Returns whether all columns of a table are shown already.
    fn show(&self, table: &str) -> bool {
        self.has_all || self.contain_table(table)
    }
}

/// Names the columns of each `*` that repeats another one. A `*` of a subquery or a view stays as it is.
pub(crate) fn name_repeated_columns(statement: &mut Statement, tables: &[Table]) {
    let (named, shown) = (NamedTables::new(tables), ShownColumns::new(tables));
    let depth = usize::from(!has_answer(statement));
    let _ = visit_mut(statement, &mut RepeatedStars { tables: named, shown, depth });
}

struct RepeatedStars<'a> {
    tables: NamedTables<'a>,
    shown: ShownColumns<'a>,
    /// The number of queries that the visitor is inside of; one more in a statement that has no answer.
    depth: usize,
}

impl VisitorMut for RepeatedStars<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.tables.hide(query);
        self.shown.hide(query);
        self.name_counted(&mut query.body);
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let star_count = select.projection.iter().filter(|item| options(item).is_some()).count();
        if star_count > 0 {
            self.tell_names_apart(select);
        }
        if star_count < 2 {
            return ControlFlow::Continue(());
        }
        let mut seen = Stars::default();
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            let repeated = match &item {
                _ if options(&item).is_none_or(|options| *options != WildcardAdditionalOptions::default()) => None,
                SelectItem::Wildcard(_) if seen.has_all => match select.from.as_slice() {
                    [from] if from.joins.is_empty() => self.columns_of(&from.relation, None),
                    _ => None,
                },
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let table = name.0.last().and_then(|part| part.as_ident()).filter(|name| seen.show(&name.value));
                    let mut relations = relations_of(&select.from);
                    table.and_then(|table| relations.find_map(|of| self.columns_of(of, Some(&table.value))))
                }
                _ => None,
            };
            seen.add(&item);
            match repeated {
                Some(columns) => {
                    for column in columns {
                        let name = column.last().map(|name| name.value.clone()).unwrap_or_default();
                        let alias = distinct(&name, projection.len());
                        projection.push(SelectItem::ExprWithAlias { expr: Expr::CompoundIdentifier(column), alias });
                    }
                }
                None => projection.push(item),
            }
        }
        select.projection = projection;
        ControlFlow::Continue(())
    }
}

impl RepeatedStars<'_> {
    /// Gives names of their own to aliases that are also the name of a column of a `*`, and to such columns of several
    /// tables, and casts of them, that do not say their table. In an answer, a column gets one beside any `*` of a
    /// view, whose columns are not known here.
    fn tell_names_apart(&self, select: &mut Select) {
        let columns = self.shown.of_stars(select);
        let is_shown = |name: &str| columns.iter().any(|column| same_name(column, name));
        let is_unknown = self.depth == 1 && select.distinct.is_none() && self.shown.has_unknown_star(select);
        let of_several = relations_of(&select.from).nth(1).is_some();
        let repeated = |expr: &Expr| {
            let may_be_shown = is_unknown && matches!(expr, Expr::Identifier(_));
            plain_column(expr).filter(|name| of_several && (may_be_shown || is_shown(name)))
        };
        for (position, item) in select.projection.iter_mut().enumerate() {
            let position = BESIDE_STARS + position;
            match item {
                SelectItem::ExprWithAlias { alias, .. } if is_shown(&alias.value) => {
                    *alias = Ident { span: alias.span, ..distinct(&alias.value, position) };
                }
                SelectItem::UnnamedExpr(expr) if let Some(name) = repeated(expr) => {
                    // A cast is shown by its text in an answer.
                    let is_named = self.depth > 1 || matches!(expr, Expr::Identifier(_));
                    let name = if is_named { name } else { expr.to_string() };
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: distinct(&name, position) };
                }
                _ => {}
            }
        }
    }

    /// Names the columns of sets whose rows are counted.
    fn name_counted(&self, body: &mut SetExpr) {
        let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return };
        if matches!((op, set_quantifier), (SetOperator::Except | SetOperator::Intersect, SetQuantifier::All)) {
            self.name_all(left);
        }
        self.name_counted(left);
        self.name_counted(right);
    }

    /// Names the columns of each `*` over one table.
    fn name_all(&self, body: &mut SetExpr) {
        let select = match body {
            SetExpr::Select(select) => select,
            SetExpr::Query(query) => return self.name_all(&mut query.body),
            SetExpr::SetOperation { left, .. } => return self.name_all(left),
            _ => return,
        };
        let [from] = select.from.as_slice() else { return };
        let Some(columns) = self.columns_of(&from.relation, None).filter(|_| from.joins.is_empty()) else { return };
        let is_plain =
            |item: &SelectItem| options(item).is_some_and(|options| *options == WildcardAdditionalOptions::default());
        let mut projection = Vec::with_capacity(columns.len());
        for item in std::mem::take(&mut select.projection) {
            if is_plain(&item) {
                let items =
                    columns.iter().map(|column| SelectItem::UnnamedExpr(Expr::CompoundIdentifier(column.clone())));
                projection.extend(items);
            } else {
                projection.push(item);
            }
        }
        select.projection = projection;
    }

    /// The columns of a table, if it has this name in the statement.
    fn columns_of(&self, relation: &TableFactor, wanted: Option<&str>) -> Option<Vec<Vec<Ident>>> {
        let (shown, columns) = self.tables.relation(relation)?;
        let is_wanted = wanted.is_none_or(|wanted| same_name(wanted, &shown.value));
        is_wanted.then(|| columns.into_iter().map(|column| vec![shown.clone(), column]).collect())
    }
}

/// The name of a column, or of one that is cast, without that of its table.
fn plain_column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => plain_column(expr),
        _ => None,
    }
}

fn options(item: &SelectItem) -> Option<&WildcardAdditionalOptions> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => Some(options),
        _ => None,
    }
}
