//! `split`: the notes on how SQLite scales and when to split it. One table with a short string, an integer below
//! 30,000 and three indexes; inserts in bundles, with the rate at every fifteenth of the size; selects of a few to
//! thousands of rows at three sizes; count(*); a new index on two columns at two sizes ten times apart; VACUUM; then
//! the same rows in ten files, one after another, at once, and as one database by ATTACH.
//!
//! The published size is 7.7 million rows, measured after 0.5, 1 and 7.7 million; other sizes are measured after the
//! same shares. The ten files are written and read at the same time by one thread each, which share no connection and
//! no cache.

use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::generator::words::{WordGenerator, WordRow, word_of};
use crate::measure::{CurvePoint, Figure, Measure, Unit, clock};
use crate::workload::{Bench, RunBound, Workload, milliseconds, per_second};
use crate::workloads::mass::each;
use std::time::Duration;

const ROWS_PUBLISHED: u64 = 7_700_000;
/// Rows of a bundle: one statement, one commit.
const BUNDLE_ROWS: usize = 1_000;
/// The stages at which queries run, in 154ths of the rows: 0.5, 1 and 7.7 million of the published size.
const STAGES: [(u64, &str); 3] = [(10, "small"), (20, "middle"), (154, "large")];
const PARTS: u64 = 154;
const FILES: u64 = 10;

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("insert", "insert in bundles of 1,000, three indexes", Unit::RowsPerSecond),
    measure("two_criteria_small", "at 1/15 of the size: two criteria, few rows", Unit::Milliseconds),
    measure("range_small", "  thousands of rows", Unit::Milliseconds),
    measure("self_join_small", "  self-join", Unit::Milliseconds),
    measure("three_join_small", "  join of three", Unit::Milliseconds),
    measure("count_small", "  count(*)", Unit::Milliseconds),
    measure("index_small", "at 1/10 of the size: CREATE INDEX on two columns", Unit::Milliseconds),
    measure("two_criteria_middle", "at 2/15 of the size: two criteria, few rows", Unit::Milliseconds),
    measure("range_middle", "  thousands of rows", Unit::Milliseconds),
    measure("self_join_middle", "  self-join", Unit::Milliseconds),
    measure("three_join_middle", "  join of three", Unit::Milliseconds),
    measure("count_middle", "  count(*)", Unit::Milliseconds),
    measure("two_criteria_large", "at the whole size: two criteria, few rows", Unit::Milliseconds),
    measure("range_large", "  thousands of rows", Unit::Milliseconds),
    measure("self_join_large", "  self-join", Unit::Milliseconds),
    measure("three_join_large", "  join of three", Unit::Milliseconds),
    measure("count_large", "  count(*)", Unit::Milliseconds),
    measure("bytes", "  size", Unit::BytesPerRow),
    measure("index_large", "  CREATE INDEX on two columns", Unit::Milliseconds),
    measure("vacuum", "  VACUUM after deleting every other row", Unit::Milliseconds),
    measure("bytes_vacuum", "  size, a row left", Unit::BytesPerRow),
    measure("insert_files", "ten files: insert, one file after another", Unit::RowsPerSecond),
    measure("insert_files_at_once", "  insert, all at once", Unit::RowsPerSecond),
    measure("range_attached", "  thousands of rows, ATTACHed", Unit::Milliseconds),
    measure("count_attached", "  count(*), ATTACHed", Unit::Milliseconds),
    measure("range_at_once", "  thousands of rows, each file by its own", Unit::Milliseconds),
    measure("count_at_once", "  count(*), each file by its own", Unit::Milliseconds),
];

/// The workload.
pub struct Split;

impl Workload for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn summary(&self) -> &'static str {
        "one growing table with three indexes; one file against ten"
    }

    fn rows_default(&self) -> u64 {
        ROWS_PUBLISHED / 5
    }

    fn rows_published(&self) -> u64 {
        ROWS_PUBLISHED
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (256, 600), (180, 400))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        one_file(contestant, bench)?;
        ten_files(contestant, bench)
    }
}

/// The rows of the first stage, of all, and of the index at a tenth of the size.
fn rows_at(rows: u64, parts: u64) -> u64 {
    (rows * parts / PARTS).max(1)
}

fn create(session: &mut dyn Session) -> Result<(), Failure> {
    let text = session.dialect().short_text();
    let columns = format!("id INTEGER NOT NULL, word {text} NOT NULL, number INTEGER NOT NULL");
    let mut statements = vec![format!("CREATE TABLE t ({columns})")];
    let indexes = [("by_id", "id"), ("by_word", "word"), ("by_number", "number")];
    statements.extend(indexes.map(|(name, column)| format!("CREATE INDEX {name} ON t ({column})")));
    session.execute(&statements)
}

fn statement(rows: &[WordRow]) -> String {
    let values: Vec<String> =
        rows.iter().map(|WordRow { id, word, number }| format!("({id},'{word}',{number})")).collect();
    format!("INSERT INTO t VALUES {}", values.join(","))
}

