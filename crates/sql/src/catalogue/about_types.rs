//! Enumerated types: `atsdb.types`.

use super::relation::{Cell, ColumnKind, Relation, RelationBuilder, RelationSource};
use crate::ddl::enumerations::type_sql;
use atsdb_core::PUBLIC_SCHEMA;
use atsdb_engine::ReadSnapshot;

pub(super) const TYPES: Relation = Relation {
    name: "types",
    columns: &[
        ("type", ColumnKind::Text),
        ("type_schema", ColumnKind::Text),
        ("type_name", ColumnKind::Text),
        ("labels", ColumnKind::Texts),
    ],
    source: RelationSource::Engine(types),
};

fn types(snapshot: &ReadSnapshot, rows: &mut RelationBuilder) {
    for enumeration in snapshot.enumerations().filter_map(|entry| entry.definition.enumeration()) {
        let name = &enumeration.type_name;
        rows.push(vec![
            Cell::text(type_sql(name)),
            Cell::text(name.schema.as_deref().unwrap_or(PUBLIC_SCHEMA)),
            Cell::text(&name.name),
            Cell::Texts(enumeration.labels),
        ]);
    }
}
