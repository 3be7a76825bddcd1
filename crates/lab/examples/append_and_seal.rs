//! Appends readings for some minutes, as fast as sealing follows, and prints how many rows a second were appended and
//! sealed.
//!
//! `cargo run --release -p atsdb-lab --example append_and_seal -- [SECONDS]`, by default 600. `ATSDB_FIGURES_DIR`
//! chooses the disk, which needs about 3 bytes for each row, and half a gigabyte for rows that are not sealed.
//!
//! The rows are those of the workload `series` with six counters. A day of them is made before the clock starts; it is
//! appended again for each further day. Each commit has 100,000 rows and waits for the disk. Maintenance seals in the
//! background, with the default settings, and the writer pauses while more than 200 chunks are not sealed. The clock
//! stops when all rows are sealed.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark tells its figures")]

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::TimestampSecondType;
use atsdb::time::DAY_SECONDS;
use atsdb::{Database, OpenOptions, Table};
use atsdb_lab::generator::series::{SENSORS, SeriesGenerator};
use atsdb_lab::workloads::series::table;
use std::sync::Arc;
use std::time::{Duration, Instant};

const COMMIT_ROWS: usize = 100_000;
/// A day has one reading of each sensor a minute.
const DAY_COMMITS: usize = 1_440 * SENSORS / COMMIT_ROWS;
/// The writer looks for chunks that are not sealed after this many commits.
const COMMITS: usize = DAY_COMMITS / 3;
const FRESH_CHUNKS_MAX: u64 = 200;
const PAUSE: Duration = Duration::from_millis(50);
/// The interval of reports.
const MINUTE: Duration = Duration::from_secs(60);

fn main() {
    let time = Duration::from_secs(std::env::args().nth(1).map_or(600, |seconds| seconds.parse().unwrap()));
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let scratch = tempfile::tempdir_in(folder).unwrap();
    let db = OpenOptions::new().open(&scratch.path().join("readings.db").display().to_string()).unwrap();
    let table = db.engine().create_table(&table(true).unwrap()).unwrap();
    let mut generator = SeriesGenerator::new(1);
    let day: Vec<RecordBatch> = (0..DAY_COMMITS)
        .map(|_| {
            let chunk = generator.chunk(COMMIT_ROWS);
            generator.batch(&chunk, true)
        })
        .collect();

    let mut appender = db.engine().appender(&table);
    let (begin, mut rows, mut paused, mut next_report) = (Instant::now(), 0, Duration::ZERO, MINUTE);
    'writing: for number in 0.. {
        for commits in day.chunks(COMMITS) {
            if begin.elapsed() >= time {
                break 'writing;
            }
            for batch in commits {
                appender.append(&later(batch, number * DAY_SECONDS)).unwrap();
                appender.flush().unwrap();
                rows += batch.num_rows();
            }
            let pause = Instant::now();
            while fresh_chunks(&db, &table) > FRESH_CHUNKS_MAX {
                std::thread::sleep(PAUSE);
            }
            paused += pause.elapsed();
            if begin.elapsed() >= next_report {
                report(rows, begin.elapsed());
                next_report += MINUTE;
            }
        }
    }
    let written = begin.elapsed();
    println!(
        "written in {:.1} s, of which {:.0} % were pauses",
        seconds(written),
        100.0 * seconds(paused) / seconds(written)
    );
    db.engine().recompress(None).unwrap();
    let elapsed = begin.elapsed();
    let stats = db.engine().stats(Some(&table)).unwrap().remove(0);
    assert_eq!((stats.rows, stats.fresh_chunks), (rows as u64, 0));
    report(rows, elapsed);
    println!("all are sealed: {} chunks, {:.2} bytes a row", stats.chunks, stats.bytes_per_row);
}

fn report(rows: usize, time: Duration) {
    let million = rows as f64 / 1e6;
    println!("{:.1} s: {million:.1} M rows, {:.2} M rows/s", seconds(time), million / seconds(time));
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// The same readings, this many seconds later.
fn later(batch: &RecordBatch, seconds: i64) -> RecordBatch {
    let times = batch.column(0).as_primitive::<TimestampSecondType>();
    let times = times.unary::<_, TimestampSecondType>(|time| time + seconds).with_timezone("UTC");
    let mut columns = batch.columns().to_vec();
    columns[0] = Arc::new(times) as ArrayRef;
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn fresh_chunks(db: &Database, table: &Table) -> u64 {
    db.engine().slices(table).unwrap().iter().map(|slice| slice.fresh_chunks).sum()
}
