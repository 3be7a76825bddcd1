//! Caches: `atsdb.caches`.

use super::relation::{Cell, ColumnKind, Relation, RelationBuilder, RelationSource};
use atsdb_engine::ReadSnapshot;

pub(super) const CACHES: Relation = Relation {
    name: "caches",
    columns: &[
        ("name", ColumnKind::Text),
        ("folder", ColumnKind::Text),
        ("hits", ColumnKind::Int),
        ("misses", ColumnKind::Int),
        ("hit_rate", ColumnKind::Float),
        ("bytes", ColumnKind::Int),
        ("bytes_max", ColumnKind::Int),
    ],
    source: RelationSource::Engine(caches),
};

fn caches(snapshot: &ReadSnapshot, rows: &mut RelationBuilder) {
    for cache in snapshot.caches() {
        rows.push(vec![
            Cell::text(cache.name),
            Cell::maybe(cache.folder.as_ref().map(|folder| folder.display().to_string())),
            Cell::count(cache.hits),
            cache.misses.map_or(Cell::Null, Cell::count),
            cache.hit_rate().map_or(Cell::Null, Cell::Float),
            Cell::count(cache.bytes),
            Cell::count(cache.bytes_max),
        ]);
    }
}
