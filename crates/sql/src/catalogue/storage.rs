//! How tables are stored: `atsdb.slices`, `chunks`, `pages`, `mappings` and `indexes`.

use super::relation::{
    Cell, ColumnKind, Relation, RelationBuilder, RelationRequest, RelationSource, name_of, names_of,
};
use atsdb_codec::encoding_name;
use atsdb_core::limits::INDEX_ID_MIN;
use atsdb_core::time::{format_date, format_time};
use atsdb_core::{Bound, ChunkEntry, Column, ColumnType, Result, Table, calendar_text, decimal, hex};

pub(super) const SLICES: Relation = Relation {
    name: "slices",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("start", ColumnKind::Time),
        ("end", ColumnKind::Time),
        ("rows", ColumnKind::Int),
        ("chunks", ColumnKind::Int),
        ("fresh_chunks", ColumnKind::Int),
        ("bytes", ColumnKind::Int),
    ],
    source: RelationSource::Tables("table_name", slices),
};

pub(super) const CHUNKS: Relation = Relation {
    name: "chunks",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("id", ColumnKind::Int),
        ("uid", ColumnKind::Text),
        ("slice_start", ColumnKind::Time),
        ("sealed", ColumnKind::Bool),
        ("rows", ColumnKind::Int),
        ("time_min", ColumnKind::Time),
        ("time_max", ColumnKind::Time),
        ("bytes", ColumnKind::Int),
    ],
    source: RelationSource::Tables("table_name", chunks),
};

pub(super) const PAGES: Relation = Relation {
    name: "pages",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("chunk", ColumnKind::Int),
        ("column_name", ColumnKind::Text),
        ("index_name", ColumnKind::Text),
        ("encoding", ColumnKind::Text),
        ("bytes", ColumnKind::Int),
        ("null_count", ColumnKind::Int),
        ("min", ColumnKind::Text),
        ("max", ColumnKind::Text),
    ],
    source: RelationSource::Tables("table_name", pages),
};

pub(super) const MAPPINGS: Relation = Relation {
    name: "mappings",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("column_name", ColumnKind::Text),
        ("id", ColumnKind::Int),
        ("value", ColumnKind::Text),
    ],
    source: RelationSource::Tables("table_name", mappings),
};

pub(super) const INDEXES: Relation = Relation {
    name: "indexes",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("index_name", ColumnKind::Text),
        ("columns", ColumnKind::Text),
        ("chunks", ColumnKind::Int),
        ("bytes", ColumnKind::Int),
        ("is_unique", ColumnKind::Bool),
    ],
    source: RelationSource::Tables("table_name", indexes),
};

fn slices(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    for slice in request.snapshot.chunks(table)?.chunk_by(|a, b| a.slice_start == b.slice_start) {
        // The end of a slice comes from its chunks, because the width may have been changed since.
        let last = match request.wants(&["end"]) {
            true => request.snapshot.descriptor(table, &slice[0])?.slice.last,
            false => 0,
        };
        let sum = |figure: fn(&ChunkEntry) -> u64| Cell::count(slice.iter().map(figure).sum());
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::time(definition, slice[0].slice_start),
            Cell::time(definition, last.saturating_add(1)),
            sum(|chunk| u64::from(chunk.row_count)),
            sum(|_| 1),
            sum(|chunk| u64::from(!chunk.sealed)),
            sum(|chunk| chunk.byte_count),
        ]);
    }
    Ok(())
}

fn chunks(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    for chunk in request.snapshot.chunks(table)? {
        let uid = match request.wants(&["uid"]) {
            true => Cell::text(request.snapshot.descriptor(table, &chunk)?.uid.to_string()),
            false => Cell::Null,
        };
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::Int(chunk.id.0),
            uid,
            Cell::time(definition, chunk.slice_start),
            Cell::Bool(chunk.sealed),
            Cell::count(u64::from(chunk.row_count)),
            Cell::time(definition, chunk.time_min),
            Cell::time_after(definition, chunk.time_max),
            Cell::count(chunk.byte_count),
        ]);
    }
    Ok(())
}

