//! Measures the time of small queries: planned anew, repeated, and prepared.
//!
//! `cargo run --release -p atsdb --example small_queries -- [URL] [ROWS]`; without a URL in a temporary file.

#![expect(clippy::disallowed_methods, reason = "it measures")]

use atsdb::sql::{Answer, ParameterValue, Session, SessionOptions};
use atsdb::{Error, Result};
use std::time::{Duration, Instant};

const SENSORS: usize = 1_000;
const SECONDS: usize = 10;
const REPEATS: usize = 400;
/// All columns fit: planning is measured, not decoding.
const CACHE_BYTES: usize = 1 << 30;

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("small-queries-{}.db", std::process::id()));
    let argument = std::env::args().nth(1);
    let url = argument.clone().unwrap_or_else(|| path.display().to_string());
    let rows = std::env::args().nth(2).and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let measured = measure(&url, rows);
    if argument.is_none() {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{url}{ending}"));
        }
    }
    measured
}

fn measure(url: &str, rows: usize) -> Result<()> {
    let db = atsdb::OpenOptions::new().maintenance(false).cache_bytes(CACHE_BYTES).open(url)?;
    if db.tables()?.is_empty() {
        fill(&db, rows)?;
    }
    let session = db.session(SessionOptions { threads: 2, ..SessionOptions::default() })?;
    let moment = |at: usize| format!("to_timestamp_seconds({})", 1_704_067_200 + at % (rows / SENSORS) * SECONDS);
    let time = |at: usize| text(&session, &format!("SELECT CAST({} AS TEXT)", moment(at)));
    let times = (0..REPEATS).map(|at| time(at * 7_919)).collect::<Result<Vec<String>>>()?;
    let sensor = |at: usize| format!("s{}", at * 31 % SENSORS);

    let by_key =
        |sensor: &str, time: &str| format!("SELECT value FROM readings WHERE sensor = '{sensor}' AND time = '{time}'");
    let planned = each(|at| ask(&session, &by_key(&sensor(at), &times[at])))?;
    let again = by_key(&sensor(1), &times[1]);
    let repeated = each(|_| ask(&session, &again))?;
    let key = session.prepare("SELECT value FROM readings WHERE sensor = $1 AND time = $2", &[])?;
    let prepared = each(|at| {
        let values: [ParameterValue; 2] = [sensor(at).into(), times[at].as_str().into()];
        drain(session.execute_prepared(&key, &values)?)
    })?;
    let range = "SELECT time, value FROM readings WHERE sensor = $1 AND time >= $2 ORDER BY time LIMIT 10";
    let series = session.prepare(range, &[])?;
    let first = each(|at| {
        let values: [ParameterValue; 2] = [sensor(at).into(), times[at].as_str().into()];
        drain(session.execute_prepared(&series, &values)?)
    })?;
    let hour = format!("SELECT avg(value) FROM readings WHERE sensor = 's7' AND time >= '{}'", times[3]);
    let average = each(|_| ask(&session, &hour))?;
    let snapshot = each(|_| db.snapshot().map(|_| 1))?;

    say(&format!("{rows} rows, {SENSORS} sensors; the median of {REPEATS}"));
    say(&format!("  a snapshot                                 {} ms", millis(snapshot)));
    say(&format!("  one row by key, other literals each time   {} ms", millis(planned)));
    say(&format!("  one row by key, the same text again        {} ms", millis(repeated)));
    say(&format!("  one row by key, prepared                   {} ms", millis(prepared)));
    say(&format!("  ten rows of a sensor from a time, prepared {} ms", millis(first)));
    say(&format!("  an average, the same text again            {} ms", millis(average)));
    Ok(())
}

fn fill(db: &atsdb::Database, rows: usize) -> Result<()> {
    db.sql("CREATE TABLE readings (time TIMESTAMP, sensor TEXT, value DOUBLE) WITH (map = 'sensor:u16')")?;
    let step = 1_000_000;
    for first in (0..rows).step_by(step) {
        let last = rows.min(first + step) - 1;
        db.sql(&format!(
            "INSERT INTO readings
             SELECT to_timestamp_seconds(1704067200 + CAST(value / {SENSORS} AS BIGINT) * {SECONDS}),
                    's' || (value % {SENSORS}), (value * 7919 % 1000) / 10.0
             FROM generate_series(CAST({first} AS BIGINT), {last})"
        ))?;
    }
    db.engine().recompress(None).map(drop)
}

/// The median time of doing something, which must find something.
fn each(mut work: impl FnMut(usize) -> Result<usize>) -> Result<Duration> {
    let mut times = Vec::with_capacity(REPEATS);
    for at in 0..REPEATS {
        let start = Instant::now();
        let row_count = work(at)?;
        times.push(start.elapsed());
        if row_count == 0 {
            return Err(Error::new(atsdb::ErrorKind::Internal, format!("question {at} found nothing")));
        }
    }
    times.sort();
    Ok(times[REPEATS / 2])
}

fn ask(session: &Session, sql: &str) -> Result<usize> {
    match session.statements(sql).next() {
        Some(statement) => drain(session.execute(&statement?, &[])?),
        None => Ok(0),
    }
}

fn drain(answer: Answer) -> Result<usize> {
    let Answer::Rows(rows) = answer else { return Ok(0) };
    rows.map(|batch| batch.map(|batch| batch.num_rows())).sum()
}

fn text(session: &Session, sql: &str) -> Result<String> {
    let Some(statement) = session.statements(sql).next() else { return Ok(String::new()) };
    let Answer::Rows(mut rows) = session.execute(&statement?, &[])? else { return Ok(String::new()) };
    let Some(batch) = rows.next() else { return Ok(String::new()) };
    let shown = atsdb::arrow::util::display::array_value_to_string(batch?.column(0), 0);
    shown.map_err(|error| Error::new(atsdb::ErrorKind::Internal, error.to_string()))
}

fn millis(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

#[allow(clippy::print_stdout)]
fn say(line: &str) {
    println!("{line}");
}
