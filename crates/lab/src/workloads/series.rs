//! `series`: the published comparison of a time-series layout with plain tables. Two tables of readings from 5,000
//! sensors, (time, sensor, status) and the same with six counters; see [`generator::series`](crate::generator::series)
//! for the rows and how much information they hold.
//!
//! The narrow table is appended row by row from structs, the wide one in Arrow batches. The rows that each contestant
//! returns are checked against the generator; answers of queries are compared between contestants. Scans run before a
//! contestant creates its indexes, lookups after. Every query's first run is reported separately; the figure is the
//! median of the later runs.

use crate::contestant::{Contestant, Dialect, Session, Workspace};
use crate::data::digest::RowDigest;
use crate::data::rows::{CounterReading, Reading, RowSet, Timed};
use crate::failure::Failure;
use crate::generator::series::{
    COUNTERS, START_SECONDS, STATUSES, SeriesGenerator, entropy_bytes_per_row, sensor_name,
};
use crate::measure::{Figure, Measure, Spread, Unit, clock};
use crate::workload::{Bench, CHILD_START, CHILD_VARIABLE, Fact, RunBound, Workload, milliseconds, per_second};
use crate::workloads::minute::{ROWS_A_SECOND, minute};
use crate::workloads::questions::without_null;
use atsdb::time::DAY_SECONDS;
use atsdb::{ColumnType, MapWidth, TableDefinition, TimeUnit};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Rows are generated and passed on in runs of this many, so that the generator's memory stays small.
const CHUNK_ROWS: u64 = 100_000;
/// The numbers of `INSERT` statements that are timed: in one transaction, and each in its own, which waits for the
/// disk.
const STATEMENTS: (u64, usize) = (20_000, 200);
/// Rows of a statement that inserts many.
const STATEMENT_ROWS: usize = 1_000;
/// The store whose opening is timed: this many days, with this many rows each.
const SLICES: (i64, usize) = (1_000, 10);
/// The number of times that opening and starting are timed.
const OPENINGS: usize = 7;

const TABLE: &str = "readings";

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("append_rows", "append row by row, 2 mapped strings", Unit::RowsPerSecond),
    measure("append_batches", "append Arrow batches, 8 columns", Unit::RowsPerSecond),
    measure("append_memory", "  peak memory", Unit::Bytes),
    measure("seal", "seal, 8 columns", Unit::RowsPerSecond),
    measure("bytes_narrow_fresh", "size, 2 columns, as appended", Unit::BytesPerRow),
    measure("bytes_narrow", "size, 2 columns, sealed", Unit::BytesPerRow),
    measure("bytes_wide_fresh", "size, 8 columns, as appended", Unit::BytesPerRow),
    measure("bytes_wide", "size, 8 columns, sealed", Unit::BytesPerRow),
    measure("read_narrow", "read back every row, 2 columns", Unit::RowsPerSecond),
    measure("read_wide", "read back every row, 8 columns", Unit::RowsPerSecond),
    measure("read_memory", "  peak memory", Unit::Bytes),
    measure("count", "count(*)", Unit::Milliseconds),
    measure("mean", "avg of a column", Unit::Milliseconds),
    measure("by_status", "GROUP BY status", Unit::Milliseconds),
    measure("by_sensor", "GROUP BY sensor", Unit::Milliseconds),
    measure("by_hour_and_sensor", "GROUP BY hour, sensor", Unit::Milliseconds),
    measure("index", "make the indexes for look-ups", Unit::Milliseconds),
    measure("bytes_wide_indexed", "size, 8 columns, with them", Unit::BytesPerRow),
    measure("last_rows", "one sensor's last 10 rows", Unit::Milliseconds),
    measure("two_hours", "two hours of all sensors", Unit::Milliseconds),
    measure("insert_values", "INSERT ... VALUES, one row a statement, one transaction", Unit::StatementsPerSecond),
    measure("insert_alone", "  each a transaction of its own", Unit::StatementsPerSecond),
    measure("insert_many", "  1,000 rows a statement", Unit::RowsPerSecond),
    measure("update", "UPDATE a column of all rows", Unit::RowsPerSecond),
    measure("minute_insert_narrow", "insert for a bounded time, 2 columns", Unit::RowsPerSecond),
    measure("minute_read_narrow", "  read them back", Unit::RowsPerSecond),
    measure("minute_bytes_narrow", "  an entry", Unit::BytesPerRow),
    measure("minute_insert_wide", "insert for a bounded time, 8 columns", Unit::RowsPerSecond),
    measure("minute_read_wide", "  read them back", Unit::RowsPerSecond),
    measure("minute_bytes_wide", "  an entry", Unit::BytesPerRow),
    measure("open", "open a store of 1,000 slices and count", Unit::Milliseconds),
    measure("start", "start the program", Unit::Milliseconds),
];

