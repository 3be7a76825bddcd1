//! `pinger`: the comparison of MySQL 4.1 and SQLite 3.3 on a month of PingER: the tables as they were declared, every
//! row an INSERT statement (in autocommit, as a timed sample, and all in one exclusive transaction), three queries;
//! and, in addition to the publication, readers and writers at the same time.
//!
//! Some contestants store `float` in four bytes, so that only six digits are compared between answers.
//! Acknowledged rows are counted afterwards: a missing row fails the contestant.

use crate::contestant::{Contestant, Session, Workspace};
use crate::data::answer::Cell;
use crate::failure::Failure;
use crate::generator::pinger::{self, DATA_ROWS, data_values, meta_values};
use crate::measure::{CurvePoint, Figure, Measure, Unit, clock};
use crate::workload::{Bench, RunBound, Workload, milliseconds, per_second};
use crate::workloads::concurrent::{Mixed, run_mixed};
use std::time::Duration;

/// The maximum number of rows that are inserted in autocommit, each of which waits for the disk.
const ALONE_ROWS: u64 = 2_000;
/// Rows are made in runs of this many, outside the time.
const RUN_ROWS: usize = 20_000;
/// Digits that count when answers are compared.
const DIGITS: usize = 6;
/// The time for which readers and writers work at once, on the whole month.
const MIXED_TIME: Duration = Duration::from_secs(2);

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("ddl", "create the tables", Unit::Milliseconds),
    measure("meta", "metaData, 210 rows, autocommit", Unit::StatementsPerSecond),
    measure("data_alone", "data, autocommit", Unit::StatementsPerSecond),
    measure("data", "data, one exclusive transaction", Unit::StatementsPerSecond),
    measure("bytes", "  size", Unit::BytesPerRow),
    measure("to_slac", "minimum RTT to slac.stanford.edu by source", Unit::Milliseconds),
    measure("from_bnl", "minimum and maximum RTT from bnl.gov", Unit::Milliseconds),
    measure("from_hep", "minimum, maximum, mean RTT from hep.net, two times", Unit::Milliseconds),
    measure("read_1_1", "1 reader, 1 writer: a query", Unit::Milliseconds),
    measure("write_1_1", "  an INSERT", Unit::Milliseconds),
    measure("read_2_1", "2 readers, 1 writer: a query", Unit::Milliseconds),
    measure("write_2_1", "  an INSERT", Unit::Milliseconds),
    measure("read_4_1", "4 readers, 1 writer: a query", Unit::Milliseconds),
    measure("write_4_1", "  an INSERT", Unit::Milliseconds),
    measure("read_1_2", "1 reader, 2 writers: a query", Unit::Milliseconds),
    measure("write_1_2", "  an INSERT", Unit::Milliseconds),
    measure("read_2_2", "2 readers, 2 writers: a query", Unit::Milliseconds),
    measure("write_2_2", "  an INSERT", Unit::Milliseconds),
    measure("read_4_2", "4 readers, 2 writers: a query", Unit::Milliseconds),
    measure("write_4_2", "  an INSERT", Unit::Milliseconds),
];

/// Readers and writers, in the order of the measures.
const MIXES: [(usize, usize); 6] = [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 2)];

/// The three questions.
pub(super) const QUERIES: [(&str, &str); 3] = [
    (
        "to_slac",
        "select ip_name_src, min(minRtt) from metaData, data_200112 \
         where metaData.metaID = data_200112.metaID and ip_name_dst = 'slac.stanford.edu' group by ip_name_src",
    ),
    (
        "from_bnl",
        "select ip_name_dst, min(minRtt), max(maxRtt) from metaData, data_200112 \
         where metaData.metaID = data_200112.metaID and ip_name_src = 'bnl.gov' group by ip_name_dst",
    ),
    (
        "from_hep",
        "select ip_name_dst, min(minRtt), max(maxRtt), avg(meanRtt) from metaData, data_200112 \
         where metaData.metaID = data_200112.metaID and ip_name_src = 'hep.net' \
         and timestamp >= 1007769600 and timestamp < 1008374400 group by ip_name_dst",
    ),
];

/// The workload.
pub struct Pinger;

impl Workload for Pinger {
    fn name(&self) -> &'static str {
        "pinger"
    }

    fn summary(&self) -> &'static str {
        "a month of network round trips: every row a statement, three questions, readers beside writers"
    }

    fn rows_default(&self) -> u64 {
        DATA_ROWS as u64
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn bound(&self, rows: u64) -> RunBound {
        let rows = rows.min(DATA_ROWS as u64);
        RunBound::of_rows(rows, (256, 1_000), (180, 1_000))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let month = pinger::Pinger::new(bench.seed);
        alone(contestant, &month, bench)?;
        let workspace = bench.workspace("month")?;
        let mut session = contestant.open(&workspace)?;
        bench.opened(session.as_ref())?;
        let declared = bench.attempt("ddl", || {
            let begin = clock::now();
            session.execute(&session.dialect().pinger_tables())?;
            Ok((Figure::of(milliseconds(begin.elapsed())), ()))
        })?;
        if declared.is_none() {
            return Ok(());
        }
        bench.progress("metaData, row by row")?;
        let meta = meta_statements(&month);
        bench.attempt("meta", || {
            let begin = clock::now();
            session.execute(&meta)?;
            Ok((Figure::of(per_second(meta.len() as u64, begin.elapsed())), ()))
        })?;
        bench.progress("data in one transaction")?;
        let rows = rows_of(bench.rows);
        if bench.attempt("data", || exclusively(session.as_mut(), &month, rows))?.is_none() {
            return Ok(());
        }
        drop(session);
        bench.attempt("bytes", || Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows as f64), ())))?;
        let mut session = contestant.open(&workspace)?;
        for (measure, text) in QUERIES {
            bench.progress(measure)?;
            bench.query_to(measure, |answer| answer.hash_to(DIGITS), || session.query(text))?;
        }
        drop(session);
        mixes(contestant, &workspace, bench)
    }
}

