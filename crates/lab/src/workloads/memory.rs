//! `memory`: MariaDB's test of MEMORY tables: a file of N random integers below N, and one of N random strings of 20
//! letters, each loaded into a table of one column with a hash index, five times; and lookups of values that exist and
//! of values that do not. Each contestant uses its own command for loading files. Variants with data in memory are
//! separate contestants. A contestant without hash indexes creates the most similar index.

use crate::contestant::{Contestant, Session};
use crate::failure::Failure;
use crate::generator::keys::{Keys, write_keys};
use crate::measure::{Figure, Measure, Unit, clock};
use crate::workload::{Bench, PublishedRatio, RunBound, Workload, per_second};
use std::time::Duration;

/// The published number of rows: 50 x 1024 x 1024.
const ROWS_PUBLISHED: u64 = 52_428_800;
/// The number of times that each file is loaded.
const LOADS: usize = 5;
/// Look-ups are made in runs of this many, until their time is over.
const LOOKUPS_AT_ONCE: u64 = 200;
const LOOKUP_TIME: Duration = Duration::from_secs(1);
const TABLE: &str = "hash1";
const COLUMN: &str = "a";

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("load_integers", "INT: load a file, mean of 5", Unit::RowsPerSecond),
    measure("bytes_integers", "  size with its index", Unit::BytesPerRow),
    measure("hits_integers", "  look-ups that find", Unit::PerSecond),
    measure("misses_integers", "  look-ups that do not", Unit::PerSecond),
    measure("load_texts", "CHAR(20): load a file, mean of 5", Unit::RowsPerSecond),
    measure("bytes_texts", "  size with its index", Unit::BytesPerRow),
    measure("hits_texts", "  look-ups that find", Unit::PerSecond),
    measure("misses_texts", "  look-ups that do not", Unit::PerSecond),
];

/// The workload.
pub struct Memory;

impl Workload for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn summary(&self) -> &'static str {
        "files of random integers and of random strings into a table with a hash index; look-ups"
    }

    fn rows_default(&self) -> u64 {
        2_000_000
    }

    fn rows_published(&self) -> u64 {
        ROWS_PUBLISHED
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn notes(&self) -> Vec<String> {
        let note = "atsdb's rows are in a table in memory, whatever its store: durability none, as of mariadb:memory";
        vec![note.to_owned()]
    }

    fn published(&self) -> Vec<PublishedRatio> {
        const SOURCE: &str = "mariadb.com/kb/en/performance-of-memory-tables, rows/s of 50 million rows, 800 MHz";
        let ratio = |measure: &str, new: f64, old: f64| {
            let unit = Unit::RowsPerSecond;
            PublishedRatio::new(
                measure,
                unit,
                ("5.5.25", "MariaDB 5.5.25", new),
                ("5.5.21", "MariaDB 5.5.21", old),
                SOURCE,
            )
        };
        vec![ratio("load_integers", 510_016.0, 411_022.0), ratio("load_texts", 411_535.0, 259_399.0)]
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (64, 400), (120, 300))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let measures = ["load_integers", "bytes_integers", "hits_integers", "misses_integers"];
        kind(Keys::Integers, measures, contestant, bench)?;
        kind(Keys::Texts, ["load_texts", "bytes_texts", "hits_texts", "misses_texts"], contestant, bench)
    }
}

fn kind(keys: Keys, measures: [&str; 4], contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    let [load, bytes, hits, misses] = measures;
    let (rows, seed) = (bench.rows, bench.seed);
    bench.progress("writing the file")?;
    let file = bench.directory.join(format!("{load}.txt"));
    write_keys(&file, keys, seed, rows).map_err(Failure::broken)?;
    let workspace = bench.workspace(load)?;
    let mut session = contestant.open(&workspace)?;
    bench.opened(session.as_ref())?;
    let column_type = match keys {
        Keys::Integers => "INT",
        Keys::Texts => "CHAR(20)",
    };
    bench.progress(load)?;
    let loaded = bench.attempt(load, || {
        let mut time = Duration::ZERO;
        for turn in 0..LOADS {
            if turn > 0 {
                session.execute(&[format!("DROP TABLE {TABLE}")])?;
            }
            session.execute(&session.dialect().hash_table(TABLE, COLUMN, column_type))?;
            let begin = clock::now();
            session.load_lines(TABLE, &file)?;
            time += begin.elapsed();
        }
        let answer = session.query(&format!("SELECT count(*), min({COLUMN}), max({COLUMN}) FROM {TABLE}"))?.hash();
        Ok((Figure { answer: Some(answer), ..Figure::of(per_second(rows * LOADS as u64, time)) }, ()))
    })?;
    std::fs::remove_file(&file).map_err(Failure::broken)?;
    if loaded.is_none() {
        return Ok(());
    }
    // A small run is not held up by its look-ups.
    let time_max = LOOKUP_TIME.mul_f64((rows as f64 / 1e6).clamp(0.02, 1.0));
    bench.progress("looking up")?;
    for (measure, missing) in [(hits, false), (misses, true)] {
        bench.attempt(measure, || lookups(session.as_mut(), keys, seed, rows, missing, time_max))?;
    }
    if let Some(count) = session.bytes_in_memory(TABLE)? {
        return bench.record(bytes, Figure::of(count as f64 / rows.max(1) as f64));
    }
    drop(session);
    bench.attempt(bytes, || Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows.max(1) as f64), ())))?;
    Ok(())
}

/// Looks up values until the time is up, and checks the results against the file.
fn lookups(
    session: &mut dyn Session,
    keys: Keys,
    seed: u64,
    rows: u64,
    missing: bool,
    time_max: Duration,
) -> Result<(Figure, ()), Failure> {
    let mut written = keys.values(seed, rows);
    let (mut time, mut count) = (Duration::ZERO, 0);
    while time < time_max {
        let value = |value: String| if missing { keys.missing(&value, rows) } else { value };
        let sql = |value: String| if keys == Keys::Texts { format!("'{value}'") } else { value };
        let wanted: Vec<String> = written.by_ref().take(LOOKUPS_AT_ONCE as usize).map(|it| sql(value(it))).collect();
        if wanted.is_empty() {
            written = keys.values(seed, rows);
            continue;
        }
        let begin = clock::now();
        let found = session.lookups(TABLE, COLUMN, &wanted)?;
        time += begin.elapsed();
        count += wanted.len() as u64;
        let right = if missing { found == 0 } else { found >= wanted.len() as u64 };
        if !right {
            return Err(Failure::wrong(format!("{} look-ups found {found} rows", wanted.len())));
        }
    }
    Ok((Figure::of(per_second(count, time)), ()))
}
