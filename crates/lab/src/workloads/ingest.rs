//! `ingest`: what a server does while clients send rows: the reports of the hosts of [`tsbs`](super::tsbs), each with
//! ten tags and ten values, in one load and in requests of a thousand rows over several connections, by the protocol
//! that loads the contestant.
//!
//! The figure to look at is the server's processor time, because the clients run on the same machine here, and on
//! others in practice.

use crate::contestant::{Contestant, Workspace};
use crate::failure::Failure;
use crate::generator::hosts::HostsGenerator;
use crate::measure::{Figure, Measure, Unit, clock};
use crate::workload::{Bench, RunBound, Workload, per_second};
use crate::workloads::questions::load_rows;
use crate::workloads::tsbs::table;
use arrow::array::RecordBatch;
use atsdb::TableDefinition;
use std::sync::Barrier;
use std::time::Duration;

/// Connections that send requests at the same time.
const CONNECTIONS: usize = 8;
/// Rows of a request.
const REQUEST_ROWS: usize = 1_000;
/// Rows that are sent in requests, at most.
const REQUESTS_ROWS: u64 = 200_000;

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("load", "load in large requests", Unit::RowsPerSecond),
    measure("load_cpu", "  in a second of the server's processor time", Unit::RowsPerSecond),
    measure("load_memory", "  the server's peak memory", Unit::Bytes),
    measure("bytes", "  size", Unit::BytesPerRow),
    measure("requests", "8 connections, 1,000 rows a request", Unit::RowsPerSecond),
    measure("requests_cpu", "  in a second of the server's processor time", Unit::RowsPerSecond),
];

/// The workload.
pub struct Ingest;

impl Workload for Ingest {
    fn name(&self) -> &'static str {
        "ingest"
    }

    fn summary(&self) -> &'static str {
        "reports of hosts, 10 tags and 10 values each, sent to a server: rate and processor time"
    }

    fn rows_default(&self) -> u64 {
        1_000_000
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (512, 1_200), (300, 300))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let table = table()?;
        if large(contestant, bench, &table)? { requests(contestant, bench, &table) } else { Ok(()) }
    }
}

/// One load. Returns whether the contestant can do it.
fn large(contestant: &dyn Contestant, bench: &mut Bench<'_>, table: &TableDefinition) -> Result<bool, Failure> {
    bench.progress("loading")?;
    let (workspace, rows) = (bench.workspace("load")?, bench.rows);
    let mut session = contestant.open(&workspace)?;
    bench.opened(session.as_ref())?;
    let mut generator = HostsGenerator::new(bench.seed, rows);
    let loaded = bench.attempt_reported("load", || {
        session.create_table(table)?;
        let time = load_rows(session.as_mut(), table, rows, |rows| generator.batch(rows))?;
        Ok((Figure { answer: Some(session.query(CHECK)?.hash()), ..Figure::of(per_second(rows, time)) }, ()))
    })?;
    let Some((figure, ())) = loaded else { return Ok(false) };
    bench.per_server_second("load_cpu", rows, Some(&figure))?;
    bench.attempt("load_memory", || match figure.server_memory_peak_bytes {
        Some(bytes) if bytes > 0 => Ok((Figure::of(bytes as f64), ())),
        _ => Err(Failure::no_server()),
    })?;
    drop(session);
    bench.attempt("bytes", || Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows.max(1) as f64), ())))?;
    Ok(true)
}

/// The query whose answer shows lost rows.
const CHECK: &str = "SELECT count(*), sum(usage_user), sum(usage_guest_nice) FROM cpu";

fn requests(contestant: &dyn Contestant, bench: &mut Bench<'_>, table: &TableDefinition) -> Result<(), Failure> {
    bench.progress("sending requests")?;
    let (workspace, rows) = (bench.workspace("requests")?, bench.rows.min(REQUESTS_ROWS));
    let mut generator = HostsGenerator::new(bench.seed, rows);
    let mut left = rows as usize;
    let mut requests = Vec::new();
    while left > 0 {
        requests.push(generator.batch(left.min(REQUEST_ROWS)));
        left -= left.min(REQUEST_ROWS);
    }
    // This starts the server, so that its processor time is known.
    contestant.open(&workspace)?.create_table(table)?;
    let sent = bench.attempt_reported("requests", || {
        contestant.loads_at_once()?;
        let time = send(contestant, &workspace, table, &requests)?;
        let answer = contestant.open(&workspace)?.query(CHECK)?.hash();
        Ok((Figure { answer: Some(answer), ..Figure::of(per_second(rows, time)) }, ()))
    })?;
    bench.per_server_second("requests_cpu", rows, sent.as_ref().map(|(figure, ())| figure))
}

/// Sends requests over several connections at once, each a separate commit. Returns how long that took.
fn send(
    contestant: &dyn Contestant,
    workspace: &Workspace,
    table: &TableDefinition,
    requests: &[RecordBatch],
) -> Result<Duration, Failure> {
    let (open, ready) = (contestant.open_for_threads(workspace)?, Barrier::new(CONNECTIONS + 1));
    let work = |seat: usize| -> Result<(), Failure> {
        let opened = open();
        ready.wait();
        let mut session = opened?;
        for request in requests.iter().skip(seat).step_by(CONNECTIONS) {
            let mut loader = session.loader(table)?;
            loader.batch(request)?;
            loader.finish()?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..CONNECTIONS).map(|seat| scope.spawn(move || work(seat))).collect();
        ready.wait();
        let begin = clock::now();
        for thread in threads {
            thread.join().unwrap_or_else(|_| Err(Failure::wrong("a thread of the lab panicked")))?;
        }
        Ok(begin.elapsed())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tsbs::TABLE;

    #[test]
    fn the_check_is_of_the_table() {
        assert!(CHECK.ends_with(TABLE));
    }
}
