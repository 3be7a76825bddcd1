//! Tables of several schemas that have one name in a statement. Their columns are named with the schema: `s.t.x`. A
//! name without it would mean any of them for DataFusion, and is refused as in PostgreSQL. `s.t.*` of a table without
//! an alias is refused, too: what repeated `*`s mean is found out without schemas.

use crate::text::errors::{not_supported, sql_error};
use crate::text::relations::alias_of;
use crate::text::tree_walk::visit;
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, FromTable, Ident, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableFactor,
    TableWithJoins, UpdateTableFromKind, Visitor,
};
use std::ops::ControlFlow;

/// Refuses names that several tables of a statement have. Names of tables say their schemas.
pub(super) fn refuse_ambiguous_names(statement: &Statement) -> Result<()> {
    let mut shared = SharedNames::default();
    let _ = visit(statement, &mut shared);
    if let Some(error) = shared.error {
        return Err(error);
    }
    if shared.names.is_empty() {
        return Ok(());
    }
    match visit(statement, &mut AmbiguousColumns(&shared.names)) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A table of a `FROM`: its name for columns, and its schema if it has no alias.
pub(super) struct ShownTable<'a> {
    pub(super) name: &'a Ident,
    pub(super) schema: Option<&'a str>,
}

#[derive(Default)]
struct SharedNames {
    /// The names that tables of several schemas have in one `FROM`.
    names: Vec<String>,
    error: Option<Error>,
}

impl SharedNames {
    fn note(&mut self, tables: &[ShownTable<'_>]) {
        for (at, table) in tables.iter().enumerate() {
            let name = &table.name.value;
            let Some(other) = tables[..at].iter().find(|other| same_name(&other.name.value, name)) else { continue };
            match (table.schema, other.schema) {
                (Some(one), Some(other)) if !same_name(one, other) => self.names.push(name.clone()),
                _ => {
                    let message = format!("table name \"{name}\" specified more than once");
                    self.error.get_or_insert(sql_error(message).with_hint("give one of the tables another alias"));
                }
            }
        }
    }
}

impl Visitor for SharedNames {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let mut shown = Vec::new();
        select.from.iter().for_each(|from| shown_tables(from, &mut shown));
        self.note(&shown);
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        let mut shown = Vec::new();
        match statement {
            Statement::Update(update) => {
                shown_tables(&update.table, &mut shown);
                if let Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) = &update.from {
                    from.iter().for_each(|from| shown_tables(from, &mut shown));
                }
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                from.iter().chain(delete.using.iter().flatten()).for_each(|from| shown_tables(from, &mut shown));
            }
            Statement::Merge(merge) => {
                shown_table(&merge.table, &mut shown);
                shown_table(&merge.source, &mut shown);
            }
            _ => return ControlFlow::Continue(()),
        }
        // The rows to change have the name of their table alone.
        let Some((target, others)) = shown.split_first() else { return ControlFlow::Continue(()) };
        if let Some(other) = others.iter().find(|other| same_name(&other.name.value, &target.name.value)) {
            let message = format!("table name \"{}\" specified more than once", other.name.value);
            self.error.get_or_insert(sql_error(message).with_hint("give one of the tables another alias"));
        }
        ControlFlow::Continue(())
    }
}

/// The tables of an item of a `FROM`.
pub(super) fn shown_tables<'a>(from: &'a TableWithJoins, shown: &mut Vec<ShownTable<'a>>) {
    for relation in std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)) {
        shown_table(relation, shown);
    }
}

/// The tables of one part of an item of a `FROM`.
pub(super) fn shown_table<'a>(relation: &'a TableFactor, shown: &mut Vec<ShownTable<'a>>) {
    match relation {
        TableFactor::NestedJoin { table_with_joins, alias: None } => shown_tables(table_with_joins, shown),
        TableFactor::Table { name, alias: None, .. } => {
            let mut parts = name.0.iter().rev().filter_map(|part| part.as_ident());
            if let Some(name) = parts.next() {
                shown.push(ShownTable { name, schema: parts.next().map(|schema| schema.value.as_str()) });
            }
        }
        _ => shown.extend(alias_of(relation).map(|alias| ShownTable { name: &alias.name, schema: None })),
    }
}

/// A visitor that looks for columns with one of these names.
pub(super) struct AmbiguousColumns<'a>(pub(super) &'a [String]);

impl AmbiguousColumns<'_> {
    fn has(&self, name: &Ident) -> bool {
        self.0.iter().any(|shared| same_name(shared, &name.value))
    }
}

impl Visitor for AmbiguousColumns<'_> {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        match expr {
            Expr::CompoundIdentifier(parts) if parts.len() == 2 && self.has(&parts[0]) => {
                let message = format!("table reference \"{}\" is ambiguous", parts[0].value);
                ControlFlow::Break(sql_error(message).with_hint("write the schema, too: schema.table.column"))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        let starred = select.projection.iter().find_map(|item| match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                name.0.last().and_then(|part| part.as_ident()).filter(|table| self.has(table)).map(|_| name)
            }
            _ => None,
        });
        match starred {
            Some(name) => ControlFlow::Break(
                not_supported(format_args!("{name}.* beside another table of this name")).with_hint("give it an alias"),
            ),
            None => ControlFlow::Continue(()),
        }
    }
}
