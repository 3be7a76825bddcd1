//! Reads a store that the example `ingest` has filled: as structs, and by SQL as Arrow batches.
//!
//! `cargo run --release -p atsdb --example query -- air.db`

use atsdb::arrow::util::display::array_value_to_string;
use atsdb::sql::Answer;
use atsdb::{Error, OpenOptions, Record, Result};
use std::collections::BTreeSet;
use std::io::Write;

#[derive(Record)]
struct Reading {
    #[atsdb(map = "u32")]
    sensor: String,
    temperature: Option<f64>,
    battery: u8,
}

/// 2026-01-01 00:00 UTC in microseconds since 1970, and ten minutes later.
const FROM_US: i64 = 1_767_225_600_000_000;
const UNTIL_US: i64 = FROM_US + 600_000_000;

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "air.db".to_owned());
    // Refuses to create or to change anything.
    let db = OpenOptions::new().read_only(true).open(&url)?;

    // Rows of a time range, one chunk in memory at a time.
    let readings = db.table::<Reading>("readings")?;
    let (mut count, mut battery_min, mut silent) = (0, u8::MAX, BTreeSet::new());
    for row in readings.stream(FROM_US..UNTIL_US)? {
        let (_time, reading) = row?;
        count += 1;
        battery_min = battery_min.min(reading.battery);
        if reading.temperature.is_none() {
            silent.insert(reading.sensor);
        }
    }
    say(&format!(
        "{count} readings in ten minutes, batteries at {battery_min} % or more, no temperature from {silent:?}"
    ));

    // SQL; rows are computed while they are read.
    let question = "SELECT sensor, avg(temperature) AS mean, max(time) AS latest
                    FROM readings GROUP BY sensor ORDER BY sensor LIMIT 3";
    let Answer::Rows(rows) = db.sql(question)? else { return Ok(()) };
    for batch in rows {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| array_value_to_string(column, row));
            let values: Vec<String> = values.collect::<std::result::Result<_, _>>().map_err(unreadable)?;
            say(&values.join(" | "));
        }
    }
    Ok(())
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
