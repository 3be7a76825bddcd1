//! Runs readers and writers at the same time for a while, each with its own session and thread.

use crate::contestant::{Contestant, Workspace};
use crate::failure::Failure;
use crate::measure::{Latencies, Stopwatch, clock};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The readers and writers.
pub(super) struct Mixed<'a> {
    /// The number of readers.
    pub(super) readers: usize,
    /// The number of writers.
    pub(super) writers: usize,
    /// The duration of the work.
    pub(super) time: Duration,
    /// The queries of readers, one after another.
    pub(super) queries: &'a [String],
    /// The table that writers insert into.
    pub(super) table: &'a str,
    /// The values of a number's row, between parentheses; each is inserted at most once.
    pub(super) row: &'a (dyn Fn(u64) -> String + Sync),
    /// The first number.
    pub(super) first: u64,
}

/// The operations of one side.
pub(super) struct SideOperations {
    /// The latencies of the operations, or the reason why none succeeded.
    pub(super) latencies: Result<Latencies, String>,
    /// The number of attempted operations.
    pub(super) attempted: u64,
}

/// Runs readers and writers. Returns the operations of each side.
///
/// # Errors
///
/// A session that cannot be opened.
pub(super) fn run_mixed(
    contestant: &dyn Contestant,
    workspace: &Workspace,
    mixed: &Mixed<'_>,
) -> Result<(SideOperations, SideOperations), Failure> {
    let open = contestant.open_for_threads(workspace)?;
    let (stop, next, ready) = (AtomicBool::new(false), AtomicU64::new(mixed.first), Barrier::new(workers(mixed) + 1));
    let work = |is_reader: bool, seat: usize| -> Result<(Stopwatch, u64), Failure> {
        let opened = open();
        ready.wait();
        let (mut session, mut watch, mut attempted) = (opened?, Stopwatch::default(), 0);
        // Each does one thing at least: on a busy machine the time may be over before it gets a core.
        loop {
            if is_reader {
                let text = &mixed.queries[(attempted as usize + seat) % mixed.queries.len()];
                watch.time(|| session.query(text));
            } else {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let statement = [format!("INSERT INTO {} VALUES {}", mixed.table, (mixed.row)(number))];
                watch.time(|| session.execute(&statement));
            }
            attempted += 1;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok((watch, attempted))
    };
    let (reading, writing, elapsed) = std::thread::scope(|scope| {
        let work = &work;
        let readers: Vec<_> = (0..mixed.readers).map(|seat| scope.spawn(move || work(true, seat))).collect();
        let writers: Vec<_> = (0..mixed.writers).map(|seat| scope.spawn(move || work(false, seat))).collect();
        ready.wait();
        let begin = clock::now();
        clock::sleep(mixed.time);
        stop.store(true, Ordering::Relaxed);
        let reading: Vec<_> = readers.into_iter().map(join).collect();
        let writing: Vec<_> = writers.into_iter().map(join).collect();
        (reading, writing, begin.elapsed())
    });
    Ok((side(reading, elapsed)?, side(writing, elapsed)?))
}

fn workers(mixed: &Mixed<'_>) -> usize {
    mixed.readers + mixed.writers
}

type Worked = Result<(Stopwatch, u64), Failure>;

fn join(thread: std::thread::ScopedJoinHandle<'_, Worked>) -> Worked {
    thread.join().unwrap_or_else(|_| Err(Failure::wrong("a thread of the lab panicked")))
}

fn side(workers: Vec<Worked>, elapsed: Duration) -> Result<SideOperations, Failure> {
    let (mut all, mut attempted) = (Stopwatch::default(), 0);
    for worker in workers {
        let (watch, tried) = worker?;
        all.add(watch);
        attempted += tried;
    }
    Ok(SideOperations { latencies: all.finish(elapsed), attempted })
}
