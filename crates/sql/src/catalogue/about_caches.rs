//! Caches: `atsdb.caches`.

use super::relation::{Cell, Kind, Relation, Rows, Source};
use atsdb_engine::ReadSnapshot;

pub(super) const CACHES: Relation = Relation {
    name: "caches",
    columns: &[
        ("name", Kind::Text),
        ("folder", Kind::Text),
        ("hits", Kind::Int),
        ("misses", Kind::Int),
        ("hit_rate", Kind::Float),
        ("bytes", Kind::Int),
        ("bytes_max", Kind::Int),
    ],
    source: Source::Engine(caches),
};

fn caches(snapshot: &ReadSnapshot, rows: &mut Rows) {
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