/// Inserts rows bundle by bundle. Returns the time without that of making the statements.
fn insert(session: &mut dyn Session, rows: &mut dyn Iterator<Item = WordRow>, count: u64) -> Result<Duration, Failure> {
    let (mut time, mut left) = (Duration::ZERO, count);
    while left > 0 {
        let bundle: Vec<WordRow> = rows.take(left.min(BUNDLE_ROWS as u64) as usize).collect();
        left = left.saturating_sub(bundle.len().max(1) as u64);
        let statements = [statement(&bundle)];
        let begin = clock::now();
        session.execute(&statements)?;
        time += begin.elapsed();
    }
    Ok(time)
}

fn one_file(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    let (workspace, rows) = (bench.workspace("one")?, bench.rows);
    let mut session = contestant.open(&workspace)?;
    bench.opened(session.as_ref())?;
    let mut generator = WordGenerator::new(bench.seed);
    let (mut time, mut there, mut curve) = (Duration::ZERO, 0, Vec::new());
    // A tenth of the rows, for the index, comes between the first stage and the second.
    let tenth = PARTS / 10;
    let mut stops: Vec<u64> = (1..=PARTS / 10).map(|step| step * 10).chain([tenth, PARTS]).collect();
    stops.sort_unstable();
    stops.dedup();
    let mut failed = None;
    if let Err(failure) = create(session.as_mut()) {
        failed = Some(failure);
    }
    for parts in stops {
        let end = rows_at(rows, parts);
        bench.progress(format!("inserting, {there} rows there"))?;
        if failed.is_none() {
            match insert(session.as_mut(), &mut generator, end - there) {
                Ok(taken) => {
                    time += taken;
                    curve.push(CurvePoint { rows: end, value: per_second(end - there, taken) });
                }
                Err(failure) => failed = Some(failure),
            }
        }
        if let Some(failure) = failed.take() {
            bench.attempt::<()>("insert", || Err(failure))?;
            return Ok(());
        }
        there = end;
        if let Some((_, stage)) = STAGES.iter().find(|(at, _)| *at == parts) {
            stage_queries(session.as_mut(), stage, there, bench)?;
        }
        if parts == tenth {
            index("index_small", session.as_mut(), bench)?;
            session.execute(&[session.dialect().drop_index("by_both", "t")])?;
        }
    }
    bench.record("insert", Figure { curve, ..Figure::of(per_second(rows, time)) })?;
    drop(session);
    bytes("bytes", contestant, &workspace, rows, bench)?;
    let mut session = contestant.open(&workspace)?;
    index("index_large", session.as_mut(), bench)?;
    bench.progress("deleting and vacuuming")?;
    let vacuumed = bench.attempt("vacuum", || {
        session.execute(&["DELETE FROM t WHERE id % 2 = 1".to_owned()])?;
        let begin = clock::now();
        match session.dialect().vacuum("t") {
            Some(statement) => session.execute(&[statement])?,
            None => session.seal()?,
        }
        let time = begin.elapsed();
        let answer = session.query("SELECT count(*), sum(number) FROM t")?.hash();
        Ok((Figure { answer: Some(answer), ..Figure::of(milliseconds(time)) }, ()))
    })?;
    drop(session);
    if vacuumed.is_some() {
        bytes("bytes_vacuum", contestant, &workspace, rows.div_ceil(2), bench)?;
    }
    Ok(())
}

fn bytes(
    name: &str,
    contestant: &dyn Contestant,
    workspace: &Workspace,
    rows: u64,
    bench: &mut Bench<'_>,
) -> Result<(), Failure> {
    bench.attempt(name, || Ok((Figure::of(contestant.bytes(workspace)? as f64 / rows.max(1) as f64), ()))).map(drop)
}

fn index(measure: &str, session: &mut dyn Session, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("making an index")?;
    bench.attempt(measure, || {
        let begin = clock::now();
        session.execute(&["CREATE INDEX by_both ON t (word, number)".to_owned()])?;
        Ok((Figure::of(milliseconds(begin.elapsed())), ()))
    })?;
    Ok(())
}

/// A range of numbers that some thousands of rows are in, at most.
fn range(table: &str, rows: u64) -> String {
    let numbers = (3_000 * 30_000 / rows.max(1)).clamp(1, 3_000);
    format!("SELECT id, word FROM {table} WHERE number >= 12000 AND number < {}", 12_000 + numbers)
}