/// The workload.
pub struct Series;

impl Workload for Series {
    fn name(&self) -> &'static str {
        "series"
    }

    fn summary(&self) -> &'static str {
        "readings of 5,000 sensors, one a minute: append, size, read back, the usual queries"
    }

    fn rows_default(&self) -> u64 {
        10_000_000
    }

    fn rows_published(&self) -> u64 {
        60 * ROWS_A_SECOND
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn facts(&self, rows: u64) -> Vec<Fact> {
        let fact = |name: &str, title: &str, wide: bool, measures: [&str; 2]| Fact {
            name: name.to_owned(),
            title: title.to_owned(),
            value: entropy_bytes_per_row(rows, wide),
            unit: Unit::BytesPerRow,
            measures: measures.map(str::to_owned).to_vec(),
        };
        let own = |name: &str, bytes: f64, measure: &str| Fact {
            name: name.to_owned(),
            title: "the entry's own bytes, as published".to_owned(),
            value: bytes,
            unit: Unit::BytesPerRow,
            measures: vec![measure.to_owned()],
        };
        vec![
            fact("entropy_narrow", "Shannon entropy, 2 columns", false, ["bytes_narrow", "bytes_narrow_fresh"]),
            fact("entropy_wide", "Shannon entropy, 8 columns", true, ["bytes_wide", "bytes_wide_fresh"]),
            own("own_narrow", 9.0, "minute_bytes_narrow"),
            own("own_wide", 35.0, "minute_bytes_wide"),
        ]
    }

    fn bound(&self, rows: u64) -> RunBound {
        // PostgreSQL's log of an UPDATE of all rows with three indexes is the largest part.
        // Some forty sessions are opened, each of which is a separate process for some contestants.
        RunBound::of_rows(rows, (64, 2_500), (360, 60))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        narrow(contestant, bench)?;
        wide(contestant, bench)?;
        statements(contestant, bench)?;
        minute(contestant, bench, &table(false)?, "narrow")?;
        minute(contestant, bench, &table(true)?, "wide")?;
        open(contestant, bench)?;
        start(contestant, bench)
    }
}

/// The table of the readings; if it is wide, with six counters.
///
/// # Errors
///
/// None: the definition is valid.
pub fn table(wide: bool) -> Result<TableDefinition, Failure> {
    let mut table = TableDefinition::new(TABLE)
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("status", ColumnType::Text, Some(MapWidth::U8));
    for counter in 1..=if wide { COUNTERS } else { 0 } {
        table = table.with_column(format!("count{counter}"), ColumnType::Int32, None);
    }
    without_null(table.with_time("time", TimeUnit::Second)?, &[])
}

