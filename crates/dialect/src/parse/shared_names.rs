//! Tables of several schemas that have one name in a statement, where that matters after the parser: a `*` is expanded
//! by the names of tables alone, and the rows that a statement changes have the name of their table alone. Such a table
//! gets an alias, so that `s.t.x` and `r.t.x` stay apart. Not owned: which names are refused (`ambiguous_names`).

use super::ambiguous_names::{AmbiguousColumns, ShownTable, shown_table, shown_tables};
use crate::text::tree_walk::{visit, visit_mut, visit_relations};
use atsdb_core::name::same_name;
use atsdb_core::{PUBLIC_SCHEMA, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, FromTable, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableAlias,
    TableFactor, TableObject, UpdateTableFromKind, Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Gives aliases to tables that share their name, in a statement in which names of tables say their schemas. `RETURNING
/// s.t.*` is written with the name that the changed table has then.
pub(super) fn alias_shared_names(statement: &mut Statement) -> Result<()> {
    let changed = changed_table(statement);
    let mut shared = StarredTables::default();
    let _ = visit(statement, &mut shared);
    let mut aliased = shared.0;
    aliased.extend(changed.clone().filter(|changed| reads_other(statement, changed)));
    aliased.retain(|table| table.is_named_once(statement));
    if !aliased.is_empty() {
        let _ = visit_mut(statement, &mut Aliasing(&aliased));
    }
    if let Some(changed) = changed {
        let is_aliased = aliased.iter().any(|table| table.is(&changed.schema, &changed.name.value));
        let name = if is_aliased { changed.alias() } else { changed.name.clone() };
        for item in returning_of(statement).into_iter().flatten() {
            if let Some(star) = star_of(item)
                && changed.is_named_by(star)
            {
                *star = ObjectName::from(vec![name.clone()]);
            }
        }
    }
    if aliased.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = aliased.into_iter().map(|table| table.name.value).collect();
    match visit(statement, &mut AmbiguousColumns(&names)) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A table that a statement names with its schema and without an alias.
#[derive(Clone)]
struct NamedTable {
    schema: String,
    name: Ident,
}

impl NamedTable {
    fn of(name: &ObjectName) -> Option<Self> {
        let mut parts = name.0.iter().rev().filter_map(|part| part.as_ident());
        let name = parts.next()?.clone();
        let schema = parts.next().map_or_else(|| PUBLIC_SCHEMA.to_owned(), |schema| schema.value.clone());
        Some(Self { schema, name })
    }

    fn is(&self, schema: &str, name: &str) -> bool {
        same_name(schema, &self.schema) && same_name(name, &self.name.value)
    }

    /// Returns whether a name with a schema means the table.
    fn is_named_by(&self, name: &ObjectName) -> bool {
        match name.0.as_slice() {
            [schema, table] => match (schema.as_ident(), table.as_ident()) {
                (Some(schema), Some(table)) => self.is(&schema.value, &table.value),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns whether only one `FROM` has the table. Otherwise its columns would not tell which one they are from.
    fn is_named_once(&self, statement: &Statement) -> bool {
        let mut count = 0;
        let _ = visit_relations(statement, |name| {
            count += usize::from(self.is_named_by(name));
            ControlFlow::<()>::Continue(())
        });
        count == 1
    }

    fn shares_name_with(&self, other: &ShownTable<'_>) -> bool {
        let is_elsewhere = other.schema.is_some_and(|schema| !same_name(schema, &self.schema));
        is_elsewhere && same_name(&other.name.value, &self.name.value)
    }

    fn alias(&self) -> Ident {
        Ident::with_quote('"', format!("{} {}", self.schema, self.name.value))
    }
}

/// The table that a statement changes.
fn changed_table(statement: &Statement) -> Option<NamedTable> {
    let relation = match statement {
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) if insert.table_alias.is_none() => return NamedTable::of(name),
            _ => return None,
        },
        Statement::Update(update) => &update.table.relation,
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            &from.first()?.relation
        }
        Statement::Merge(merge) => &merge.table,
        _ => return None,
    };
    match relation {
        TableFactor::Table { name, alias: None, args: None, .. } => NamedTable::of(name),
        _ => None,
    }
}

/// Returns whether a statement that changes a table also reads one of its name in another schema.
fn reads_other(statement: &Statement, changed: &NamedTable) -> bool {
    let mut others = Vec::new();
    match statement {
        Statement::Update(update) => {
            if let Some(UpdateTableFromKind::AfterSet(from)) = &update.from {
                from.iter().for_each(|from| shown_tables(from, &mut others));
            }
        }
        Statement::Delete(delete) => {
            delete.using.iter().flatten().for_each(|from| shown_tables(from, &mut others));
        }
        Statement::Merge(merge) => shown_table(&merge.source, &mut others),
        _ => {}
    }
    others.iter().any(|other| changed.shares_name_with(other))
}

/// The tables of each `SELECT` with a `*` that share their name with another one there.
#[derive(Default)]
struct StarredTables(Vec<NamedTable>);

impl Visitor for StarredTables {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        if !select.projection.iter().any(is_star) {
            return ControlFlow::Continue(());
        }
        let mut shown = Vec::new();
        select.from.iter().for_each(|from| shown_tables(from, &mut shown));
        for table in &shown {
            let Some(schema) = table.schema else { continue };
            let named = NamedTable { schema: schema.to_owned(), name: table.name.clone() };
            if shown.iter().any(|other| named.shares_name_with(other)) {
                self.0.push(named);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Writes the aliases of tables, and the names of their columns with these.
struct Aliasing<'a>(&'a [NamedTable]);

impl Aliasing<'_> {
    fn alias_of(&self, name: &ObjectName) -> Option<Ident> {
        self.0.iter().find(|table| table.is_named_by(name)).map(NamedTable::alias)
    }
}

impl VisitorMut for Aliasing<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = relation
            && alias.is_none()
            && let Some(name) = self.alias_of(name)
        {
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for star in select.projection.iter_mut().filter_map(star_of) {
            if let Some(alias) = self.alias_of(star) {
                *star = ObjectName::from(vec![alias]);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [schema, table, column] = parts.as_slice()
            && let Some(named) = self.0.iter().find(|named| named.is(&schema.value, &table.value))
        {
            *parts = vec![named.alias(), column.clone()];
        }
        ControlFlow::Continue(())
    }
}

/// The name before `.*`.
fn star_of(item: &mut SelectItem) -> Option<&mut ObjectName> {
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => Some(name),
        _ => None,
    }
}

fn returning_of(statement: &mut Statement) -> Option<&mut Vec<SelectItem>> {
    match statement {
        Statement::Insert(insert) => insert.returning.as_mut(),
        Statement::Update(update) => update.returning.as_mut(),
        Statement::Delete(delete) => delete.returning.as_mut(),
        _ => None,
    }
}
