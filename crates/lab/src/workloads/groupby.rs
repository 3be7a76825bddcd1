//! `groupby`: db-benchmark's ten GROUP BY queries, on the data of its generator; see
//! [`generator::groups`](crate::generator::groups).
//!
//! There the answer of a question becomes a table, and sums over that table are compared. Here the sums are computed
//! over the question as a subquery: the contestant computes all groups, and returns none of them.

use crate::contestant::{Contestant, Dialect};
use crate::failure::Failure;
use crate::generator::groups::GroupsGenerator;
use crate::measure::Measure;
use crate::workload::{Bench, RunBound, Workload};
use crate::workloads::questions::{ComparedPart, Question, ask, load, measures, without_null};
use atsdb::{ColumnType, MapWidth, TableDefinition};
use std::sync::LazyLock;

const TABLE: &str = "x";

/// A question: its name, its title, its text with functions in braces, and the columns of its answer that are summed.
struct GroupQuestion {
    name: &'static str,
    title: &'static str,
    text: &'static str,
    sums: &'static [&'static str],
}

const fn question(
    name: &'static str,
    title: &'static str,
    text: &'static str,
    sums: &'static [&'static str],
) -> GroupQuestion {
    GroupQuestion { name, title, text, sums }
}

const QUESTIONS: [GroupQuestion; 10] = [
    question("q1", "sum v1 by id1", "SELECT id1, sum(v1) AS s1 FROM x GROUP BY id1", &["s1"]),
    question("q2", "sum v1 by id1, id2", "SELECT id1, id2, sum(v1) AS s1 FROM x GROUP BY id1, id2", &["s1"]),
    question(
        "q3",
        "sum v1, mean v3 by id3",
        "SELECT id3, sum(v1) AS s1, avg(v3) AS m3 FROM x GROUP BY id3",
        &["s1", "m3"],
    ),
    question(
        "q4",
        "mean v1 to v3 by id4",
        "SELECT id4, avg(v1) AS m1, avg(v2) AS m2, avg(v3) AS m3 FROM x GROUP BY id4",
        &["m1", "m2", "m3"],
    ),
    question(
        "q5",
        "sum v1 to v3 by id6",
        "SELECT id6, sum(v1) AS s1, sum(v2) AS s2, sum(v3) AS s3 FROM x GROUP BY id6",
        &["s1", "s2", "s3"],
    ),
    question(
        "q6",
        "median v3, sd v3 by id4, id5",
        "SELECT id4, id5, {median} AS median3, stddev_samp(v3) AS sd3 FROM x GROUP BY id4, id5",
        &["median3", "sd3"],
    ),
    question(
        "q7",
        "max v1 - min v2 by id3",
        "SELECT id3, max(v1) - min(v2) AS range12 FROM x GROUP BY id3",
        &["range12"],
    ),
    question(
        "q8",
        "largest two v3 by id6",
        "SELECT id6, v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS place \
         FROM x WHERE v3 IS NOT NULL) AS places WHERE place <= 2",
        &["v3"],
    ),
    question(
        "q9",
        "regression v1, v2 by id2, id4",
        "SELECT id2, id4, power({correlation}, 2) AS r2 FROM x GROUP BY id2, id4",
        &["r2"],
    ),
    question(
        "q10",
        "sum v3, count by id1 to id6",
        "SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS s3, count(*) AS c FROM x GROUP BY id1, id2, id3, id4, id5, id6",
        &["s3", "c"],
    ),
];

static MEASURES: LazyLock<Vec<Measure>> =
    LazyLock::new(|| measures(QUESTIONS.iter().map(|question| (question.name, question.title))));

/// The workload.
pub struct Groupby;

impl Workload for Groupby {
    fn name(&self) -> &'static str {
        "groupby"
    }

    fn summary(&self) -> &'static str {
        "db-benchmark's ten questions by GROUP BY, 100 and rows/100 groups"
    }

    fn rows_default(&self) -> u64 {
        10_000_000
    }

    fn measures(&self) -> &'static [Measure] {
        &MEASURES
    }

    fn notes(&self) -> Vec<String> {
        vec!["each question is a subquery whose groups are counted and summed: no group is handed over".to_owned()]
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (64, 400), (300, 300))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let mut generator = GroupsGenerator::new(bench.seed, bench.rows);
        let Some(workspace) = load(contestant, bench, &table()?, |rows| generator.batch(rows))? else { return Ok(()) };
        let mut session = contestant.open(&workspace)?;
        let dialect = session.dialect();
        ask(session.as_mut(), QUESTIONS.iter().map(|question| question.of(dialect)).collect(), bench)
    }
}

fn table() -> Result<TableDefinition, Failure> {
    let mut table = TableDefinition::new(TABLE);
    for (name, width) in [("id1", MapWidth::U8), ("id2", MapWidth::U8), ("id3", MapWidth::U32)] {
        table = table.with_column(name, ColumnType::Text, Some(width));
    }
    for name in ["id4", "id5", "id6", "v1", "v2"] {
        table = table.with_column(name, ColumnType::Int32, None);
    }
    without_null(table.with_column("v3", ColumnType::Float64, None), &[])
}

impl GroupQuestion {
    fn of(&self, dialect: Dialect) -> Question {
        Question { measure: self.name, text: self.text(dialect), decided: ComparedPart::All }
    }

    fn text(&self, dialect: Dialect) -> Result<String, Failure> {
        let mut text = self.text.to_owned();
        if text.contains("{median}") {
            text = text.replace("{median}", &dialect.median("v3")?);
        }
        if text.contains("{correlation}") {
            text = text.replace("{correlation}", &dialect.correlation("v1", "v2")?);
        }
        let sums: Vec<String> = self.sums.iter().map(|column| format!("sum({column})")).collect();
        Ok(format!("SELECT count(*), {} FROM ({text}) AS answer", sums.join(", ")))
    }
}