fn narrow(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("appending rows")?;
    let (workspace, table, rows) = (bench.workspace("narrow")?, table(false)?, bench.rows);
    let mut session = contestant.open(&workspace)?;
    bench.opened(session.as_ref())?;
    session.create_table(&table)?;
    let seed = bench.seed;
    let loaded = bench.attempt("append_rows", || {
        let (time, digest) = load(session.as_mut(), &table, seed, rows, LoadForm::Rows)?;
        Ok((Figure::of(per_second(rows, time)), digest))
    })?;
    let Some(expected) = loaded else { return Ok(()) };

    drop(session);
    bytes("bytes_narrow_fresh", contestant, &workspace, bench)?;
    let mut session = contestant.open(&workspace)?;
    match session.seal() {
        Ok(()) | Err(Failure::Cannot(_)) => {}
        Err(other) => return Err(other),
    }
    drop(session);
    bytes("bytes_narrow", contestant, &workspace, bench)?;
    let mut session = contestant.open(&workspace)?;
    bench.progress("reading rows back")?;
    bench.attempt("read_narrow", || read_back(session.as_mut(), &table, expected))?;
    Ok(())
}

fn wide(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("appending batches")?;
    let (workspace, table, rows, seed) = (bench.workspace("wide")?, table(true)?, bench.rows, bench.seed);
    let mut session = contestant.open(&workspace)?;
    session.create_table(&table)?;
    let loaded = bench.attempt("append_batches", || {
        let (time, digest) = load(session.as_mut(), &table, seed, rows, LoadForm::Batches)?;
        Ok((Figure::of(per_second(rows, time)), digest))
    })?;
    let Some(expected) = loaded else { return Ok(()) };
    memory("append_memory", bench)?;

    drop(session);
    bytes("bytes_wide_fresh", contestant, &workspace, bench)?;
    let mut session = contestant.open(&workspace)?;
    bench.progress("sealing")?;
    bench.attempt("seal", || {
        let begin = clock::now();
        session.seal()?;
        Ok((Figure::of(per_second(rows, begin.elapsed())), ()))
    })?;
    drop(session);
    bytes("bytes_wide", contestant, &workspace, bench)?;

    let mut session = contestant.open(&workspace)?;
    bench.progress("reading rows back")?;
    bench.attempt("read_wide", || read_back(session.as_mut(), &table, expected))?;
    memory("read_memory", bench)?;
    queries(session.as_mut(), &SCANS, bench)?;
    bench.progress("making indexes")?;
    bench.attempt("index", || {
        let begin = clock::now();
        session.prepare_lookups(&table)?;
        Ok((Figure::of(milliseconds(begin.elapsed())), ()))
    })?;
    drop(session);
    bytes("bytes_wide_indexed", contestant, &workspace, bench)?;

    let mut session = contestant.open(&workspace)?;
    queries(session.as_mut(), &LOOKUPS, bench)?;
    bench.progress("updating")?;
    bench.attempt("update", || {
        let begin = clock::now();
        session.execute(&[session.dialect().update(TABLE, "count1 = count1 + 1")])?;
        let time = begin.elapsed();
        let answer = session.query(&format!("SELECT sum(count1) FROM {TABLE}"))?.hash();
        Ok((Figure { answer: Some(answer), ..Figure::of(per_second(rows, time)) }, ()))
    })?;
    Ok(())
}

/// How rows are passed to a contestant.
#[derive(Clone, Copy, PartialEq)]
enum LoadForm {
    Rows,
    Batches,
}

/// Loads the generator's rows as one commit. Returns the time that the contestant took, without the generator's, and
/// the digest of the rows.
fn load(
    session: &mut dyn Session,
    table: &TableDefinition,
    seed: u64,
    rows: u64,
    form: LoadForm,
) -> Result<(Duration, RowDigest), Failure> {
    let mut generator = SeriesGenerator::new(seed);
    let (mut time, mut digest, mut left) = (Duration::ZERO, RowDigest::default(), rows);
    let wide = table.columns.len() > 3;
    let begin = clock::now();
    let mut loader = session.loader(table)?;
    time += begin.elapsed();
    while left > 0 {
        let chunk = generator.chunk(left.min(CHUNK_ROWS) as usize);
        let batch = generator.batch(&chunk, wide);
        left -= batch.num_rows() as u64;
        digest.add_batch(&batch)?;
        let rows = match (form, wide) {
            (LoadForm::Batches, _) => None,
            (LoadForm::Rows, false) => Some(RowSet::Readings(generator.readings(&chunk))),
            (LoadForm::Rows, true) => Some(RowSet::CounterReadings(generator.counter_readings(&chunk))),
        };
        let begin = clock::now();
        match &rows {
            Some(rows) => loader.rows(rows)?,
            None => loader.batch(&batch)?,
        }
        time += begin.elapsed();
    }
    let begin = clock::now();
    loader.finish()?;
    Ok((time + begin.elapsed(), digest))
}