fn rows_of(rows: u64) -> u64 {
    rows.min(DATA_ROWS as u64)
}

fn meta_statements(month: &pinger::Pinger) -> Vec<String> {
    month.meta_rows().iter().map(|row| format!("INSERT INTO metaData VALUES {}", meta_values(row))).collect()
}

/// Inserts a sample of the month in autocommit, in a separate workspace.
fn alone(contestant: &dyn Contestant, month: &pinger::Pinger, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("data in autocommit, a sample")?;
    let workspace = bench.workspace("alone")?;
    let rows = rows_of(bench.rows).min(ALONE_ROWS).min(bench.rows / 10 + 1);
    bench.attempt("data_alone", || {
        let mut session = contestant.open(&workspace)?;
        session.execute(&session.dialect().pinger_tables())?;
        let statements: Vec<String> = month
            .data_rows()
            .take(rows as usize)
            .map(|row| format!("INSERT INTO data_200112 VALUES {}", data_values(row)))
            .collect();
        let begin = clock::now();
        session.execute(&statements)?;
        let time = begin.elapsed();
        let answer = session.query("SELECT count(*), sum(metaID), max(timestamp) FROM data_200112")?.hash();
        Ok((Figure { answer: Some(answer), ..Figure::of(per_second(rows, time)) }, ()))
    })?;
    Ok(())
}

/// The month as single-row INSERT statements in one exclusive transaction.
fn exclusively(session: &mut dyn Session, month: &pinger::Pinger, rows: u64) -> Result<(Figure, ()), Failure> {
    let (mut time, mut curve, mut there) = (Duration::ZERO, Vec::new(), 0);
    let begin = clock::now();
    session.execute(&[session.dialect().begin_exclusive().to_owned()])?;
    time += begin.elapsed();
    let mut data = month.data_rows().take(rows as usize);
    while there < rows {
        let statements: Vec<String> = data
            .by_ref()
            .take(RUN_ROWS)
            .map(|row| format!("INSERT INTO data_200112 VALUES {}", data_values(row)))
            .collect();
        there += statements.len().max(1) as u64;
        let begin = clock::now();
        if let Err(failure) = session.execute(&statements) {
            // Only the first failure is reported; the session ends the transaction in any case.
            let _ = session.execute(&["ROLLBACK".to_owned()]);
            return Err(failure);
        }
        let taken = begin.elapsed();
        time += taken;
        curve.push(CurvePoint { rows: there, value: per_second(statements.len() as u64, taken) });
    }
    let begin = clock::now();
    session.execute(&["COMMIT".to_owned()])?;
    time += begin.elapsed();
    let answer = session.query("SELECT count(*), sum(metaID), max(timestamp) FROM data_200112")?.hash();
    Ok((Figure { answer: Some(answer), curve, ..Figure::of(per_second(rows, time)) }, ()))
}

fn mixes(contestant: &dyn Contestant, workspace: &Workspace, bench: &mut Bench<'_>) -> Result<(), Failure> {
    let share = rows_of(bench.rows) as f64 / DATA_ROWS as f64;
    let time = MIXED_TIME.mul_f64(share.max(0.05));
    let queries: Vec<String> = QUERIES.iter().map(|(_, text)| (*text).to_owned()).collect();
    // Writers add rows of later months, so that every row's key is new and the answers of queries do not change.
    let row = |number: u64| {
        format!("({},1.5,2.5,2.25,4.5,{},{})", number % 210 + 1, 1_050_000_000 + number, "NULL,".repeat(9) + "NULL")
    };
    let mut written = 0;
    for (readers, writers) in MIXES {
        bench.progress(format!("{readers} readers and {writers} writers"))?;
        let (read, write) = (format!("read_{readers}_{writers}"), format!("write_{readers}_{writers}"));
        let first = written;
        let mixed = Mixed { readers, writers, time, queries: &queries, table: "data_200112", row: &row, first };
        let both = bench.attempt(&read, || {
            let (reading, writing) = run_mixed(contestant, workspace, &mixed)?;
            written += writing.attempted;
            let counted = count(contestant.open(workspace)?.as_mut(), first)?;
            let acknowledged = writing.latencies.as_ref().map_or(0, |latencies| latencies.count);
            // A failed statement may still have been done; an acknowledged one must have been.
            if counted < acknowledged || counted > writing.attempted {
                let message = format!("{counted} rows are there of {acknowledged} that were acknowledged");
                return Err(Failure::wrong(message));
            }
            let reading = reading.latencies.map_err(Failure::wrong)?;
            let figure = Figure { latencies: Some(reading.clone()), ..Figure::of(reading.p50) };
            Ok((figure, writing.latencies))
        })?;
        if let Some(writing) = both {
            bench.attempt(&write, || {
                let writing = writing.map_err(Failure::wrong)?;
                Ok((Figure { latencies: Some(writing.clone()), ..Figure::of(writing.p50) }, ()))
            })?;
        }
    }
    Ok(())
}

/// The number of rows that writers have added from this number on.
fn count(session: &mut dyn Session, first: u64) -> Result<u64, Failure> {
    let from = 1_050_000_000 + first;
    let answer = session.query(&format!("SELECT count(*) FROM data_200112 WHERE timestamp >= {from}"))?;
    match answer.rows.first().and_then(|row| row.first()) {
        Some(Cell::Integer(count)) => Ok(*count as u64),
        other => Err(Failure::wrong(format!("count(*) is {other:?}"))),
    }
}
