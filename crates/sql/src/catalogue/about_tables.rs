//! Tables and views: `atsdb.tables` and `materialized_views`, and `schemata`, `tables` and `views` of the standard.

use super::relation::{
    CATALOG, Cell, ColumnKind, Relation, RelationBuilder, RelationRequest, RelationSource, Schemas, name_of, names_of,
    schema_of,
};
use crate::ddl::print::declaration_of;
use atsdb_core::{PUBLIC_SCHEMA, Result, Table};
use atsdb_engine::{ReadSnapshot, TemporaryTables};

pub(super) const TABLES: Relation = Relation {
    name: "tables",
    columns: &[
        ("name", ColumnKind::Text),
        ("kind", ColumnKind::Text),
        ("time_column", ColumnKind::Text),
        ("time_unit", ColumnKind::Text),
        ("slice", ColumnKind::Text),
        ("retention", ColumnKind::Text),
        ("rows", ColumnKind::Int),
        ("slices", ColumnKind::Int),
        ("chunks", ColumnKind::Int),
        ("fresh_chunks", ColumnKind::Int),
        ("bytes", ColumnKind::Int),
        ("bytes_per_row", ColumnKind::Float),
        ("time_min", ColumnKind::Time),
        ("time_max", ColumnKind::Time),
        ("series_key", ColumnKind::Text),
        ("on_conflict", ColumnKind::Text),
        ("sql", ColumnKind::Text),
    ],
    source: RelationSource::Tables("name", table),
};

pub(super) const MATERIALIZED_VIEWS: Relation = Relation {
    name: "materialized_views",
    columns: &[
        ("name", ColumnKind::Text),
        ("populated", ColumnKind::Bool),
        ("query", ColumnKind::Text),
        ("sql", ColumnKind::Text),
    ],
    source: RelationSource::Tables("name", materialized_view),
};

pub(super) const STANDARD_SCHEMATA: Relation = Relation {
    name: "schemata",
    columns: &[
        ("catalog_name", ColumnKind::Text),
        ("schema_name", ColumnKind::Text),
        ("schema_owner", ColumnKind::Text),
    ],
    source: RelationSource::Schemas(schemata),
};

pub(super) const STANDARD_TABLES: Relation = Relation {
    name: "tables",
    columns: &[
        ("table_catalog", ColumnKind::Text),
        ("table_schema", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("table_type", ColumnKind::Text),
        ("is_insertable_into", ColumnKind::Text),
    ],
    source: RelationSource::TablesAndCatalogue("table_name", standard_table, catalogue_tables),
};

pub(super) const STANDARD_VIEWS: Relation = Relation {
    name: "views",
    columns: &[
        ("table_catalog", ColumnKind::Text),
        ("table_schema", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("view_definition", ColumnKind::Text),
        ("check_option", ColumnKind::Text),
        ("is_updatable", ColumnKind::Text),
        ("is_insertable_into", ColumnKind::Text),
    ],
    source: RelationSource::Tables("table_name", view),
};

fn table(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    const OF_CHUNKS: [&str; 7] = ["rows", "slices", "chunks", "fresh_chunks", "bytes_per_row", "time_min", "time_max"];
    let definition = &table.definition;
    let is_view = definition.view.is_some();
    let kind = match (is_view, &definition.rollup, definition.time) {
        (true, _, _) => "view",
        _ if definition.sequence => "sequence",
        _ if TemporaryTables::contain(table) => "temporary",
        _ if definition.is_in_memory() => "memory",
        _ if definition.materialized.is_some() => "materialized view",
        (false, Some(_), _) => "rollup",
        (false, None, Some(_)) => "series",
        (false, None, None) => "plain",
    };
    let chunks = match !is_view && request.wants(&OF_CHUNKS) {
        true => request.snapshot.chunks(table)?,
        false => Vec::new(),
    };
    let bytes = match !is_view && request.wants(&["bytes", "bytes_per_row"]) {
        true => request.bytes_of(table)?,
        false => 0,
    };
    let resident = match definition.is_in_memory() && request.wants(&["rows", "bytes", "bytes_per_row"]) {
        true => request.snapshot.resident_in_use(table)?,
        false => None,
    };
    let bytes = resident.as_ref().map_or(bytes, |state| state.byte_count() as u64);
    let row_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.row_count)).sum();
    let row_count = resident.as_ref().map_or(row_count, |state| state.row_count() as u64);
    let slice_count = {
        let mut starts: Vec<i64> = chunks.iter().map(|chunk| chunk.slice_start).collect();
        starts.dedup();
        starts.len() as u64
    };
    let figure = |cell: Cell| if is_view { Cell::Null } else { cell };
    let time = definition.time_column();
    rows.push(vec![
        Cell::text(name_of(table)),
        Cell::text(kind),
        Cell::maybe(time.map(|column| &column.name)),
        Cell::maybe(time.map(|_| definition.time_unit().name())),
        Cell::maybe(time.map(|_| definition.slice.name())),
        Cell::maybe(definition.retention.map(|retention| retention.to_string())),
        figure(Cell::count(row_count)),
        figure(Cell::count(slice_count)),
        figure(Cell::count(chunks.len() as u64)),
        figure(Cell::count(chunks.iter().filter(|chunk| !chunk.sealed).count() as u64)),
        figure(Cell::count(bytes)),
        if row_count == 0 { Cell::Null } else { Cell::Float(bytes as f64 / row_count as f64) },
        chunks.iter().map(|chunk| chunk.time_min).min().map_or(Cell::Null, |time| Cell::time(definition, time)),
        chunks.iter().map(|chunk| chunk.time_max).max().map_or(Cell::Null, |time| Cell::time_after(definition, time)),
        names_of(definition, &definition.key),
        if definition.has_unique() { Cell::text(definition.on_conflict.name()) } else { Cell::Null },
        Cell::text(declaration_of(table)),
    ]);
    Ok(())
}