fn read_back(session: &mut dyn Session, table: &TableDefinition, expected: RowDigest) -> Result<(Figure, ()), Failure> {
    let begin = clock::now();
    let digest = session.read_all(table)?;
    let time = begin.elapsed();
    if digest != expected {
        let message = format!("read {} rows back that are not the {} loaded", digest.rows, expected.rows);
        return Err(Failure::wrong(message));
    }
    Ok((Figure::of(per_second(digest.rows, time)), ()))
}

fn bytes(
    measure: &str,
    contestant: &dyn Contestant,
    workspace: &Workspace,
    bench: &mut Bench<'_>,
) -> Result<(), Failure> {
    let rows = bench.rows;
    bench.attempt(measure, || Ok((Figure::of(contestant.bytes(workspace)? as f64 / rows.max(1) as f64), ()))).map(drop)
}

/// Reports the memory peak of the last measurement as a separate figure.
fn memory(measure: &str, bench: &mut Bench<'_>) -> Result<(), Failure> {
    match crate::process::memory_peak_bytes() {
        Some(bytes) => bench.record(measure, Figure::of(bytes as f64)),
        None => Ok(()),
    }
}

type QueryText = fn(Dialect, u64) -> String;

const SCANS: [(&str, QueryText); 5] = [
    ("count", |_, _| format!("SELECT count(*) FROM {TABLE}")),
    ("mean", |_, _| format!("SELECT avg(count1) FROM {TABLE}")),
    ("by_status", |_, _| format!("SELECT status, count(*), avg(count1) FROM {TABLE} GROUP BY status")),
    ("by_sensor", |_, _| format!("SELECT sensor, count(*), avg(count1), max(count2) FROM {TABLE} GROUP BY sensor")),
    ("by_hour_and_sensor", |dialect, _| {
        let hour = dialect.hour("time");
        format!("SELECT {hour} AS hour, sensor, avg(count1), max(count2) FROM {TABLE} GROUP BY {hour}, sensor")
    }),
];

const LOOKUPS: [(&str, QueryText); 2] = [
    ("last_rows", |_, rows| {
        let sensor = sensor_name((rows / 2 % 5_000) as usize);
        format!(
            "SELECT time, status, count1, count6 FROM {TABLE} WHERE sensor = '{sensor}' ORDER BY time DESC LIMIT 10"
        )
    }),
    ("two_hours", |dialect, rows| {
        let minutes = (rows / 5_000) as i64;
        let begin = START_SECONDS + (minutes / 2 - 60).max(0) * 60;
        let (begin, end) = (dialect.time(begin), dialect.time(begin + 7_200));
        format!(
            "SELECT count(*), avg(count1), min(count2), max(count3) FROM {TABLE} WHERE time >= {begin} AND time < {end}"
        )
    }),
];

fn queries(session: &mut dyn Session, queries: &[(&str, QueryText)], bench: &mut Bench<'_>) -> Result<(), Failure> {
    for (measure, text) in queries {
        bench.progress(*measure)?;
        let text = text(session.dialect(), bench.rows);
        bench.query(measure, || session.query(&text))?;
    }
    Ok(())
}

