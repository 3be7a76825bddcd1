//! Rollups: `atsdb.rollups`.

use super::relation::{Asked, Cell, Kind, Relation, Rows, Source};
use crate::ddl::print::create_table_sql;
use atsdb_core::{Result, Table};

pub(super) const ROLLUPS: Relation = Relation {
    name: "rollups",
    columns: &[
        ("name", Kind::Text),
        ("table_name", Kind::Text),
        ("every", Kind::Text),
        ("retention", Kind::Text),
        ("stale", Kind::Bool),
        ("stale_from", Kind::Time),
        ("closed_before", Kind::Time),
        ("query", Kind::Text),
        ("sql", Kind::Text),
    ],
    source: Source::Tables("name", rollup),
};

fn rollup(asked: &Asked<'_>, table: &Table, rows: &mut Rows) -> Result<()> {
    let definition = &table.definition;
    let Some(rollup) = &definition.rollup else { return Ok(()) };
    let stale = match asked.wants(&["stale", "stale_from"]) {
        true => asked.snapshot.stale_times(rollup)?,
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
