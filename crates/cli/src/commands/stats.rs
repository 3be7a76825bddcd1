//! `atsdb stats`: the contents and the sizes of tables.

use super::report::{self, show_time};
use crate::args::{ReportFormat, StatsArgs};
use crate::console::quantity::{show_bytes, show_count, show_many, show_rows};
use crate::output::grid::{Heading, render};
use crate::session::settings::{self, Access};
use atsdb::{CacheFigures, ColumnStats, Engine, IndexStats, Result, Table, TableStats, TimeUnit};
use serde::Serialize;
use std::borrow::Cow;

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
    indexes: Vec<IndexJson>,
}

#[derive(Serialize)]
struct ColumnJson {
    name: String,
    #[serde(rename = "type")]
    column_type: Cow<'static, str>,
    map: Option<&'static str>,
    encoding: String,
    bytes: u64,
}

#[derive(Serialize)]
struct IndexJson {
    name: String,
    chunks: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct CacheJson {
    name: &'static str,
    folder: Option<String>,
    hits: u64,
    misses: Option<u64>,
    hit_rate: Option<f64>,
    bytes: u64,
    bytes_max: u64,
}

/// Prints the figures.
pub(super) fn run(args: &StatsArgs) -> Result<()> {
    let StatsArgs { report: args, caches } = args;
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let engine = database.engine();
    if *caches {
        return match args.format {
            ReportFormat::Json => {
                report::write_text(&report::json(&engine.caches().into_iter().map(cache_json).collect::<Vec<_>>())?)
            }
            ReportFormat::Table => report::write_text(&cache_lines(engine)),
        };
    }
    let table = report::table_of(engine, args)?;
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&tables_of(engine, table.as_ref())?)?),
        ReportFormat::Table => report::write_text(&text(engine, table.as_ref())?),
    }
}

/// The figures for people: all tables in one list with their total, or one table with its columns.
pub(crate) fn text(engine: &Engine, table: Option<&Table>) -> Result<String> {
    let tables = tables_of(engine, table)?;
    let mut text = for_people(&tables, table.is_some());
    if tables.len() > 1 {
        text.push_str(&total(&tables, engine.store().size()?.total));
    }
    Ok(text)
}

/// The figures of the caches, one line each.
pub(crate) fn cache_lines(engine: &Engine) -> String {
    engine.caches().iter().map(cache_line).collect()
}

fn cache_line(cache: &CacheFigures) -> String {
    let name = match cache.name {
        "columns" => "cache".to_owned(),
        name => format!("cache of {name}"),
    };
    let rate = match (cache.hit_rate(), cache.hits + cache.misses.unwrap_or(0)) {
        (_, 0) => "not used yet".to_owned(),
        (Some(rate), lookups) => format!("{:.1} % hits of {}", rate * 100.0, show_many(lookups, "lookup")),
        (None, hits) => show_many(hits, "hit"),
    };
    let folder = cache.folder.as_ref().map_or(String::new(), |folder| format!(" in {}", folder.display()));
    format!("{name}: {rate}; {} of {} held{folder}\n", show_bytes(cache.bytes), show_bytes(cache.bytes_max))
}

fn cache_json(cache: CacheFigures) -> CacheJson {
    CacheJson {
        hit_rate: cache.hit_rate(),
        name: cache.name,
        folder: cache.folder.map(|folder| folder.display().to_string()),
        hits: cache.hits,
        misses: cache.misses,
        bytes: cache.bytes,
        bytes_max: cache.bytes_max,
    }
}

fn tables_of(engine: &Engine, table: Option<&Table>) -> Result<Vec<TableJson>> {
    let units: Vec<(String, TimeUnit)> = engine
        .tables()?
        .into_iter()
        .map(|table| (table.definition.name.clone(), table.definition.time_unit()))
        .collect();
    let unit_of =
        |name: &str| units.iter().find(|(other, _)| other == name).map_or(TimeUnit::Second, |(_, unit)| *unit);
    let stats = engine.stats(table)?;
    Ok(stats.into_iter().map(|stats| table_json(unit_of(&stats.name), stats)).collect())
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
        indexes: stats.indexes.into_iter().map(index_json).collect(),
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

fn index_json(stats: IndexStats) -> IndexJson {
    IndexJson { name: stats.name, chunks: stats.chunks, bytes: stats.bytes }
}

/// All tables in one list, and the columns and indexes of the one that was named.
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
        if !table.indexes.is_empty() {
            let headings = [Heading::left("index"), Heading::right("chunks"), Heading::right("bytes")];
            let row = |index: &IndexJson| vec![index.name.clone(), show_count(index.chunks), show_bytes(index.bytes)];
            text.push('\n');
            text.push_str(&render(&headings, &table.indexes.iter().map(row).collect::<Vec<_>>()));
        }
    }
    text
}

/// `the store: 2 tables, 26,115 rows, 1.23 MB`. The size exceeds the sum of the tables' by the shared parts.
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
        column.column_type.clone().into_owned(),
        column.map.unwrap_or_default().to_owned(),
        column.encoding.clone(),
        show_bytes(column.bytes),
        format!("{per_row:.2}"),
    ]
}
