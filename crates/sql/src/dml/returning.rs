//! The clause `RETURNING`. Values of other tables in it, as in `UPDATE t ... FROM u ... RETURNING u.name`, are read by
//! the query for the rows that change, and follow the columns of each row.

use atsdb_core::Table;
use atsdb_core::name::same_name;
use atsdb_dialect::text::identifiers::Spellings;
use atsdb_dialect::text::tree_walk::visit_outer_expressions_mut;
use atsdb_dialect::workarounds::output_names::{distinct, text_of};
use datafusion::sql::sqlparser::ast::{ExcludeSelectItem, Expr, Ident, ObjectName, SelectItem};
use std::ops::ControlFlow;

/// A `RETURNING` clause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Returning {
    pub(crate) items: Vec<SelectItem>,
    /// The name of the table in the statement.
    pub(crate) alias: String,
    /// The values of other tables.
    pub(crate) others: Vec<Expr>,
}

impl Returning {
    pub(crate) fn new(items: Vec<SelectItem>, alias: String) -> Self {
        Self { items, alias, others: Vec::new() }
    }

    /// The items as a SELECT list. Beside a star, aliases that are also names of this table's columns are marked, and
    /// later stars are written as columns with marks, because no name may occur twice.
    pub(crate) fn items_apart(&self, table: &Table, spellings: &Spellings) -> Vec<SelectItem> {
        let (mut items, mut has_star) = (Vec::with_capacity(self.items.len()), false);
        if !self.items.iter().any(is_star) {
            return self.items.clone();
        }
        for (position, item) in self.items.iter().enumerate() {
            match item {
                SelectItem::ExprWithAlias { expr, alias } if table.definition.position(&alias.value).is_ok() => {
                    let alias = distinct(&alias.value, position);
                    items.push(SelectItem::ExprWithAlias { expr: expr.clone(), alias });
                }
                star if has_star && is_plain_star(star) => {
                    let first = self.items.len() + items.len();
                    let columns = table.definition.columns.iter().enumerate();
                    items.extend(columns.map(|(at, column)| SelectItem::ExprWithAlias {
                        expr: Expr::Identifier(Ident::new(spellings.spell(&column.name))),
                        alias: distinct(&column.name, first + at),
                    }));
                }
                other => {
                    has_star |= is_star(other);
                    items.push(other.clone());
                }
            }
        }
        items
    }

    /// The names of the values of other tables after the columns of a row.
    pub(crate) fn other_names(&self) -> Vec<String> {
        (0..self.others.len()).map(other_name).collect()
    }

    /// Takes the values of other tables than this one, which is changed, out of the clause.
    pub(crate) fn take_others(&mut self, table: &Table) {
        let mut values = OtherValues { table, alias: &self.alias, found: Vec::new() };
        for (position, item) in self.items.iter_mut().enumerate() {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let before = expr.clone();
                    values.take_from(expr);
                    if *expr != before {
                        let name = match &before {
                            Expr::Identifier(name) => name.value.clone(),
                            Expr::CompoundIdentifier(names) => {
                                names.last().map(|name| name.value.clone()).unwrap_or_default()
                            }
                            other => text_of(other),
                        };
                        let (expr, alias) = (expr.clone(), distinct(&name, position));
                        *item = SelectItem::ExprWithAlias { expr, alias };
                    }
                }
                SelectItem::ExprWithAlias { expr, .. } => values.take_from(expr),
                _ => {}
            }
        }
        self.others = values.found;
        self.hide_others();
    }

    /// Lets `t.*` show the columns of the table alone.
    fn hide_others(&mut self) {
        let names: Vec<ObjectName> =
            self.other_names().into_iter().map(|name| ObjectName::from(vec![Ident::new(name)])).collect();
        if names.is_empty() {
            return;
        }
        for item in &mut self.items {
            let SelectItem::QualifiedWildcard(_, options) = item else { continue };
            let mut hidden = match options.opt_exclude.take() {
                None => Vec::new(),
                Some(ExcludeSelectItem::Single(name)) => vec![name],
                Some(ExcludeSelectItem::Multiple(names)) => names,
            };
            hidden.extend(names.iter().cloned());
            options.opt_exclude = Some(ExcludeSelectItem::Multiple(hidden));
        }
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// Returns whether an item is a star without `EXCLUDE` or the like after it.
fn is_plain_star(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => *options == Default::default(),
        _ => false,
    }
}

fn other_name(number: usize) -> String {
    format!("\u{1}returned{number}")
}

/// Replaces the names of columns of other tables. Those in subqueries stay.
struct OtherValues<'a> {
    table: &'a Table,
    alias: &'a str,
    found: Vec<Expr>,
}

impl OtherValues<'_> {
    fn is_other(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(name) => self.table.definition.position(&name.value).is_err(),
            Expr::CompoundIdentifier(names) => {
                names.iter().rev().nth(1).is_some_and(|table| !same_name(&table.value, self.alias))
            }
            _ => false,
        }
    }

    fn take_from(&mut self, expr: &mut Expr) {
        let _ = visit_outer_expressions_mut(expr, |inner| {
            if self.is_other(inner) {
                let number = match self.found.iter().position(|other| other == inner) {
                    Some(number) => number,
                    None => {
                        self.found.push(inner.clone());
                        self.found.len() - 1
                    }
                };
                *inner = Expr::Identifier(Ident::new(other_name(number)));
            }
            ControlFlow::<()>::Continue(())
        });
    }
}
