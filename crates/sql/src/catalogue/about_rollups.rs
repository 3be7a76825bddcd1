//! Rollups: `atsdb.rollups`.

use super::relation::{Cell, ColumnKind, Relation, RelationBuilder, RelationRequest, RelationSource};
use crate::ddl::print::create_table_sql;
use atsdb_core::{Result, Table};

pub(super) const ROLLUPS: Relation = Relation {
    name: "rollups",
    columns: &[
        ("name", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("every", ColumnKind::Text),
        ("retention", ColumnKind::Text),
        ("stale", ColumnKind::Bool),
        ("stale_from", ColumnKind::Time),
        ("closed_before", ColumnKind::Time),
        ("query", ColumnKind::Text),
        ("sql", ColumnKind::Text),
    ],
    source: RelationSource::Tables("name", rollup),
};

fn rollup(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    let Some(rollup) = &definition.rollup else { return Ok(()) };
    let stale = match request.wants(&["stale", "stale_from"]) {
        true => request.snapshot.stale_times(rollup)?,
        false => Vec::new(),
    };
    let from = stale.first().map(|(first, _)| *first).filter(|first| *first > i64::MIN);
    rows.push(vec![
        Cell::text(&definition.name),
        Cell::text(&rollup.table),
        Cell::text(&rollup.every),
        Cell::maybe(definition.retention.map(|retention| retention.to_string())),
        Cell::Bool(!stale.is_empty()),
        from.map_or(Cell::Null, |time| Cell::time(definition, time)),
        rollup.state.closed_before.map_or(Cell::Null, |time| Cell::time(definition, time)),
        Cell::text(&rollup.query),
        Cell::text(create_table_sql(definition)),
    ]);
    Ok(())
}
