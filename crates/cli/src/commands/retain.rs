//! `atsdb retain`: drops slices that the tables' retention no longer keeps.

use super::report;
use crate::args::{ChangeArgs, ReportFormat};
use crate::console::progress::Ticker;
use crate::console::quantity::{show_bytes, show_many, show_rows};
use crate::session::settings::{self, Access};
use atsdb::Result;
use atsdb::name::same_name;
use atsdb::sql::SessionOptions;
use serde::Serialize;

#[derive(Serialize)]
struct DroppedJson {
    chunks: u64,
    rows: u64,
    bytes: u64,
}

/// Drops the slices, and reports how much was dropped.
pub(super) fn run(args: &ChangeArgs) -> Result<()> {
    let ChangeArgs { report: args, write } = args;
    let database = settings::open(&args.url, Access::Change, &args.store, Some(write))?;
    let engine = database.engine();
    let table = report::table_of(engine, args)?;
    let ticker = Ticker::new(|| "dropping what has expired".to_owned());
    // A stale rollup would keep rows of the slices, so the rollups are computed first.
    let session = database.session(SessionOptions::default())?;
    for (rollup, source) in session.rollups(None)? {
        if table.as_ref().is_none_or(|table| same_name(&table.definition.name, &source)) {
            session.refresh_rollups(Some(&rollup))?;
        }
    }
    let dropped = engine.retain(table.as_ref())?;
    drop(ticker);
    let dropped = DroppedJson { chunks: dropped.chunks, rows: dropped.rows, bytes: dropped.bytes };
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&dropped)?),
        ReportFormat::Table if dropped.chunks == 0 => report::write_text("nothing has expired\n"),
        ReportFormat::Table => report::write_text(&format!(
            "dropped {} in {}, {}\n",
            show_rows(dropped.rows),
            show_many(dropped.chunks, "chunk"),
            show_bytes(dropped.bytes)
        )),
    }
}
