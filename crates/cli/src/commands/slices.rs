//! `atsdb slices`: the slices that have rows.

use super::report::{self, show_time};
use crate::args::ReportArgs;
use crate::console::quantity::{show_bytes, show_count};
use crate::output::grid::Heading;
use crate::session::settings::{self, Access};
use atsdb::{Result, SliceStats, Table};
use serde::Serialize;

#[derive(Serialize)]
struct SliceJson {
    table: String,
    slice: String,
    rows: u64,
    chunks: u64,
    fresh_chunks: u64,
    bytes: u64,
    time_min: Option<String>,
    time_max: Option<String>,
}

/// Lists the slices.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let engine = database.engine();
    let mut listed = Vec::new();
    for table in report::tables_of(engine, args)? {
        listed.extend(engine.slices(&table)?.into_iter().map(|slice| SliceJson::new(&table, slice)));
    }
    let headings = [
        Heading::left("table"),
        Heading::left("slice"),
        Heading::right("rows"),
        Heading::right("chunks"),
        Heading::right("fresh"),
        Heading::right("bytes"),
        Heading::left("first time"),
        Heading::left("last time"),
    ];
    report::write(args.format, &listed, &headings, || listed.iter().map(SliceJson::row).collect())
}

impl SliceJson {
    fn new(table: &Table, slice: SliceStats) -> Self {
        let unit = table.definition.time_unit();
        let timed = |time: i64| show_time(table.definition.time.map(|_| time), unit);
        Self {
            table: table.definition.name.clone(),
            rows: slice.rows,
            chunks: slice.chunks,
            fresh_chunks: slice.fresh_chunks,
            bytes: slice.bytes,
            time_min: timed(slice.time_min),
            time_max: timed(slice.time_max),
            slice: slice.label,
        }
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.table.clone(),
            self.slice.clone(),
            show_count(self.rows),
            show_count(self.chunks),
            show_count(self.fresh_chunks),
            show_bytes(self.bytes),
            self.time_min.clone().unwrap_or_default(),
            self.time_max.clone().unwrap_or_default(),
        ]
    }
}
