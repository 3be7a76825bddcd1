//! Prints how long the queries of the workload `series` take on rows that are just appended, and on the same rows
//! sealed.
//!
//! `cargo run --release -p atsdb-lab --example fresh_rows -- [COMMITS [PAUSE_MS]]`, by default 3,600 commits of 1,000
//! rows, one each second. `ATSDB_FIGURES_DIR` chooses the disk.
//!
//! Maintenance runs in the background, with the default settings, as in a program that measures. After the last of
//! these commits, each query runs seven times, each time after a further commit, so that the newest rows and the list
//! of chunks are in no cache. Then everything is sealed, and each query runs once cold and seven times warm. The
//! figures are medians.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark tells its figures")]

use atsdb::sql::Answer;
use atsdb::{Database, OpenOptions, TimeUnit};
use atsdb_lab::generator::series::{SENSORS, START_SECONDS, SeriesGenerator, sensor_name};
use atsdb_lab::workloads::series::table;
use std::time::{Duration, Instant};

const COMMIT_ROWS: usize = 1_000;
const RUNS: usize = 7;
const HOUR_SECONDS: i64 = 3_600;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap());
    let commits = arguments.next().unwrap_or(3_600);
    let pause = Duration::from_millis(arguments.next().unwrap_or(1_000));
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let scratch = tempfile::tempdir_in(folder).unwrap();
    let db = OpenOptions::new().open(&scratch.path().join("readings.db").display().to_string()).unwrap();
    let table = db.engine().create_table(&table(true).unwrap()).unwrap();
    let mut appender = db.engine().appender(&table);
    let mut generator = SeriesGenerator::new(1);
    let mut commit = || {
        let chunk = generator.chunk(COMMIT_ROWS);
        appender.append(&generator.batch(&chunk, true)).unwrap();
        appender.flush().unwrap();
    };

    let begin = Instant::now();
    for number in 1..=commits {
        commit();
        // The rhythm stays the same, however long a commit takes.
        std::thread::sleep((begin + pause * u32::try_from(number).unwrap()).saturating_duration_since(Instant::now()));
    }
    let stats = db.engine().stats(Some(&table)).unwrap().remove(0);
    println!("{} rows in {} chunks, {} of them fresh; medians of {RUNS}", stats.rows, stats.chunks, stats.fresh_chunks);
    let queries = queries(stats.rows);
    let fresh: Vec<f64> = queries
        .iter()
        .map(|(_, sql)| {
            median(|| {
                commit();
                run(&db, sql)
            })
        })
        .collect();
    db.engine().recompress(None).unwrap();
    let sealed = queries.iter().map(|(_, sql)| {
        run(&db, sql);
        median(|| run(&db, sql))
    });
    for (((name, _), fresh), sealed) in queries.iter().zip(fresh).zip(sealed) {
        println!("{name:24} just appended {fresh:9.3} ms, sealed {sealed:9.3} ms: {:.2} x", fresh / sealed);
    }
}

/// The queries of the workload, for a table of this many rows.
fn queries(rows: u64) -> [(&'static str, String); 7] {
    let end = START_SECONDS + rows as i64 / SENSORS as i64 * 60;
    let begin = atsdb::time::format_time(end - 2 * HOUR_SECONDS, TimeUnit::Second);
    let sensor = sensor_name(SENSORS / 2);
    [
        ("count(*)", "SELECT count(*) FROM readings".to_owned()),
        ("avg", "SELECT avg(count1) FROM readings".to_owned()),
        ("GROUP BY status", "SELECT status, count(*), avg(count1) FROM readings GROUP BY status".to_owned()),
        (
            "GROUP BY sensor",
            "SELECT sensor, count(*), avg(count1), max(count2) FROM readings GROUP BY sensor".to_owned(),
        ),
        (
            "GROUP BY hour, sensor",
            "SELECT date_trunc('hour', time) AS hour, sensor, avg(count1), max(count2) FROM readings \
             GROUP BY date_trunc('hour', time), sensor"
                .to_owned(),
        ),
        (
            "one sensor's last 10 rows",
            format!(
                "SELECT time, status, count1, count6 FROM readings WHERE sensor = '{sensor}' \
                 ORDER BY time DESC LIMIT 10"
            ),
        ),
        (
            "the last two hours",
            format!("SELECT count(*), avg(count1), min(count2), max(count3) FROM readings WHERE time >= '{begin}'"),
        ),
    ]
}

/// The median of the times that `work` returns, in milliseconds.
fn median(work: impl FnMut() -> Duration) -> f64 {
    let mut times: Vec<Duration> = std::iter::repeat_with(work).take(RUNS).collect();
    times.sort();
    times[RUNS / 2].as_secs_f64() * 1e3
}

/// How long a query takes, until its last row is read.
fn run(db: &Database, sql: &str) -> Duration {
    let begin = Instant::now();
    let Answer::Rows(rows) = db.sql(sql).unwrap() else { panic!("{sql} returns rows") };
    let row_count: usize = rows.map(|batch| batch.unwrap().num_rows()).sum();
    assert!(row_count > 0, "{sql} returns rows");
    begin.elapsed()
}
