//! `tsbs`: the queries of TSBS's use case `cpu-only`, on one table of what hosts report every ten seconds; see
//! [`generator::hosts`](crate::generator::hosts).
//!
//! TSBS runs each query a thousand times with random hosts and times. Here the parameters of each are drawn once from
//! the seed, so that its answer can be compared. The names of queries are TSBS's: `single-groupby-5-8-1` is the maximum
//! of 5 metrics a minute of 8 hosts in 1 hour.

use crate::contestant::{Contestant, Dialect};
use crate::failure::Failure;
use crate::generator::hosts::{HostsGenerator, INTERVAL_SECONDS, METRICS, START_SECONDS, TAGS, host_name, hosts_of};
use crate::generator::random::Random;
use crate::measure::{Figure, Measure, Unit};
use crate::workload::{Bench, RunBound, Workload, milliseconds};
use crate::workloads::questions::{ComparedPart, Question, ask, load, measures, timed, without_null};
use atsdb::{ColumnType, MapWidth, TableDefinition, TimeUnit};
use std::sync::LazyLock;

pub(super) const TABLE: &str = "cpu";
const HOUR_SECONDS: i64 = 3_600;
/// Three days of 100 hosts.
const ROWS: u64 = 100 * 3 * 8_640;
/// A share above this many percent is high.
const HIGH: u64 = 90;

/// A query of TSBS, with its parameters.
#[derive(Clone, Copy)]
enum TsbsQuery {
    /// The maximum of some metrics for each minute, over some hosts and hours.
    MaxPerMinute { metrics: usize, hosts: usize, hours: i64 },
    /// The maximum of all metrics for each hour, over some hosts, in eight hours.
    MaxPerHour { hosts: usize },
    /// The mean of some metrics for each hour and host, in twelve hours.
    MeanPerHourAndHost { metrics: usize },
    /// Every report with a high `usage_user` in twelve hours, of some hosts, or of all.
    High { hosts: Option<usize> },
    /// The last report of each host.
    LastPoint,
    /// The maximum of a metric in each of the last five minutes before some time.
    LastMinutes,
}

const fn max_per_minute(metrics: usize, hosts: usize, hours: i64) -> TsbsQuery {
    TsbsQuery::MaxPerMinute { metrics, hosts, hours }
}

const QUERIES: [(&str, &str, TsbsQuery); 15] = [
    ("single-groupby-1-1-1", "max of 1 metric a minute, 1 host, 1 h", max_per_minute(1, 1, 1)),
    ("single-groupby-1-1-12", "max of 1 metric a minute, 1 host, 12 h", max_per_minute(1, 1, 12)),
    ("single-groupby-1-8-1", "max of 1 metric a minute, 8 hosts, 1 h", max_per_minute(1, 8, 1)),
    ("single-groupby-5-1-1", "max of 5 metrics a minute, 1 host, 1 h", max_per_minute(5, 1, 1)),
    ("single-groupby-5-1-12", "max of 5 metrics a minute, 1 host, 12 h", max_per_minute(5, 1, 12)),
    ("single-groupby-5-8-1", "max of 5 metrics a minute, 8 hosts, 1 h", max_per_minute(5, 8, 1)),
    ("cpu-max-all-1", "max of 10 metrics an hour, 1 host, 8 h", TsbsQuery::MaxPerHour { hosts: 1 }),
    ("cpu-max-all-8", "max of 10 metrics an hour, 8 hosts, 8 h", TsbsQuery::MaxPerHour { hosts: 8 }),
    ("double-groupby-1", "mean of 1 metric an hour and host, 12 h", TsbsQuery::MeanPerHourAndHost { metrics: 1 }),
    ("double-groupby-5", "mean of 5 metrics an hour and host, 12 h", TsbsQuery::MeanPerHourAndHost { metrics: 5 }),
    ("double-groupby-all", "mean of 10 metrics an hour and host, 12 h", TsbsQuery::MeanPerHourAndHost { metrics: 10 }),
    ("high-cpu-all", "reports above 90 %, all hosts, 12 h", TsbsQuery::High { hosts: None }),
    ("high-cpu-1", "reports above 90 %, 1 host, 12 h", TsbsQuery::High { hosts: Some(1) }),
    ("lastpoint", "the last report of each host", TsbsQuery::LastPoint),
    ("groupby-orderby-limit", "max of 1 metric, the last 5 minutes before a time", TsbsQuery::LastMinutes),
];

static MEASURES: LazyLock<Vec<Measure>> = LazyLock::new(|| {
    let mut all = measures(QUERIES.iter().map(|(name, title, _)| (*name, *title)));
    let index = Measure { name: "index", title: "make the indexes for look-ups", unit: Unit::Milliseconds };
    all.insert(all.len() - QUERIES.len(), index);
    all
});

/// The workload.
pub struct Tsbs;

