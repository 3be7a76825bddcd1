//! The names of the columns of an answer: an alias as written, an expression by its text, a column as its table
//! declares it.

use crate::text::identifiers::Spellings;
use crate::text::written_schemas::{WrittenName, written_names};
use crate::workarounds::Stars;
use crate::workarounds::output_names::{
    HEADING_BYTES_MAX, bare, distinct, name_of, plain_name, shown, tell_casts_apart, text_of,
};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The names of the outermost SELECT; `None` keeps the name in the plan. A `*` stands for any number of columns between
/// those before the first and those after the last.
#[derive(Debug, Default)]
pub struct Headings {
    before: Vec<Option<String>>,
    after: Vec<Option<String>>,
    /// Tables whose schemas names in the plan have, and the text of the query does not.
    written: Vec<WrittenName>,
}

impl Headings {
    /// Takes the names from a query. Expressions that occur twice get different aliases, which DataFusion requires.
    pub fn take(query: &mut Query, spellings: &Spellings) -> Self {
        let written = written_names(&*query);
        match outermost(&mut query.body) {
            Some(select) => Self { written, ..Self::of_select(select, spellings) },
            None => Self { written, ..Self::default() },
        }
    }

    fn of_select(select: &mut Select, spellings: &Spellings) -> Self {
        let mut headings = Self::default();
        let (mut texts, mut names, mut aliases) = (HashSet::new(), HashSet::new(), HashSet::new());
        let (mut columns, mut star_seen) = (SeenColumns::default(), false);
        let (single, stars) = (select.projection.len() == 1, Stars::of(select));
        let text_of_item = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => text_of(expr),
            _ => String::new(),
        };
        let texts_of_items: Vec<String> = select.projection.iter().map(text_of_item).collect();
        if !single {
            tell_casts_apart(select);
        }
        for (position, item) in select.projection.iter_mut().enumerate() {
            let heading = match item {
                SelectItem::UnnamedExpr(expr) => {
                    let text = text_of(expr);
                    let heading = match expr {
                        Expr::Identifier(_) => None,
                        Expr::CompoundIdentifier(_) => None,
                        _ if texts_of_items[position] != text => Some(texts_of_items[position].clone()),
                        _ => Some(text.clone()).filter(|text| text.len() <= HEADING_BYTES_MAX),
                    };
                    let cast = name_of(expr).filter(|_| matches!(expr, Expr::Cast { .. }));
                    let plain = bare(expr);
                    let is_column = matches!(plain, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                    let is_aliased =
                        is_column && name_of(plain).is_some_and(|name| aliases.contains(&name.value.to_lowercase()));
                    let is_seen = if is_column {
                        !columns.insert(plain)
                    } else {
                        !texts.insert(if cast.is_some() { text.clone() } else { plain_name(expr) })
                    };
                    let is_repeated = !single && (is_seen || is_aliased || stars.contain(plain));
                    match cast {
                        // ORDER BY with this name refers to the cast.
                        Some(alias) if !stars.contain(expr) && names.insert(alias.value.to_lowercase()) => {
                            aliases.insert(alias.value.to_lowercase());
                            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                            heading.or(Some(text))
                        }
                        Some(_) => Some(distinct_alias(item, position, heading)),
                        None if is_repeated => Some(distinct_alias(item, position, heading)),
                        None => {
                            names.extend(name_of_column(bare(expr)));
                            heading
                        }
                    }
                }
                SelectItem::ExprWithAlias { alias, .. } => {
                    let heading = shown(spellings.as_written(&alias.value, alias.span.start)).to_owned();
                    aliases.insert(alias.value.to_lowercase());
                    if !names.insert(alias.value.to_lowercase()) {
                        *alias = distinct(&alias.value, position);
                    }
                    Some(heading)
                }
                _ => {
                    star_seen = true;
                    headings.after.clear();
                    continue;
                }
            };
            if star_seen { headings.after.push(heading) } else { headings.before.push(heading) }
        }
        headings
    }

    /// The schema with these names.
    pub fn apply(&self, schema: &SchemaRef) -> SchemaRef {
        let count = schema.fields().len();
        let named = |(position, field): (usize, &Arc<Field>)| {
            let from_end = count - position;
            let heading = match self.before.get(position) {
                Some(heading) => heading.as_ref(),
                None if from_end <= self.after.len() => self.after[self.after.len() - from_end].as_ref(),
                None => None,
            };
            match heading {
                Some(heading) => field.as_ref().clone().with_name(heading),
                None => {
                    let plain = |name: String, written: &WrittenName| written.remove_from(&name);
                    let name = self.written.iter().fold(shown(field.name()).to_owned(), plain);
                    field.as_ref().clone().with_name(name)
                }
            }
        };
        Arc::new(Schema::new(schema.fields().iter().enumerate().map(named).collect::<Vec<_>>()))
    }
}

/// The columns of a SELECT list so far, however they are written: `id`, `"id"` and `t.id` may be one column.
#[derive(Default)]
struct SeenColumns(HashMap<String, Vec<Vec<String>>>);

impl SeenColumns {
    /// Notes a column. Returns false if it may be one of the earlier ones.
    fn insert(&mut self, expr: &Expr) -> bool {
        let parts: Vec<String> = match expr {
            Expr::Identifier(name) => vec![name.value.to_lowercase()],
            Expr::CompoundIdentifier(names) => names.iter().map(|name| name.value.to_lowercase()).collect(),
            _ => return true,
        };
        let others = self.0.entry(parts.last().cloned().unwrap_or_default()).or_default();
        let is_new = !others.iter().any(|other| other.ends_with(&parts) || parts.ends_with(other));
        others.push(parts);
        is_new
    }
}

/// The name of a plain column without its table, in lower case.
fn name_of_column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.to_lowercase()),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.to_lowercase()),
        _ => None,
    }
}

fn outermost(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => outermost(&mut query.body),
        SetExpr::SetOperation { left, .. } => outermost(left),
        _ => None,
    }
}

/// Gives an item a unique alias, and returns its heading.
fn distinct_alias(item: &mut SelectItem, position: usize, heading: Option<String>) -> String {
    let SelectItem::UnnamedExpr(expr) = item else { return heading.unwrap_or_default() };
    let name = match &*expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.clone()).unwrap_or_default(),
        other => heading.unwrap_or_else(|| text_of(other)),
    };
    let alias = distinct(&name, position);
    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    name
}
