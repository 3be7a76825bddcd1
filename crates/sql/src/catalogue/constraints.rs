//! Keys, CHECK constraints and foreign keys: `atsdb.checks` and `foreign_keys`, and the relations of the SQL standard
//! about constraints.

use super::relation::{
    CATALOG, Cell, ColumnKind, Relation, RelationBuilder, RelationRequest, RelationSource, name_of, schema_of,
};
use atsdb_core::name::same_name;
use atsdb_core::{Column, ColumnId, ForeignKey, Initially, Result, Table, TableDefinition, Unique};
use atsdb_engine::{ReadSnapshot, TemporaryTables};

pub(super) const TABLE_CONSTRAINTS: Relation = Relation {
    name: "table_constraints",
    columns: &[
        ("constraint_catalog", ColumnKind::Text),
        ("constraint_schema", ColumnKind::Text),
        ("constraint_name", ColumnKind::Text),
        ("table_catalog", ColumnKind::Text),
        ("table_schema", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("constraint_type", ColumnKind::Text),
        ("is_deferrable", ColumnKind::Text),
        ("initially_deferred", ColumnKind::Text),
    ],
    source: RelationSource::Tables("table_name", table_constraints),
};

pub(super) const KEY_COLUMN_USAGE: Relation = Relation {
    name: "key_column_usage",
    columns: &[
        ("constraint_catalog", ColumnKind::Text),
        ("constraint_schema", ColumnKind::Text),
        ("constraint_name", ColumnKind::Text),
        ("table_catalog", ColumnKind::Text),
        ("table_schema", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("column_name", ColumnKind::Text),
        ("ordinal_position", ColumnKind::Int),
        ("position_in_unique_constraint", ColumnKind::Int),
    ],
    source: RelationSource::Tables("table_name", key_column_usage),
};

pub(super) const CHECK_CONSTRAINTS: Relation = Relation {
    name: "check_constraints",
    columns: &[
        ("constraint_catalog", ColumnKind::Text),
        ("constraint_schema", ColumnKind::Text),
        ("constraint_name", ColumnKind::Text),
        ("check_clause", ColumnKind::Text),
    ],
    source: RelationSource::Tables("table_name", check_constraints),
};

pub(super) const CONSTRAINT_COLUMN_USAGE: Relation = Relation {
    name: "constraint_column_usage",
    columns: &[
        ("table_catalog", ColumnKind::Text),
        ("table_schema", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("column_name", ColumnKind::Text),
        ("constraint_catalog", ColumnKind::Text),
        ("constraint_schema", ColumnKind::Text),
        ("constraint_name", ColumnKind::Text),
    ],
    source: RelationSource::Tables("table_name", constraint_column_usage),
};

/// The constraints that refer to another table.
pub(super) const REFERENTIAL_CONSTRAINTS: Relation = Relation {
    name: "referential_constraints",
    columns: &[
        ("constraint_catalog", ColumnKind::Text),
        ("constraint_schema", ColumnKind::Text),
        ("constraint_name", ColumnKind::Text),
        ("unique_constraint_catalog", ColumnKind::Text),
        ("unique_constraint_schema", ColumnKind::Text),
        ("unique_constraint_name", ColumnKind::Text),
        ("match_option", ColumnKind::Text),
        ("update_rule", ColumnKind::Text),
        ("delete_rule", ColumnKind::Text),
    ],
    source: RelationSource::Engine(referential_constraints),
};

pub(super) const CHECKS: Relation = Relation {
    name: "checks",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("check_name", ColumnKind::Text),
        ("condition", ColumnKind::Text),
        ("is_valid", ColumnKind::Bool),
    ],
    source: RelationSource::Tables("table_name", checks),
};

pub(super) const FOREIGN_KEYS: Relation = Relation {
    name: "foreign_keys",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("key_name", ColumnKind::Text),
        ("columns", ColumnKind::Texts),
        ("parent", ColumnKind::Text),
        ("parent_columns", ColumnKind::Texts),
        ("on_update", ColumnKind::Text),
        ("on_delete", ColumnKind::Text),
        ("match_option", ColumnKind::Text),
        ("is_deferrable", ColumnKind::Bool),
        ("is_deferred", ColumnKind::Bool),
        ("is_valid", ColumnKind::Bool),
    ],
    source: RelationSource::Tables("table_name", foreign_keys),
};

/// Returns the keys of a table that are constraints. A unique index is not one.
fn keys(definition: &TableDefinition) -> impl Iterator<Item = &Unique> {
    definition.unique.iter().filter(|unique| !unique.index)
}

fn table_constraints(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for unique in keys(&table.definition) {
        let mut row = place(table, &table.definition.key_name(unique));
        row.push(Cell::text(if unique.primary { "PRIMARY KEY" } else { "UNIQUE" }));
        row.extend(["NO", "NO"].map(Cell::text));
        rows.push(row);
    }
    for check in &table.definition.checks {
        let mut row = place(table, &check.name);
        row.extend(["CHECK", "NO", "NO"].map(Cell::text));
        rows.push(row);
    }
    for key in &table.definition.foreign_keys {
        let mut row = place(table, &key.name);
        let is_deferred = key.deferrable == Some(Initially::Deferred);
        row.extend([
            Cell::text("FOREIGN KEY"),
            Cell::yes_or_no(key.deferrable.is_some()),
            Cell::yes_or_no(is_deferred),
        ]);
        rows.push(row);
    }
    Ok(())
}

fn check_constraints(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for check in &table.definition.checks {
        let clause = format!("(({}))", check.condition);
        rows.push([CATALOG, schema_of(table), check.name.as_str(), clause.as_str()].map(Cell::text).into());
    }
    Ok(())
}

fn checks(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for check in &table.definition.checks {
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::text(&check.name),
            Cell::text(&check.condition),
            Cell::Bool(!check.not_valid),
        ]);
    }
    Ok(())
}

