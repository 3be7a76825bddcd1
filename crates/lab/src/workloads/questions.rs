//! The code shared by workloads that load one table and run many queries: `groupby`, `hits` and `tsbs`.

use crate::contestant::{Contestant, Session, Workspace};
use crate::data::answer::Answer;
use crate::failure::Failure;
use crate::measure::{Figure, Measure, Unit, clock};
use crate::workload::{Bench, per_second};
use arrow::array::RecordBatch;
use atsdb::TableDefinition;
use std::time::Duration;

/// Rows are generated and passed in runs of this many, so that the generator's memory stays small.
const CHUNK_ROWS: u64 = 100_000;
/// The number of digits of a floating point number that are compared. Sums are added up in different orders.
const DIGITS: usize = 6;

/// The measures before the queries.
pub(super) const LOAD: [Measure; 3] = [
    Measure { name: "load", title: "load Arrow batches", unit: Unit::RowsPerSecond },
    Measure { name: "seal", title: "seal", unit: Unit::RowsPerSecond },
    Measure { name: "bytes", title: "size", unit: Unit::BytesPerRow },
];

/// The measures of a workload: those of the load, and a time for each question.
pub(super) fn measures(questions: impl IntoIterator<Item = (&'static str, &'static str)>) -> Vec<Measure> {
    let question = |(name, title)| Measure { name, title, unit: Unit::Milliseconds };
    LOAD.into_iter().chain(questions.into_iter().map(question)).collect()
}

/// A question for one contestant.
pub(super) struct Question {
    /// Its measure.
    pub(super) measure: &'static str,
    /// The text of the query, or why the contestant cannot answer it.
    pub(super) text: Result<String, Failure>,
    /// The columns of the answer that have one correct value. Others depend on which of several rows that are equal
    /// by the question's order come before its LIMIT.
    pub(super) decided: ComparedPart,
}

/// The part of an answer that is compared.
#[derive(Clone, Copy)]
pub(super) enum ComparedPart {
    /// Everything.
    All,
    /// Everything, with whole numbers as fractions: a mean of large integers has no decimals in PostgreSQL.
    Fractions,
    /// The columns at these positions, and the number of rows.
    Columns(&'static [usize]),
}

/// Returns the table with NOT NULL columns and this series key, for contestants that sort rows.
pub(super) fn without_null(mut table: TableDefinition, key: &[&str]) -> Result<TableDefinition, Failure> {
    table.columns.iter_mut().for_each(|column| column.nullable = false);
    table.key = key.iter().map(|name| Ok(table.column(name)?.id)).collect::<Result<_, Failure>>()?;
    Ok(table)
}

/// Loads the table as one commit, seals it, and takes its size. Returns where it is, or `None` if the contestant cannot
/// hold it.
pub(super) fn load(
    contestant: &dyn Contestant,
    bench: &mut Bench<'_>,
    table: &TableDefinition,
    mut batch: impl FnMut(usize) -> RecordBatch,
) -> Result<Option<Workspace>, Failure> {
    bench.progress("loading")?;
    let (workspace, rows) = (bench.workspace(&table.name)?, bench.rows);
    let mut session = contestant.open(&workspace)?;
    bench.opened(session.as_ref())?;
    let loaded = bench.attempt("load", || {
        session.create_table(table)?;
        let time = load_rows(session.as_mut(), table, rows, &mut batch)?;
        Ok((Figure::of(per_second(rows, time)), ()))
    })?;
    if loaded.is_none() {
        return Ok(None);
    }
    bench.progress("sealing")?;
    bench.attempt("seal", || {
        let time: Duration = timed(|| session.seal())?;
        Ok((Figure::of(per_second(rows, time)), ()))
    })?;
    drop(session);
    bench.attempt("bytes", || Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows.max(1) as f64), ())))?;
    Ok(Some(workspace))
}

/// Loads rows as one commit. Returns the time that the contestant took, without that of making the rows.
pub(super) fn load_rows(
    session: &mut dyn Session,
    table: &TableDefinition,
    rows: u64,
    mut batch: impl FnMut(usize) -> RecordBatch,
) -> Result<Duration, Failure> {
    let begin = clock::now();
    let mut loader = session.loader(table)?;
    let (mut time, mut left) = (begin.elapsed(), rows);
    while left > 0 {
        let batch = batch(left.min(CHUNK_ROWS) as usize);
        left -= batch.num_rows() as u64;
        let begin = clock::now();
        loader.batch(&batch)?;
        time += begin.elapsed();
    }
    let begin = clock::now();
    loader.finish()?;
    Ok(time + begin.elapsed())
}

/// Measures how long `work` takes.
pub(super) fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let begin = clock::now();
    work()?;
    Ok(begin.elapsed())
}

/// Runs the queries, one after another.
pub(super) fn ask(session: &mut dyn Session, questions: Vec<Question>, bench: &mut Bench<'_>) -> Result<(), Failure> {
    for Question { measure, text, decided } in questions {
        bench.progress(measure)?;
        match text {
            Ok(sql) => bench.query_to(
                measure,
                |answer: &Answer| match decided {
                    ComparedPart::All => answer.hash_to(DIGITS),
                    ComparedPart::Fractions => answer.fractions().hash_to(DIGITS),
                    ComparedPart::Columns(positions) => answer.columns(positions).hash_to(DIGITS),
                },
                || session.query(&sql),
            )?,
            Err(failure) => bench.attempt(measure, || Err::<(Figure, ()), _>(failure)).map(drop)?,
        }
    }
    Ok(())
}
