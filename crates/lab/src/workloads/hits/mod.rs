//! `hits`: ClickBench's 43 queries on a table with its columns. The rows are generated;
//! [`generator::hits`](crate::generator::hits) describes what they have in common with the original ones.

mod queries;

use crate::contestant::Contestant;
use crate::failure::Failure;
use crate::generator::hits::{HitsGenerator, columns, hits_batch};
use crate::measure::Measure;
use crate::workload::{Bench, RunBound, Workload};
use crate::workloads::questions::{ask, load, measures, without_null};
use atsdb::{TableDefinition, TimeUnit};
use queries::QUERIES;
use std::sync::LazyLock;

const TABLE: &str = "hits";

static MEASURES: LazyLock<Vec<Measure>> =
    LazyLock::new(|| measures(QUERIES.iter().map(|query| (query.name, query.title))));

/// The workload.
pub struct Hits;

impl Workload for Hits {
    fn name(&self) -> &'static str {
        "hits"
    }

    fn summary(&self) -> &'static str {
        "ClickBench's 43 queries on made-up page views with its 105 columns"
    }

    fn rows_default(&self) -> u64 {
        10_000_000
    }

    fn measures(&self) -> &'static [Measure] {
        &MEASURES
    }

    fn notes(&self) -> Vec<String> {
        vec!["the rows are made up: the figures are not comparable with those that ClickBench publishes".to_owned()]
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (64, 2_500), (900, 900))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let mut generator = HitsGenerator::new(bench.seed, bench.rows);
        let next = |rows: usize| hits_batch(&generator.by_ref().take(rows).collect::<Vec<_>>());
        let Some(workspace) = load(contestant, bench, &table()?, next)? else { return Ok(()) };
        let mut session = contestant.open(&workspace)?;
        let (dialect, rows) = (session.dialect(), bench.rows);
        ask(session.as_mut(), QUERIES.iter().map(|query| query.of(dialect, rows)).collect(), bench)
    }
}

fn table() -> Result<TableDefinition, Failure> {
    let table = columns()
        .fold(TableDefinition::new(TABLE), |table, (name, column_type, map)| table.with_column(name, column_type, map));
    without_null(table.with_time("eventtime", TimeUnit::Second)?, &["counterid", "eventdate", "userid"])
}
