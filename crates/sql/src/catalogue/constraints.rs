//! Keys and CHECK constraints: `atsdb.checks`, and `table_constraints`, `key_column_usage` and `check_constraints` of
//! the SQL standard.

use super::relation::{CATALOG, Cell, ColumnKind, Relation, RelationBuilder, RelationRequest, Source, schema_of};
use atsdb_core::{Result, Table, TableDefinition, Unique};

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
    source: Source::Tables("table_name", table_constraints),
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
    source: Source::Tables("table_name", key_column_usage),
};

pub(super) const CHECK_CONSTRAINTS: Relation = Relation {
    name: "check_constraints",
    columns: &[
        ("constraint_catalog", ColumnKind::Text),
        ("constraint_schema", ColumnKind::Text),
        ("constraint_name", ColumnKind::Text),
        ("check_clause", ColumnKind::Text),
    ],
    source: Source::Tables("table_name", check_constraints),
};

pub(super) const CHECKS: Relation = Relation {
    name: "checks",
    columns: &[("table_name", ColumnKind::Text), ("check_name", ColumnKind::Text), ("condition", ColumnKind::Text)],
    source: Source::Tables("table_name", checks),
};

fn table_constraints(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for unique in &table.definition.unique {
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
        rows.push([table.definition.name.as_str(), &check.name, &check.condition].map(Cell::text).into());
    }
    Ok(())
}

fn key_column_usage(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for unique in &table.definition.unique {
        for (position, name) in column_names(&table.definition, unique).into_iter().enumerate() {
            let mut row = place(table, &table.definition.key_name(unique));
            row.extend([Cell::text(name), Cell::count(position as u64 + 1), Cell::Null]);
            rows.push(row);
        }
    }
    Ok(())
}

/// Catalog, schema and name of a constraint, then of its table.
fn place(table: &Table, name: &str) -> Vec<Cell> {
    let schema = schema_of(table);
    [CATALOG, schema, name, CATALOG, schema, table.definition.local_name()].map(Cell::text).into()
}

/// The names of a key's columns.
fn column_names<'a>(definition: &'a TableDefinition, unique: &Unique) -> Vec<&'a str> {
    unique.columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| column.name.as_str()).collect()
}