fn foreign_keys(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for key in &table.definition.foreign_keys {
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::text(&key.name),
            Cell::texts(column_names(&table.definition, &key.columns)),
            Cell::text(key.parent.stored_name()),
            Cell::texts(key.parent_columns.clone()),
            Cell::text(key.on_update.sql()),
            Cell::text(key.on_delete.sql()),
            Cell::text(match_option(key)),
            Cell::Bool(key.deferrable.is_some()),
            Cell::Bool(key.deferrable == Some(Initially::Deferred)),
            Cell::Bool(!key.not_valid),
        ]);
    }
    Ok(())
}

/// How the key treats rows in which some columns are NULL, as `information_schema` names it.
fn match_option(key: &ForeignKey) -> &'static str {
    if key.match_full { "FULL" } else { "NONE" }
}

fn key_column_usage(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for unique in keys(&table.definition) {
        for (position, name) in column_names(&table.definition, &unique.columns).enumerate() {
            let mut row = place(table, &table.definition.key_name(unique));
            row.extend([Cell::text(name), Cell::count(position as u64 + 1), Cell::Null]);
            rows.push(row);
        }
    }
    let tables = request.snapshot.tables();
    for key in &table.definition.foreign_keys {
        let unique = parent_of(tables, key).and_then(|parent| Some((parent, referenced_key(parent, key)?)));
        for (position, name) in column_names(&table.definition, &key.columns).enumerate() {
            let referenced = key.parent_columns.get(position);
            let place_there = unique.zip(referenced).and_then(|((parent, unique), referenced)| {
                let id = parent.definition.columns.iter().find(|column| same_name(&column.name, referenced))?.id;
                unique.columns.iter().position(|other| *other == id)
            });
            let place_there = place_there.map_or(Cell::Null, |position| Cell::count(position as u64 + 1));
            let mut row = place(table, &key.name);
            row.extend([Cell::text(name), Cell::count(position as u64 + 1), place_there]);
            rows.push(row);
        }
    }
    Ok(())
}

fn constraint_column_usage(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    let keys = keys(definition).map(|unique| (definition.key_name(unique), &unique.columns));
    let checks = definition.checks.iter().map(|check| (check.name.clone(), &check.columns));
    let (schema, local) = (schema_of(table), definition.local_name());
    for (constraint, columns) in keys.chain(checks) {
        for column in column_names(definition, columns) {
            rows.push([CATALOG, schema, local, column, CATALOG, schema, constraint.as_str()].map(Cell::text).into());
        }
    }
    // The columns of the parent, as the SQL standard has it.
    for key in &definition.foreign_keys {
        let Some(parent) = parent_of(request.snapshot.tables(), key) else { continue };
        for column in &key.parent_columns {
            let (other, name) = (schema_of(parent), parent.definition.local_name());
            rows.push([CATALOG, other, name, column, CATALOG, schema, key.name.as_str()].map(Cell::text).into());
        }
    }
    Ok(())
}

fn referential_constraints(snapshot: &ReadSnapshot, rows: &mut RelationBuilder) {
    for table in snapshot.tables() {
        for key in &table.definition.foreign_keys {
            let Some(parent) = parent_of(snapshot.tables(), key) else { continue };
            let unique = referenced_key(parent, key).map_or_else(String::new, |key| parent.definition.key_name(key));
            let unique = [CATALOG, schema_of(parent), unique.as_str()].map(Cell::text);
            let rules = [match_option(key), key.on_update.sql(), key.on_delete.sql()].map(Cell::text);
            let own = [CATALOG, schema_of(table), key.name.as_str()].map(Cell::text);
            rows.push(own.into_iter().chain(unique).chain(rules).collect());
        }
    }
}

/// The parent of a foreign key.
fn parent_of<'a>(tables: &'a [Table], key: &ForeignKey) -> Option<&'a Table> {
    tables.iter().find(|table| !TemporaryTables::contain(table) && key.parent.is_of(&table.definition))
}

/// The key of the parent that a foreign key refers to.
fn referenced_key<'a>(parent: &'a Table, key: &ForeignKey) -> Option<&'a Unique> {
    let definition = &parent.definition;
    let is_of_key = |column: &&Column| key.parent_columns.iter().any(|name| same_name(name, &column.name));
    definition.key_over(&definition.columns.iter().filter(is_of_key).collect::<Vec<_>>())
}

/// Catalog, schema and name of a constraint, then of its table.
fn place(table: &Table, name: &str) -> Vec<Cell> {
    let schema = schema_of(table);
    [CATALOG, schema, name, CATALOG, schema, table.definition.local_name()].map(Cell::text).into()
}

/// The names of the columns of a constraint.
fn column_names<'a>(definition: &'a TableDefinition, columns: &'a [ColumnId]) -> impl Iterator<Item = &'a str> {
    columns.iter().filter_map(move |id| definition.column_by_id(*id)).map(|column| column.name.as_str())
}