fn pages(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    for chunk in request.snapshot.chunks(table)? {
        for page in &request.snapshot.descriptor(table, &chunk)?.pages {
            let column = definition.column_by_id(page.column);
            let index = definition.indexes.iter().find(|index| index.id == page.column);
            // Pages of a dropped column or index are not listed, because they cannot be read.
            if column.is_none() && index.is_none() {
                continue;
            }
            let statistics = &page.statistics;
            let bound = |bound: &Option<Bound>| match (column, bound) {
                (Some(column), Some(bound)) => Cell::maybe(bound_text(column, bound)),
                _ => Cell::Null,
            };
            rows.push(vec![
                Cell::text(name_of(table)),
                Cell::Int(chunk.id.0),
                Cell::maybe(column.map(|column| &column.name)),
                Cell::maybe(index.map(|index| &index.name)),
                Cell::maybe(column.map(|_| encoding_name(page.encoding))),
                Cell::count(u64::from(page.byte_count)),
                column.map_or(Cell::Null, |_| Cell::count(u64::from(statistics.null_count))),
                bound(&statistics.min),
                bound(&statistics.max),
            ]);
        }
    }
    Ok(())
}

/// A bound as text. A mapped column has none, because its bounds are those of indices.
fn bound_text(column: &Column, bound: &Bound) -> Option<String> {
    if column.map.is_some() {
        return None;
    }
    Some(match (bound, column.column_type) {
        (Bound::Int(time), ColumnType::Timestamp(unit)) => format_time(*time, unit),
        (Bound::Int(days), ColumnType::Date) => format_date(*days),
        (Bound::Int(value), ColumnType::Decimal { scale, .. }) => decimal::format((*value).into(), scale),
        (Bound::Int(time), ColumnType::Time) => calendar_text::time(*time),
        (Bound::Bytes(bytes), ColumnType::Decimal { scale, .. }) => match decimal::from_bytes(bytes) {
            Some(value) => decimal::format(value, scale),
            None => return None,
        },
        // Bytes of intervals are not ordered as intervals are, and arrays have no bounds.
        (_, ColumnType::Interval | ColumnType::Array(_)) => return None,
        (Bound::Int(value), ColumnType::Bool) => (*value != 0).to_string(),
        (Bound::Int(value), _) => value.to_string(),
        (Bound::UInt(value), _) => value.to_string(),
        (Bound::Float(value), _) => value.to_string(),
        (Bound::Bytes(bytes), ColumnType::Text | ColumnType::Uuid | ColumnType::Json) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        (Bound::Bytes(bytes), _) => hex::encode(bytes),
    })
}

fn mappings(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    for column in definition.columns.iter().filter(|column| column.map.is_some()) {
        for (id, value) in request.snapshot.mapping(table, column)?.into_iter().enumerate() {
            rows.push(vec![
                Cell::text(name_of(table)),
                Cell::text(&column.name),
                Cell::count(id as u64),
                Cell::text(String::from_utf8_lossy(&value)),
            ]);
        }
    }
    Ok(())
}

fn indexes(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    let mut sizes = vec![(0_u64, 0_u64); definition.indexes.len()];
    if !definition.indexes.is_empty() && request.wants(&["chunks", "bytes"]) {
        for chunk in request.snapshot.chunks(table)? {
            let descriptor = request.snapshot.descriptor(table, &chunk)?;
            for page in descriptor.pages.iter().filter(|page| page.column.0 >= INDEX_ID_MIN) {
                if let Some(position) = definition.indexes.iter().position(|index| index.id == page.column) {
                    sizes[position] = (sizes[position].0 + 1, sizes[position].1 + u64::from(page.byte_count));
                }
            }
        }
    }
    for (index, (chunk_count, bytes)) in definition.indexes.iter().zip(sizes) {
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::text(&index.name),
            names_of(definition, &index.columns),
            Cell::count(chunk_count),
            Cell::count(bytes),
            Cell::Bool(false),
        ]);
    }
    // A unique index is a key, which has no pages.
    for unique in definition.unique.iter().filter(|unique| unique.index) {
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::text(definition.key_name(unique)),
            names_of(definition, &unique.columns),
            Cell::Null,
            Cell::Null,
            Cell::Bool(true),
        ]);
    }
    Ok(())
}