fn statements(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("inserting by statements")?;
    let rows = values(bench, contestant.open(&bench.workspace("statements")?)?.dialect());
    let insert = |values: &[String]| format!("INSERT INTO {TABLE} VALUES {}", values.join(", "));
    let single: Vec<String> = rows.chunks(1).map(insert).collect();
    let many: Vec<String> = rows.chunks(STATEMENT_ROWS).map(insert).collect();
    let alone = &single[..single.len().min(STATEMENTS.1)];
    let table = table(true)?;
    let mut timed = |measure, count: usize, run: &dyn Fn(&mut dyn Session) -> Result<(), Failure>| {
        let mut session = contestant.open(&bench.workspace(measure)?)?;
        session.create_table(&table)?;
        bench.attempt(measure, || {
            let begin = clock::now();
            run(session.as_mut())?;
            let time = begin.elapsed();
            let answer = session.query(&format!("SELECT count(*), sum(count1), sum(count6) FROM {TABLE}"))?.hash();
            Ok((Figure { answer: Some(answer), ..Figure::of(per_second(count as u64, time)) }, ()))
        })
    };
    timed("insert_values", single.len(), &|session| session.transaction(&single))?;
    timed("insert_alone", alone.len(), &|session| session.execute(alone))?;
    timed("insert_many", rows.len(), &|session| session.execute(&many))?;
    Ok(())
}

/// The first rows of the wide table as SQL's lists of values.
fn values(bench: &Bench<'_>, dialect: Dialect) -> Vec<String> {
    let mut generator = SeriesGenerator::new(bench.seed);
    let chunk = generator.chunk(bench.rows.min(STATEMENTS.0) as usize);
    let text = |Timed { time, record: row }: &Timed<CounterReading>| {
        let time = dialect.time(*time);
        let counters = [row.count1, row.count2, row.count3, row.count4, row.count5, row.count6];
        let counters = counters.map(|counter| counter.to_string()).join(", ");
        format!("({time}, '{}', '{}', {counters})", row.sensor, row.status)
    };
    generator.counter_readings(&chunk).iter().map(text).collect()
}

fn open(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("opening")?;
    let (workspace, table) = (bench.workspace("slices")?, table(false)?);
    let mut session = contestant.open(&workspace)?;
    session.create_table(&table)?;
    let reading = |day: i64, sensor: usize| Timed {
        time: START_SECONDS + day * DAY_SECONDS + sensor as i64,
        record: Reading { sensor: sensor_name(sensor), status: STATUSES[0].to_owned() },
    };
    let rows = (0..SLICES.0).flat_map(|day| (0..SLICES.1).map(move |sensor| reading(day, sensor))).collect();
    let mut loader = session.loader(&table)?;
    loader.rows(&RowSet::Readings(rows))?;
    loader.finish()?;
    drop(session);
    bench.attempt("open", || {
        let (mut times, mut answer) = (Vec::new(), None);
        for _ in 0..OPENINGS {
            let begin = clock::now();
            let mut session = contestant.open(&workspace)?;
            let counted = session.query(&format!("SELECT count(*) FROM {TABLE}"))?;
            times.push(milliseconds(begin.elapsed()));
            answer = Some(counted.hash());
        }
        Ok((Figure { answer, ..median_after_first(&times) }, ()))
    })?;
    Ok(())
}

fn start(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("starting")?;
    let command = bench.start_command.clone();
    bench.attempt("start", || {
        contestant.has_program()?;
        let Some((program, arguments)) = command.split_first() else {
            return Err(Failure::cannot("no command to start was given"));
        };
        let mut times = Vec::new();
        for _ in 0..OPENINGS {
            let mut command = Command::new(program);
            command.args(arguments).env(CHILD_VARIABLE, CHILD_START);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let begin = clock::now();
            command.status().map_err(Failure::broken)?;
            times.push(milliseconds(begin.elapsed()));
        }
        Ok((median_after_first(&times), ()))
    })?;
    Ok(())
}

fn median_after_first(times: &[f64]) -> Figure {
    let warm = Spread::of(times.get(1..).unwrap_or_default());
    Figure { first: times.first().copied(), ..Figure::of(warm.map_or(0.0, |spread| spread.median)) }
}
