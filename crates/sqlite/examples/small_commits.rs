//! Prints what a commit of one row costs, beside SQLite's own INSERT in a separate transaction: `cargo run --release -p
//! atsdb-sqlite --example small_commits`. `ATSDB_FIGURES_DIR` chooses the disk. Processor time is shown beside the
//! rate: on a slow disk, only processor time can be compared.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use atsdb_core::{Change, Durability, Store};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, series_table};
use std::path::Path;
use std::time::{Duration, Instant};

const NOW_MS: i64 = 1_709_294_400_000;
/// The size of a page with one value, including its header.
const PAGE_BYTES: usize = 26;

fn main() {
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let scratch = tempfile::tempdir_in(folder).unwrap();
    for durability in [Durability::Off, Durability::Full] {
        for columns in [2, 9] {
            let name = format!("{durability} {columns}");
            let commits = if durability == Durability::Off { 50_000 } else { 1_000 };
            let atsdb = store(&scratch.path().join(&name), durability, columns, commits);
            let plain = sqlite(&scratch.path().join(format!("{name} plain")), durability, columns, commits);
            println!(
                "{durability}, {columns} columns: atsdb {:.1} us ({:.1} us processor), SQLite {:.1} us ({:.1}), {:.2} x",
                atsdb.0,
                atsdb.1,
                plain.0,
                plain.1,
                plain.0 / atsdb.0
            );
        }
    }
}

/// Returns the microseconds, and the processor microseconds, of each of `count` calls.
fn measure(count: u64, mut work: impl FnMut(u64)) -> (f64, f64) {
    let (start, processor) = (Instant::now(), processor_time());
    (0..count).for_each(&mut work);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    (each(start.elapsed()), each(processor_time() - processor))
}

/// Processor time of this process from /proc: user and system, in ticks of 10 ms. It is 0 where there is no /proc.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<i64> = stat.rsplit(')').next().unwrap_or("").split(' ').filter_map(|x| x.parse().ok()).collect();
    Duration::from_millis(fields.get(10).zip(fields.get(11)).map_or(0, |(user, system)| (user + system) as u64 * 10))
}

fn store(path: &Path, durability: Durability, columns: u16, commits: u64) -> (f64, f64) {
    let store = SqliteStore::open(path, &SqliteOptions { durability, ..SqliteOptions::default() }).unwrap();
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let chunks: Vec<_> = (0..100).map(|seed| Plan::new(seed).with_pages(columns, PAGE_BYTES).chunk(table)).collect();
    measure(commits, |number| {
        let add = vec![chunks[number as usize % chunks.len()].clone()];
        store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
    })
}

fn sqlite(path: &Path, durability: Durability, columns: u16, commits: u64) -> (f64, f64) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    connection.pragma_update(None, "synchronous", durability.name()).unwrap();
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    connection.execute_batch(&format!("CREATE TABLE t ({})", names.join(", "))).unwrap();
    let marks = vec!["?"; names.len()].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO t VALUES ({marks})")).unwrap();
    measure(commits, |number| {
        let row = (0..columns).map(|column| number as i64 * 1_000 + i64::from(column));
        insert.execute(rusqlite::params_from_iter(row)).unwrap();
    })
}
