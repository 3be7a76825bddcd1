//! Appends an hour of readings from a struct, in batches that count once even if they are sent twice.
//!
//! `cargo run --release -p atsdb --example ingest -- air.db`

use atsdb::{BatchId, Record, Result};
use std::io::Write;

/// One reading; the time is not a field, it is passed beside the record.
#[derive(Record)]
struct Reading {
    /// Few distinct strings: the table stores an index instead of the text.
    #[atsdb(map = "u32")]
    sensor: String,
    /// NULL where the sensor gave nothing.
    temperature: Option<f64>,
    battery: u8,
}

const SENSORS: i64 = 20;
/// 2026-01-01 00:00 UTC in microseconds since 1970.
const START_US: i64 = 1_767_225_600_000_000;
const MINUTE_US: i64 = 60_000_000;

fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "air.db".to_owned());
    // Creates the store if it does not exist.
    let db = atsdb::open(&url)?;
    // Creates the table from the struct at first use, sliced by day.
    let readings = db.table::<Reading>("readings")?;

    let mut appender = readings.appender()?;
    for minute in 0..60 {
        for sensor in 0..SENSORS {
            let reading = Reading {
                sensor: format!("sensor {sensor}"),
                temperature: (sensor != 7).then_some(20.0 + (minute % 10) as f64 / 10.0),
                battery: 100,
            };
            appender.push(START_US + minute * MINUTE_US, &reading)?;
        }
        // The commit: rows are on disk when it returns. After a crash, send the same batch again with the same id: it
        // is stored once.
        appender.flush_as(BatchId::new(format!("minute {minute}"))?)?;
    }

    let count = readings.stream(..)?.count();
    say(&format!("{url}: {count} readings"));
    Ok(())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
