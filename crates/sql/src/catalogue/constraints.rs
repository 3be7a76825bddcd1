//! Keys in the form of the SQL standard: `table_constraints` and `key_column_usage`.

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

fn table_constraints(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for unique in &table.definition.unique {
        let mut row = place(table, unique);
        row.extend(["NO", "NO"].map(Cell::text));
        row.insert(6, Cell::text(if unique.primary { "PRIMARY KEY" } else { "UNIQUE" }));
        rows.push(row);
    }
    Ok(())
}

fn key_column_usage(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    for unique in &table.definition.unique {
        for (position, name) in column_names(&table.definition, unique).into_iter().enumerate() {
            let mut row = place(table, unique);
            row.extend([Cell::text(name), Cell::count(position as u64 + 1), Cell::Null]);
            rows.push(row);
        }
    }
    Ok(())
}

/// Catalog, schema and name of a constraint, then of its table. A key without a name has the one that PostgreSQL gives.
fn place(table: &Table, unique: &Unique) -> Vec<Cell> {
    let (definition, schema) = (&table.definition, schema_of(table));
    let name = definition.key_name(unique);
    [CATALOG, schema, name.as_str(), CATALOG, schema, definition.local_name()].map(Cell::text).into()
}

/// The names of a key's columns.
fn column_names<'a>(definition: &'a TableDefinition, unique: &Unique) -> Vec<&'a str> {
    unique.columns.iter().filter_map(|id| definition.column_by_id(*id)).map(|column| column.name.as_str()).collect()
}
