//! `mass`: the PHP test of mass inserts and updates: 200,000 rows (i, 2i) as single INSERT statements, committed every
//! 100,000 rows (SQLite) or 30,000 (servers), a sum, an UPDATE of every row, the size; with and without NOT NULL; and
//! with 1, 2 and 4 writers at once, each with its own database.
//!
//! The test's processes are threads of the lab's child process here: no two of them share a connection, a file or a
//! cache, so like processes they only share the machine. Statements are prepared before the clock starts.

use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::measure::{Figure, Measure, Unit, clock};
use crate::workload::{Bench, PublishedRatio, RunBound, Workload, milliseconds, per_second};
use std::time::Duration;

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("insert", "INSERT one row a statement", Unit::StatementsPerSecond),
    measure("sum", "  sum of both columns", Unit::Milliseconds),
    measure("update", "  UPDATE ... SET i2 = i2 + 2", Unit::RowsPerSecond),
    measure("bytes", "  size", Unit::BytesPerRow),
    measure("insert_not_null", "NOT NULL: INSERT one row a statement", Unit::StatementsPerSecond),
    measure("sum_not_null", "  sum of both columns", Unit::Milliseconds),
    measure("update_not_null", "  UPDATE ... SET i2 = i2 + 2", Unit::RowsPerSecond),
    measure("bytes_not_null", "  size", Unit::BytesPerRow),
    measure("insert_2", "2 at once: INSERT, all together", Unit::StatementsPerSecond),
    measure("sum_2", "  the slowest sum", Unit::Milliseconds),
    measure("update_2", "  UPDATE, all together", Unit::RowsPerSecond),
    measure("insert_4", "4 at once: INSERT, all together", Unit::StatementsPerSecond),
    measure("sum_4", "  the slowest sum", Unit::Milliseconds),
    measure("update_4", "  UPDATE, all together", Unit::RowsPerSecond),
];

/// The workload.
pub struct Mass;

impl Workload for Mass {
    fn name(&self) -> &'static str {
        "mass"
    }

    fn summary(&self) -> &'static str {
        "200,000 rows (i, 2i) as single INSERT statements, sum, update; 1, 2 and 4 writers"
    }

    fn rows_default(&self) -> u64 {
        200_000
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn published(&self) -> Vec<PublishedRatio> {
        const SOURCE: &str = "we-love-php.blogspot.com, Mass inserts, updates: SQLite vs MySQL, 2012, seconds for \
                              200,000 rows, 1 process, MySQL 5.6.5, SQLite 3.7.7";
        let ratio = |measure: &str, sqlite: f64, engine: &str, seconds: f64| {
            let unit = Unit::Milliseconds;
            PublishedRatio::new(measure, unit, ("sqlite", "SQLite", sqlite), (engine, engine, seconds), SOURCE)
        };
        vec![
            ratio("insert", 3.17, "innodb", 27.72),
            ratio("insert", 3.17, "myisam", 25.60),
            ratio("sum", 0.16, "innodb", 0.31),
            ratio("sum", 0.16, "myisam", 0.05),
            ratio("update", 0.96, "innodb", 5.65),
            ratio("update", 0.96, "myisam", 1.02),
            ratio("insert_not_null", 3.40, "innodb", 27.74),
            ratio("insert_not_null", 3.40, "myisam", 25.65),
            PublishedRatio::new("bytes", Unit::Bytes, ("sqlite", "SQLite", 2.88), ("innodb", "InnoDB", 7.52), SOURCE),
            PublishedRatio::new("bytes", Unit::Bytes, ("sqlite", "SQLite", 2.88), ("myisam", "MyISAM", 1.72), SOURCE),
        ]
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (256, 800), (120, 2_000))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let session = contestant.open(&bench.workspace("settings")?)?;
        bench.opened(session.as_ref())?;
        drop(session);
        single(contestant, bench, "", "")?;
        single(contestant, bench, "_not_null", " NOT NULL")?;
        several(contestant, bench, 2, ["insert_2", "sum_2", "update_2"])?;
        several(contestant, bench, 4, ["insert_4", "sum_4", "update_4"])
    }
}