fn materialized_view(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    if let Some(view) = &table.definition.materialized {
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::Bool(view.populated),
            Cell::text(&view.query),
            Cell::text(declaration_of(table)),
        ]);
    }
    Ok(())
}

fn schemata(snapshot: &ReadSnapshot, schemas: Schemas, rows: &mut RelationBuilder) {
    let created = snapshot.schemas();
    let every_store = schemas.iter().map(|(name, _)| *name).chain([PUBLIC_SCHEMA]);
    for schema in every_store.chain(created.iter().map(String::as_str)) {
        rows.push(vec![Cell::text(CATALOG), Cell::text(schema), Cell::Null]);
    }
}

fn standard_table(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    // PostgreSQL lists no materialized views there, and sequences are no tables.
    if table.definition.sequence || table.definition.materialized.is_some() {
        return Ok(());
    }
    let (table_type, insertable) = match (&table.definition.view, &table.definition.rollup) {
        (Some(_), _) if TemporaryTables::contain(table) => ("LOCAL TEMPORARY", "NO"),
        (Some(_), _) => ("VIEW", "NO"),
        (None, Some(_)) => ("BASE TABLE", "NO"),
        (None, None) if TemporaryTables::contain(table) => ("LOCAL TEMPORARY", "YES"),
        (None, None) => ("BASE TABLE", "YES"),
    };
    rows.push(vec![
        Cell::text(CATALOG),
        Cell::text(schema_of(table)),
        Cell::text(table.definition.local_name()),
        Cell::text(table_type),
        Cell::text(insertable),
    ]);
    Ok(())
}

fn catalogue_tables(schemas: Schemas, rows: &mut RelationBuilder) {
    for &(schema, relations) in schemas {
        for relation in relations {
            rows.push(vec![
                Cell::text(CATALOG),
                Cell::text(schema),
                Cell::text(relation.name),
                Cell::text("VIEW"),
                Cell::text("NO"),
            ]);
        }
    }
}

fn view(_: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    if let Some(view) = &table.definition.view {
        rows.push(vec![
            Cell::text(CATALOG),
            Cell::text(schema_of(table)),
            Cell::text(table.definition.local_name()),
            Cell::text(&view.query),
            Cell::text("NONE"),
            Cell::text("NO"),
            Cell::text("NO"),
        ]);
    }
    Ok(())
}
