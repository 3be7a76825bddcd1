//! Prints how long a query for two hours takes in a store of many chunks, beside a store of a thousand: planning it,
//! counting its rows, and their mean.
//!
//! `cargo run --release -p atsdb --example many_chunks -- [CHUNKS]`, by default 1,000,000, which need 300 MB of the
//! disk that `ATSDB_FIGURES_DIR` chooses.
//!
//! Each chunk is an hour with two rows, so lists of chunks are measured, not their rows. A query runs first in a store
//! that was just opened, then after a commit, then with nothing in between, for other hours each time. The figures are
//! medians.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark tells its figures")]

use atsdb::sql::Answer;
use atsdb::time::format_time;
use atsdb::{Database, Durability, OpenOptions, TimeUnit};
use std::path::Path;
use std::time::{Duration, Instant};

const HOUR_SECONDS: u64 = 3_600;
/// 2000-01-01 00:00 UTC in seconds since 1970.
const START_SECONDS: u64 = 946_684_800;
/// Chunks of a commit, while the store is filled.
const COMMIT_CHUNKS: u64 = 100_000;
const RUNS: u64 = 5;
const QUERIES: [(&str, &str); 3] = [
    ("planning the count", "EXPLAIN SELECT count(*)"),
    ("the count", "SELECT count(*)"),
    ("a mean", "SELECT avg(value)"),
];

fn main() {
    let chunks = std::env::args().nth(1).map_or(1_000_000, |chunks| chunks.parse().unwrap());
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    for chunks in [1_000, chunks] {
        let scratch = tempfile::tempdir_in(&folder).unwrap();
        measure(&scratch.path().join("readings.db"), chunks);
    }
}

fn measure(path: &Path, chunks: u64) {
    let begin = Instant::now();
    fill(&open(path), chunks);
    println!("{chunks} chunks, filled in {:.1} s", begin.elapsed().as_secs_f64());
    for (name, select) in QUERIES {
        let two_hours = |run: u64| {
            let hour = (run + 1) * 7_919 % (chunks - 2);
            format!("{select} FROM readings WHERE time >= '{}' AND time < '{}'", time(hour), time(hour + 2))
        };
        let first = median(|run| timed(&open(path), &two_hours(run)));
        let db = open(path);
        let after_commit = median(|run| {
            db.sql(&format!("INSERT INTO readings VALUES ('{}', 0)", time(chunks - 1))).unwrap();
            timed(&db, &two_hours(RUNS + run))
        });
        let again = median(|run| timed(&db, &two_hours(2 * RUNS + run)));
        println!("  {name}: first {first:.3} ms, after a commit {after_commit:.3} ms, again {again:.3} ms");
    }
}

fn open(path: &Path) -> Database {
    OpenOptions::new().durability(Durability::Off).maintenance(false).open(&path.display().to_string()).unwrap()
}

fn fill(db: &Database, chunks: u64) {
    db.sql("CREATE TABLE readings (time TIMESTAMP(0) NOT NULL, value BIGINT) WITH (slice = 'hour')").unwrap();
    for first in (0..chunks).step_by(COMMIT_CHUNKS as usize) {
        let last = chunks.min(first + COMMIT_CHUNKS) - 1;
        db.sql(&format!(
            "INSERT INTO readings
             SELECT TIMESTAMP '2000-01-01' + n * INTERVAL '30 minutes', n
             FROM generate_series({}, {}) AS t(n)",
            2 * first,
            2 * last + 1
        ))
        .unwrap();
    }
    let stats = db.engine().stats(None).unwrap().remove(0);
    assert_eq!((stats.rows, stats.chunks), (2 * chunks, chunks));
}

/// The begin of an hour.
fn time(hour: u64) -> String {
    format_time((START_SECONDS + hour * HOUR_SECONDS) as i64, TimeUnit::Second)
}

/// The median of the times that `work` returns, in milliseconds.
fn median(work: impl FnMut(u64) -> Duration) -> f64 {
    let mut times: Vec<Duration> = (0..RUNS).map(work).collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// How long a query takes, until its last row is read.
fn timed(db: &Database, sql: &str) -> Duration {
    let begin = Instant::now();
    let Answer::Rows(rows) = db.sql(sql).unwrap() else { panic!("{sql} returns rows") };
    let row_count: usize = rows.map(|batch| batch.unwrap().num_rows()).sum();
    assert!(row_count > 0, "{sql} returns rows");
    begin.elapsed()
}
