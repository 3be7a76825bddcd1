//! `atsdb tables`: the tables of a store.

use super::report;
use crate::args::ReportArgs;
use crate::output::grid::{Heading, render};
use crate::session::settings::{self, Access};
use atsdb::{ColumnId, Engine, Result, Table};
use serde::Serialize;

#[derive(Serialize)]
struct TableJson {
    name: String,
    columns: usize,
    time: Option<String>,
    slice: Option<&'static str>,
    key: Vec<String>,
    retention: Option<String>,
    kind: &'static str,
}

/// Lists the tables.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let mut tables = report::tables_of(database.engine(), args)?;
    // A sequence is not a table, but one that is named is described.
    tables.retain(|table| args.table.is_some() || !table.definition.sequence);
    let listed: Vec<TableJson> = tables.iter().map(listed).collect();
    report::write(args.format, &listed, &headings(), || listed.iter().map(row).collect())
}

/// The tables of a store whose names contain a text, as a table, for the shell.
pub(crate) fn names(engine: &Engine, part: &str) -> Result<String> {
    let (tables, part) = (engine.tables()?, part.to_lowercase());
    let is_listed = |table: &&Table| !table.definition.sequence && table.definition.name.to_lowercase().contains(&part);
    let tables = tables.iter().filter(is_listed);
    let rows: Vec<Vec<String>> = tables.map(|table| row(&listed(table))).collect();
    Ok(render(&headings(), &rows))
}

fn listed(table: &Table) -> TableJson {
    let definition = &table.definition;
    let name_of = |id: &ColumnId| definition.column_by_id(*id).map(|column| column.name.clone());
    TableJson {
        name: definition.name.clone(),
        columns: definition.columns.len(),
        time: definition.time_column().map(|column| column.name.clone()),
        slice: definition.time.map(|_| definition.slice.name()),
        key: definition.key.iter().filter_map(name_of).collect(),
        retention: definition.retention.map(|retention| retention.to_string()),
        kind: match (&definition.view, &definition.rollup) {
            (Some(_), _) => "view",
            (None, Some(_)) => "rollup",
            (None, None) if definition.materialized.is_some() => "materialized view",
            (None, None) if definition.is_in_memory() => "memory",
            (None, None) if definition.sequence => "sequence",
            (None, None) => "table",
        },
    }
}

fn headings() -> [Heading; 7] {
    [
        Heading::left("name"),
        Heading::right("columns"),
        Heading::left("time"),
        Heading::left("slice"),
        Heading::left("key"),
        Heading::left("retention"),
        Heading::left("kind"),
    ]
}

fn row(table: &TableJson) -> Vec<String> {
    vec![
        table.name.clone(),
        table.columns.to_string(),
        table.time.clone().unwrap_or_default(),
        table.slice.unwrap_or_default().to_owned(),
        table.key.join(", "),
        table.retention.clone().unwrap_or_default(),
        table.kind.to_owned(),
    ]
}