fn single(contestant: &dyn Contestant, bench: &mut Bench<'_>, suffix: &str, null: &str) -> Result<(), Failure> {
    bench.progress(format!("inserting{}", if null.is_empty() { "" } else { ", NOT NULL" }))?;
    let rows = bench.rows;
    let workspace = bench.workspace(&format!("single{suffix}"))?;
    let name = |measure: &str| format!("{measure}{suffix}");
    let Some(mut session) = bench.attempt(&name("insert"), || {
        let mut session = create(contestant, &workspace, null)?;
        let time = insert(session.as_mut(), rows)?;
        Ok((Figure::of(per_second(rows, time)), session))
    })?
    else {
        return Ok(());
    };
    bench.query(&name("sum"), || session.query("SELECT sum(i1), sum(i2) FROM t"))?;
    bench.progress("updating")?;
    bench.attempt(&name("update"), || {
        let time = update(session.as_mut())?;
        let answer = session.query("SELECT count(*), sum(i1), sum(i2) FROM t")?.hash();
        Ok((Figure { answer: Some(answer), ..Figure::of(per_second(rows, time)) }, ()))
    })?;
    drop(session);
    bench
        .attempt(&name("bytes"), || Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows.max(1) as f64), ())))?;
    Ok(())
}

/// The work of one of several writers, and the duration of each step.
struct WriterTimes {
    insert: Duration,
    sum: Duration,
    update: Duration,
}

fn several(
    contestant: &dyn Contestant,
    bench: &mut Bench<'_>,
    writers: u64,
    measures: [&str; 3],
) -> Result<(), Failure> {
    bench.progress(format!("{writers} writers, each its own database"))?;
    let rows = bench.rows;
    let workspaces: Vec<Workspace> =
        (0..writers).map(|writer| bench.workspace(&format!("of-{writers}-{writer}"))).collect::<Result<_, _>>()?;
    let all = bench.attempt(measures[0], || {
        // Made before the clock starts, so that all begin to insert at once.
        workspaces.iter().try_for_each(|workspace| create(contestant, workspace, "").map(drop))?;
        let done = each(&workspaces, |workspace| {
            let mut session = contestant.open(workspace)?;
            let insert = insert(session.as_mut(), rows)?;
            let begin = clock::now();
            let answer = session.query("SELECT sum(i1) FROM t")?;
            let sum = begin.elapsed();
            let update = update(session.as_mut())?;
            let expected = answer.hash();
            Ok((WriterTimes { insert, sum, update }, expected))
        })?;
        // Each writes the same rows, so that each must find the same sum.
        if done.iter().any(|(_, answer)| *answer != done[0].1) {
            return Err(Failure::wrong("the writers' databases hold different rows"));
        }
        let slowest =
            |of: fn(&WriterTimes) -> Duration| done.iter().map(|(done, _)| of(done)).max().unwrap_or_default();
        let figure = Figure::of(per_second(rows * writers, slowest(|done| done.insert)));
        let rest = (milliseconds(slowest(|done| done.sum)), per_second(rows * writers, slowest(|done| done.update)));
        Ok((Figure { answer: Some(done[0].1.clone()), ..figure }, rest))
    })?;
    if let Some((sum, update)) = all {
        bench.record(measures[1], Figure::of(sum))?;
        bench.record(measures[2], Figure::of(update))?;
    }
    Ok(())
}

/// Runs `work` in every workspace at once, each in its own thread.
pub(super) fn each<T: Send>(
    workspaces: &[Workspace],
    work: impl Fn(&Workspace) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = workspaces.iter().map(|workspace| scope.spawn(|| work(workspace))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(Failure::wrong("a thread of the lab panicked")))
        };
        threads.into_iter().map(join).collect()
    })
}

fn create(contestant: &dyn Contestant, workspace: &Workspace, null: &str) -> Result<Box<dyn Session>, Failure> {
    let mut session = contestant.open(workspace)?;
    session.execute(&[format!("CREATE TABLE t (i1 INT{null}, i2 INT{null})")])?;
    Ok(session)
}

/// Inserts the rows, one statement for each. Returns the time without that of making the statements.
fn insert(session: &mut dyn Session, rows: u64) -> Result<Duration, Failure> {
    let per_commit = session.dialect().rows_per_commit();
    let (mut time, mut next) = (Duration::ZERO, 0);
    while next < rows {
        let end = rows.min(next + per_commit);
        let statements: Vec<String> = (next..end).map(|i| format!("INSERT INTO t VALUES ({i}, {})", 2 * i)).collect();
        let begin = clock::now();
        session.transaction(&statements)?;
        time += begin.elapsed();
        next = end;
    }
    Ok(time)
}

fn update(session: &mut dyn Session) -> Result<Duration, Failure> {
    let begin = clock::now();
    session.execute(&[session.dialect().update("t", "i2 = i2 + 2")])?;
    Ok(begin.elapsed())
}