impl Workload for Tsbs {
    fn name(&self) -> &'static str {
        "tsbs"
    }

    fn summary(&self) -> &'static str {
        "TSBS, cpu-only: 100 hosts report ten metrics every 10 s for three days; its queries"
    }

    fn rows_default(&self) -> u64 {
        ROWS
    }

    fn measures(&self) -> &'static [Measure] {
        &MEASURES
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (64, 800), (300, 200))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let table = table()?;
        let mut generator = HostsGenerator::new(bench.seed, bench.rows);
        let Some(workspace) = load(contestant, bench, &table, |rows| generator.batch(rows))? else { return Ok(()) };
        let mut session = contestant.open(&workspace)?;
        bench.progress("making indexes")?;
        bench.attempt("index", || {
            let time = timed(|| session.prepare_lookups(&table))?;
            Ok((Figure::of(milliseconds(time)), ()))
        })?;
        let mut draw = Draw::new(bench.seed, bench.rows);
        let dialect = session.dialect();
        let question = |(measure, _, query): &(&'static str, &str, TsbsQuery)| Question {
            measure,
            text: Ok(draw.text(*query, dialect)),
            decided: ComparedPart::All,
        };
        let questions = QUERIES.iter().map(question).collect();
        ask(session.as_mut(), questions, bench)
    }
}

/// The table of the reports.
pub(super) fn table() -> Result<TableDefinition, Failure> {
    let mut table = TableDefinition::new(TABLE).with_column("time", ColumnType::Timestamp(TimeUnit::Second), None);
    for tag in TAGS {
        let width = if tag == TAGS[0] { MapWidth::U16 } else { MapWidth::U8 };
        table = table.with_column(tag, ColumnType::Text, Some(width));
    }
    for metric in METRICS {
        table = table.with_column(metric, ColumnType::Float64, None);
    }
    without_null(table.with_time("time", TimeUnit::Second)?, &TAGS[..1])
}

/// Draws the hosts and times of queries.
struct Draw {
    random: Random,
    hosts: u64,
    /// The last report, in seconds after the first.
    seconds: i64,
}

impl Draw {
    fn new(seed: u64, rows: u64) -> Self {
        let hosts = hosts_of(rows);
        Self { random: Random::new(seed, 52), hosts, seconds: (rows / hosts) as i64 * INTERVAL_SECONDS }
    }

    /// A condition that selects a range of this many hours, which begins at a random time.
    fn hours(&mut self, hours: i64, dialect: Dialect) -> String {
        let length = hours * HOUR_SECONDS;
        let begin = START_SECONDS + self.random.between(0, (self.seconds - length).max(0));
        format!("time >= {} AND time < {}", dialect.time(begin), dialect.time(begin + length))
    }

    /// A condition that selects this many different hosts.
    fn hosts(&mut self, count: usize) -> String {
        let mut hosts: Vec<u64> = (0..self.hosts).collect();
        let mut host = || host_name(hosts.swap_remove(self.random.below(hosts.len() as u64) as usize));
        match count {
            1 => format!("hostname = '{}'", host()),
            _ => {
                let names: Vec<String> = (0..count).map(|_| format!("'{}'", host())).collect();
                format!("hostname IN ({})", names.join(", "))
            }
        }
    }

    fn text(&mut self, query: TsbsQuery, dialect: Dialect) -> String {
        let (minute, hour) = (dialect.minute("time"), dialect.hour("time"));
        match query {
            TsbsQuery::MaxPerMinute { metrics, hosts, hours } => {
                let (hosts, hours) = (self.hosts(hosts), self.hours(hours, dialect));
                let columns = aggregates("max", metrics);
                format!(
                    "SELECT {minute} AS minute, {columns} FROM {TABLE} WHERE {hosts} AND {hours} \
                     GROUP BY {minute} ORDER BY {minute}"
                )
            }
            TsbsQuery::MaxPerHour { hosts } => {
                let (hosts, hours) = (self.hosts(hosts), self.hours(8, dialect));
                let columns = aggregates("max", METRICS.len());
                format!(
                    "SELECT {hour} AS hour, {columns} FROM {TABLE} WHERE {hosts} AND {hours} \
                     GROUP BY {hour} ORDER BY {hour}"
                )
            }
            TsbsQuery::MeanPerHourAndHost { metrics } => {
                let (hours, columns) = (self.hours(12, dialect), aggregates("avg", metrics));
                format!(
                    "SELECT {hour} AS hour, hostname, {columns} FROM {TABLE} WHERE {hours} \
                     GROUP BY {hour}, hostname ORDER BY {hour}, hostname"
                )
            }
            TsbsQuery::High { hosts } => {
                let hosts = hosts.map_or_else(String::new, |count| format!(" AND {}", self.hosts(count)));
                let hours = self.hours(12, dialect);
                format!("SELECT * FROM {TABLE} WHERE usage_user > {HIGH}{hosts} AND {hours}")
            }
            TsbsQuery::LastPoint => dialect.last_rows(TABLE, "hostname", "time"),
            TsbsQuery::LastMinutes => {
                let end = dialect.time(START_SECONDS + self.random.between(self.seconds / 2, self.seconds));
                format!(
                    "SELECT {minute} AS minute, max(usage_user) FROM {TABLE} WHERE time < {end} \
                     GROUP BY {minute} ORDER BY {minute} DESC LIMIT 5"
                )
            }
        }
    }
}

/// An aggregate of the first metrics.
fn aggregates(function: &str, metrics: usize) -> String {
    let columns: Vec<String> = METRICS.iter().take(metrics).map(|metric| format!("{function}({metric})")).collect();
    columns.join(", ")
}
