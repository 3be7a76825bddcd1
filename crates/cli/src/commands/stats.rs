//! `atsdb stats`: what tables hold and occupy.

use super::report::{self, show_time};
use crate::args::{ReportArgs, ReportFormat};
use crate::output::grid::{Heading, render};
use crate::quantity::{show_bytes, show_count, show_many, show_rows};
use crate::settings::{self, Access};
use atsdb::{ColumnStats, TableStats};
use atsdb_core::{Result, TimeUnit};
use serde::Serialize;

/// The fields that programs rely on.
#[derive(Serialize)]
struct TableJson {
    name: String,
    rows: u64,
    slices: u64,
    chunks: u64,
    fresh_chunks: u64,
    bytes: u64,
    bytes_per_row: f64,
    time_min: Option<String>,
    time_max: Option<String>,
    columns: Vec<ColumnJson>,
}

#[derive(Serialize)]
struct ColumnJson {
    name: String,
    #[serde(rename = "type")]
    column_type: &'static str,
    map: Option<&'static str>,
    encoding: String,
    bytes: u64,
}

/// Shows it.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let engine = database.engine();
    let table = report::table_of(engine, args)?;
    let units: Vec<(String, TimeUnit)> = engine
        .tables()?
        .into_iter()
        .map(|table| (table.definition.name.clone(), table.definition.time_unit()))
        .collect();
    let unit_of =
        |name: &str| units.iter().find(|(other, _)| other == name).map_or(TimeUnit::Second, |(_, unit)| *unit);
    let stats = engine.stats(table.as_ref())?;
    let tables: Vec<TableJson> = stats.into_iter().map(|stats| table_json(unit_of(&stats.name), stats)).collect();
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&tables)?),
        ReportFormat::Table => {
            let mut text = for_people(&tables, table.is_some());
            if tables.len() > 1 {
                text.push_str(&total(&tables, engine.store().size()?.total));
            }
            report::write_text(&text)
        }
    }
}

fn table_json(unit: TimeUnit, stats: TableStats) -> TableJson {
    TableJson {
        rows: stats.rows,
        slices: stats.slices,
        chunks: stats.chunks,
        fresh_chunks: stats.fresh_chunks,
        bytes: stats.bytes,
        bytes_per_row: stats.bytes_per_row,
        time_min: show_time(stats.time_min, unit),
        time_max: show_time(stats.time_max, unit),
        columns: stats.columns.into_iter().map(column_json).collect(),
        name: stats.name,
    }
}

fn column_json(stats: ColumnStats) -> ColumnJson {
    ColumnJson {
        name: stats.name,
        column_type: stats.column_type.name(),
        map: stats.map.map(|width| width.name()),
        encoding: stats.encoding,
        bytes: stats.bytes,
    }
}

/// All tables in one list, and the columns of the one that was named.
fn for_people(tables: &[TableJson], with_columns: bool) -> String {
    let headings = [
        Heading::left("table"),
        Heading::right("rows"),
        Heading::right("slices"),
        Heading::right("chunks"),
        Heading::right("fresh"),
        Heading::right("bytes"),
        Heading::right("bytes a row"),
        Heading::left("first time"),
        Heading::left("last time"),
    ];
    let rows: Vec<Vec<String>> = tables.iter().map(table_row).collect();
    let mut text = render(&headings, &rows);
    for table in tables.iter().filter(|_| with_columns) {
        let headings = [
            Heading::left("column"),
            Heading::left("type"),
            Heading::left("map"),
            Heading::left("encoding"),
            Heading::right("bytes"),
            Heading::right("bytes a row"),
        ];
        let rows: Vec<Vec<String>> = table.columns.iter().map(|column| column_row(column, table.rows)).collect();
        text.push('\n');
        text.push_str(&render(&headings, &rows));
    }
    text
}

/// `the store: 2 tables, 26,115 rows, 1.23 MB`: more than the tables' bytes by what is everybody's.
fn total(tables: &[TableJson], bytes: u64) -> String {
    let rows = tables.iter().map(|table| table.rows).sum();
    format!("\nthe store: {}, {}, {}\n", show_many(tables.len() as u64, "table"), show_rows(rows), show_bytes(bytes))
}

fn table_row(table: &TableJson) -> Vec<String> {
    vec![
        table.name.clone(),
        show_count(table.rows),
        show_count(table.slices),
        show_count(table.chunks),
        show_count(table.fresh_chunks),
        show_bytes(table.bytes),
        format!("{:.2}", table.bytes_per_row),
        table.time_min.clone().unwrap_or_default(),
        table.time_max.clone().unwrap_or_default(),
    ]
}

fn column_row(column: &ColumnJson, rows: u64) -> Vec<String> {
    let per_row = if rows == 0 { 0.0 } else { column.bytes as f64 / rows as f64 };
    vec![
        column.name.clone(),
        column.column_type.to_owned(),
        column.map.unwrap_or_default().to_owned(),
        column.encoding.clone(),
        show_bytes(column.bytes),
        format!("{per_row:.2}"),
    ]
}
