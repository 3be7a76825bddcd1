//! `atsdb rollup`: computes the stale buckets of rollups now.

use super::report;
use crate::args::{ReportFormat, RollupArgs};
use crate::console::clock;
use crate::console::interrupt::Watch;
use crate::console::progress::Ticker;
use crate::console::quantity::{show_count, show_duration};
use crate::output::grid::{Heading, render};
use crate::session::settings::{self, Access};
use atsdb::Result;
use serde::Serialize;

#[derive(Serialize)]
struct RefreshedJson {
    name: String,
    table: String,
    steps: u64,
    rows: u64,
    seconds: f64,
}

/// Computes rollups one after the other, and reports how much was computed.
pub(super) fn run(args: &RollupArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Change, &args.store, Some(&args.write))?;
    let session = settings::session(&database, Access::Change, &args.store, &args.query_limits)?;
    let handle = session.interrupt_handle();
    let _watch = Watch::new(move || handle.interrupt());
    let mut refreshed = Vec::new();
    for (name, table) in session.rollups(args.rollup.as_deref())? {
        let started = clock::now();
        let ticker = {
            let name = name.clone();
            Ticker::new(move || format!("computing {name}"))
        };
        let report = session.refresh_rollups(Some(&name))?;
        drop(ticker);
        let seconds = started.elapsed().as_secs_f64();
        refreshed.push(RefreshedJson { name, table, steps: report.steps, rows: report.rows, seconds });
    }
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&refreshed)?),
        ReportFormat::Table if refreshed.is_empty() => report::write_text("there are no rollups\n"),
        ReportFormat::Table => {
            let headings = [
                Heading::left("name"),
                Heading::left("table"),
                Heading::right("rows computed"),
                Heading::right("commits"),
                Heading::right("time"),
            ];
            let row = |rollup: &RefreshedJson| {
                vec![
                    rollup.name.clone(),
                    rollup.table.clone(),
                    show_count(rollup.rows),
                    show_count(rollup.steps),
                    show_duration(std::time::Duration::from_secs_f64(rollup.seconds)),
                ]
            };
            report::write_text(&render(&headings, &refreshed.iter().map(row).collect::<Vec<_>>()))
        }
    }
}
