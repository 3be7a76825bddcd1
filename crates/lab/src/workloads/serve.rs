//! `serve`: the frequent queries of programs and dashboards, over one connection and over eight: one report of a host,
//! and an hour of a host by the minute. It also measures how fast a client receives every row. The rows are those of
//! [`tsbs`](super::tsbs).

use crate::contestant::{Contestant, Dialect, Workspace};
use crate::failure::Failure;
use crate::generator::hosts::{HostsGenerator, INTERVAL_SECONDS, START_SECONDS, host_name, hosts_of};
use crate::generator::random::Random;
use crate::measure::{Figure, Measure, Unit, clock};
use crate::workload::{Bench, RunBound, Workload, per_second};
use crate::workloads::concurrent::{Mixed, run_mixed};
use crate::workloads::questions::{LOAD, load};
use crate::workloads::tsbs::{TABLE, table};
use std::sync::LazyLock;
use std::time::Duration;

/// Connections that send queries at the same time.
const CONNECTIONS: usize = 8;
/// Different questions of each kind.
const QUESTIONS: u64 = 500;
/// The time for which the queries of each kind run, with a million rows or more.
const TIME: Duration = Duration::from_secs(3);
const HOUR_SECONDS: i64 = 3_600;

/// A kind of question: the measures of one connection, of several, and of the processor time of the latter.
struct QuestionKind {
    one: Measure,
    several: Measure,
    cpu: Measure,
    text: fn(&mut Random, u64, Dialect) -> String,
}

const CPU_TITLE: &str = "  in a second of the server's processor time";

const KINDS: [QuestionKind; 2] = [
    QuestionKind {
        one: Measure { name: "report_1", title: "one report of a host", unit: Unit::Milliseconds },
        several: Measure { name: "report_8", title: "  8 connections, all together", unit: Unit::PerSecond },
        cpu: Measure { name: "report_cpu", title: CPU_TITLE, unit: Unit::PerSecond },
        text: |random, rows, dialect| {
            let (hosts, reports) = (hosts_of(rows), (rows / hosts_of(rows)).max(1));
            let (host, report) = (random.below(hosts), random.below(reports) as i64);
            let time = dialect.time(START_SECONDS + report * INTERVAL_SECONDS);
            format!(
                "SELECT usage_user, usage_idle FROM {TABLE} WHERE hostname = '{}' AND time = {time}",
                host_name(host)
            )
        },
    },
    QuestionKind {
        one: Measure { name: "hour_1", title: "an hour of a host, by the minute", unit: Unit::Milliseconds },
        several: Measure { name: "hour_8", title: "  8 connections, all together", unit: Unit::PerSecond },
        cpu: Measure { name: "hour_cpu", title: CPU_TITLE, unit: Unit::PerSecond },
        text: |random, rows, dialect| {
            let (host, seconds) = (random.below(hosts_of(rows)), (rows / hosts_of(rows)) as i64 * INTERVAL_SECONDS);
            let begin = START_SECONDS + random.between(0, (seconds - HOUR_SECONDS).max(0));
            let (begin, end) = (dialect.time(begin), dialect.time(begin + HOUR_SECONDS));
            let minute = dialect.minute("time");
            format!(
                "SELECT {minute} AS minute, max(usage_user) FROM {TABLE} WHERE hostname = '{}' AND time >= {begin} \
                 AND time < {end} GROUP BY {minute} ORDER BY {minute}",
                host_name(host)
            )
        },
    },
];

const READ: Measure = Measure { name: "read", title: "every row to a client", unit: Unit::RowsPerSecond };

static MEASURES: LazyLock<Vec<Measure>> = LazyLock::new(|| {
    let kinds = KINDS.iter().flat_map(|kind| [kind.one, kind.several, kind.cpu]);
    LOAD.into_iter().chain(kinds).chain([READ]).collect()
});

/// The workload.
pub struct Serve;

impl Workload for Serve {
    fn name(&self) -> &'static str {
        "serve"
    }

    fn summary(&self) -> &'static str {
        "small questions over 1 and 8 connections, and every row to a client"
    }

    fn rows_default(&self) -> u64 {
        1_000_000
    }

    fn measures(&self) -> &'static [Measure] {
        &MEASURES
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (256, 800), (300, 200))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let table = table()?;
        let mut generator = HostsGenerator::new(bench.seed, bench.rows);
        let Some(workspace) = load(contestant, bench, &table, |rows| generator.batch(rows))? else { return Ok(()) };
        let mut session = contestant.open(&workspace)?;
        // A system without these indexes finds the rows in another way, or its figures show that it cannot.
        match session.prepare_lookups(&table) {
            Ok(()) | Err(Failure::Cannot(_)) => {}
            Err(other) => return Err(other),
        }
        let dialect = session.dialect();
        for kind in &KINDS {
            let mut random = Random::new(bench.seed, 53);
            let queries: Vec<String> = (0..QUESTIONS).map(|_| (kind.text)(&mut random, bench.rows, dialect)).collect();
            measure_queries(contestant, &workspace, kind, &queries, bench)?;
        }
        bench.progress(READ.name)?;
        let rows = bench.rows;
        bench.attempt(READ.name, || {
            let begin = clock::now();
            let digest = session.read_all(&table)?;
            let time = begin.elapsed();
            match digest.rows == rows {
                true => Ok((Figure::of(per_second(rows, time)), ())),
                false => Err(Failure::wrong(format!("read {} rows of {rows}", digest.rows))),
            }
        })?;
        Ok(())
    }
}

fn measure_queries(
    contestant: &dyn Contestant,
    workspace: &Workspace,
    kind: &QuestionKind,
    queries: &[String],
    bench: &mut Bench<'_>,
) -> Result<(), Failure> {
    let time = TIME.mul_f64((bench.rows as f64 / 1e6).clamp(0.02, 1.0));
    let readers =
        |readers: usize| Mixed { readers, writers: 0, time, queries, table: TABLE, row: &|_| String::new(), first: 0 };
    bench.progress(kind.one.name)?;
    let can = bench.attempt(kind.one.name, || {
        // The answer is compared; the time covers all questions.
        let answer = contestant.open(workspace)?.query(&queries[0])?.hash();
        let latencies = run_mixed(contestant, workspace, &readers(1))?.0.latencies.map_err(Failure::wrong)?;
        Ok((Figure { answer: Some(answer), latencies: Some(latencies.clone()), ..Figure::of(latencies.p50) }, ()))
    })?;
    bench.progress(kind.several.name)?;
    let done = bench.attempt_reported(kind.several.name, || {
        can.ok_or_else(|| Failure::cannot("does not answer it over one connection"))?;
        let side = run_mixed(contestant, workspace, &readers(CONNECTIONS))?.0;
        let latencies = side.latencies.map_err(Failure::wrong)?;
        let answered = latencies.count;
        Ok((Figure { latencies: Some(latencies.clone()), ..Figure::of(latencies.per_second) }, answered))
    })?;
    let (figure, answered) = done.map_or((None, 0), |(figure, answered)| (Some(figure), answered));
    bench.per_server_second(kind.cpu.name, answered, figure.as_ref())
}