fn stage_queries(session: &mut dyn Session, stage: &str, rows: u64, bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress(format!("asking {rows} rows"))?;
    let (word, second) = (word_of(4_321), word_of(87));
    let queries = [
        ("two_criteria", format!("SELECT id, number FROM t WHERE word = '{word}' AND number < 15000")),
        ("range", range("t", rows)),
        (
            "self_join",
            format!("SELECT a.id, b.id FROM t a, t b WHERE a.word = '{word}' AND b.number = a.number AND b.id <> a.id"),
        ),
        (
            "three_join",
            format!(
                "SELECT count(*) FROM t a, t b, t c \
                 WHERE a.word = '{second}' AND b.number = a.number AND c.word = b.word AND c.number < 3000"
            ),
        ),
        ("count", "SELECT count(*) FROM t".to_owned()),
    ];
    for (name, text) in queries {
        bench.query(&format!("{name}_{stage}"), || session.query(&text))?;
    }
    Ok(())
}

fn ten_files(contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
    let (rows, seed) = (bench.rows, bench.seed);
    // Row i is in file i modulo ten.
    let of_file = |file: u64| WordGenerator::new(seed).take(rows as usize).filter(move |row| row.id % FILES == file);
    let count_of = |file: u64| rows / FILES + u64::from(file < rows % FILES);
    bench.progress("ten files, one after another")?;
    let workspaces = workspaces(bench, "after")?;
    let filled = bench.attempt("insert_files", || {
        let mut time = Duration::ZERO;
        for (file, workspace) in workspaces.iter().enumerate() {
            let mut session = contestant.open(workspace)?;
            create(session.as_mut())?;
            time += insert(session.as_mut(), &mut of_file(file as u64), count_of(file as u64))?;
        }
        Ok((Figure::of(per_second(rows, time)), ()))
    })?;
    if filled.is_none() {
        return Ok(());
    }
    attached(contestant, &workspaces, bench)?;
    bench.progress("each file by its own")?;
    for (measure, text) in [("range_at_once", range("t", rows)), ("count_at_once", "SELECT count(*) FROM t".to_owned())]
    {
        bench.query(measure, || {
            let answers = each(&workspaces, |workspace| contestant.open(workspace)?.query(&text))?;
            Ok(merge(answers, measure == "count_at_once"))
        })?;
    }
    bench.progress("ten files at once")?;
    let at_once = self::workspaces(bench, "at-once")?;
    bench.attempt("insert_files_at_once", || {
        // Made before, so that all begin to insert at once.
        at_once.iter().try_for_each(|workspace| create(contestant.open(workspace)?.as_mut()))?;
        let times = each(&at_once, |workspace| {
            let file = at_once.iter().position(|other| std::ptr::eq(other, workspace)).unwrap_or(0) as u64;
            insert(contestant.open(workspace)?.as_mut(), &mut of_file(file), count_of(file))
        })?;
        Ok((Figure::of(per_second(rows, times.into_iter().max().unwrap_or_default())), ()))
    })?;
    Ok(())
}

fn workspaces(bench: &Bench<'_>, name: &str) -> Result<Vec<Workspace>, Failure> {
    (0..FILES).map(|file| bench.workspace(&format!("{name}-{file}"))).collect()
}

fn attached(contestant: &dyn Contestant, workspaces: &[Workspace], bench: &mut Bench<'_>) -> Result<(), Failure> {
    bench.progress("ten files, attached")?;
    let rows = bench.rows;
    let mut session = contestant.open(&workspaces[0])?;
    let reached: Result<Vec<String>, Failure> = (1..workspaces.len())
        .map(|file| Ok(format!("{}.t", session.attach(&workspaces[file], &format!("file{file}"))?)))
        .collect();
    let mut tables = vec!["t".to_owned()];
    tables.extend(reached.as_ref().into_iter().flatten().cloned());
    let union =
        |part: &dyn Fn(&str) -> String| tables.iter().map(|table| part(table)).collect::<Vec<_>>().join(" UNION ALL ");
    let ranges = union(&|table| range(table, rows));
    let counts =
        format!("SELECT sum(n) FROM ({}) AS counts", union(&|table| format!("SELECT count(*) AS n FROM {table}")));
    for (measure, text) in [("range_attached", ranges), ("count_attached", counts)] {
        match &reached {
            Ok(_) => bench.query(measure, || session.query(&text))?,
            Err(Failure::Cannot(reason)) => {
                bench.attempt::<()>(measure, || Err(Failure::cannot(reason.clone())))?;
            }
            Err(failure) => {
                bench.attempt::<()>(measure, || Err(Failure::wrong(failure.to_string())))?;
            }
        }
    }
    Ok(())
}

/// The answers of all files as one: their rows, or the sum of their counts.
fn merge(answers: Vec<crate::data::answer::Answer>, sum: bool) -> crate::data::answer::Answer {
    use crate::data::answer::{Answer, Cell};
    let rows: Vec<Vec<Cell>> = answers.into_iter().flat_map(|answer| answer.rows).collect();
    if !sum {
        return Answer { rows };
    }
    let count = |row: &Vec<Cell>| match row.first() {
        Some(Cell::Integer(count)) => *count,
        _ => 0,
    };
    Answer { rows: vec![vec![Cell::Integer(rows.iter().map(count).sum())]] }
}
