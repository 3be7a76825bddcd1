//! `atsdb recompress`: seals the fresh chunks of each slice now.

use super::report;
use crate::args::{ChangeArgs, ReportFormat};
use crate::console::clock;
use crate::console::progress::{Ticker, row_line};
use crate::console::quantity::{show_bytes, show_count, show_duration, show_many, show_rows};
use crate::session::settings::{self, Access};
use atsdb::{Engine, Result, Table, TimeRange};
use serde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
struct SealedJson {
    slices: u64,
    chunks_before: u64,
    chunks_after: u64,
    rows: u64,
    bytes_before: u64,
    bytes_after: u64,
    conflicts: u64,
    seconds: f64,
    durability: &'static str,
}

/// Seals the chunks, and reports how much that saved.
pub(super) fn run(args: &ChangeArgs) -> Result<()> {
    let ChangeArgs { report: args, write } = args;
    let database = settings::open(&args.url, Access::Change, &args.store, Some(write))?;
    let engine = database.engine();
    let table = report::table_of(engine, args)?;
    let started = clock::now();
    let ticker = Ticker::with_line(sealing(engine.clone(), report::tables_of(engine, args)?));
    let sealed = engine.recompress(table.as_ref())?;
    drop(ticker);
    let elapsed = started.elapsed();
    let sealed = SealedJson {
        slices: sealed.slices,
        chunks_before: sealed.chunks_before,
        chunks_after: sealed.chunks_after,
        rows: sealed.rows,
        bytes_before: sealed.bytes_before,
        bytes_after: sealed.bytes_after,
        conflicts: sealed.conflicts,
        seconds: elapsed.as_secs_f64(),
        durability: settings::durability(write)?.name(),
    };
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&sealed)?),
        ReportFormat::Table if sealed.slices == 0 && sealed.conflicts == 0 => {
            report::write_text("everything is sealed already\n")
        }
        ReportFormat::Table => report::write_text(&format!(
            "sealed {} in {}: {} before, {} after; {} before, {} after; {}, durability {}\n{}",
            show_rows(sealed.rows),
            show_many(sealed.slices, "slice"),
            show_bytes(sealed.bytes_before),
            show_bytes(sealed.bytes_after),
            show_many(sealed.chunks_before, "chunk"),
            show_count(sealed.chunks_after),
            show_duration(elapsed),
            sealed.durability,
            match sealed.conflicts {
                0 => String::new(),
                count =>
                    format!("{} changed by another process meanwhile, left as they are\n", show_many(count, "slice")),
            },
        )),
    }
}

/// Returns the line about the progress: the rows that have been sealed, how many a second, and how long the rest takes.
fn sealing(engine: Engine, tables: Vec<Table>) -> impl Fn(Duration) -> String {
    let total = fresh_rows(&engine, &tables).unwrap_or(0);
    move |elapsed| {
        // If the store is too busy to answer, the next tick retries.
        let fresh = fresh_rows(&engine, &tables).unwrap_or(total);
        row_line(total.saturating_sub(fresh), Some(total), elapsed)
    }
}

/// The rows of the tables that are not sealed.
pub(super) fn fresh_rows(engine: &Engine, tables: &[Table]) -> Result<u64> {
    let snapshot = engine.store().snapshot()?;
    let mut rows = 0;
    for table in tables {
        let chunks = snapshot.chunks(table.id, TimeRange::ALL)?;
        rows += chunks.iter().filter(|chunk| !chunk.sealed).map(|chunk| u64::from(chunk.row_count)).sum::<u64>();
    }
    Ok(rows)
}
