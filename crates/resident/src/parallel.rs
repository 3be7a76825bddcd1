//! Work that is done in pieces, each on a thread of its own.

use std::ops::Range;

/// The rows in as many pieces as there are threads, each but the last of whole units.
pub(crate) fn shares(row_count: usize, threads: usize, unit: usize) -> Vec<Range<usize>> {
    let share = row_count.div_ceil(threads.max(1)).next_multiple_of(unit).max(1);
    (0..row_count).step_by(share).map(|start| start..(start + share).min(row_count)).collect()
}

/// Does each piece of work on a thread of its own, the last one on this.
pub(crate) fn in_parallel<I: Send, T: Send>(mut work: Vec<I>, each: impl Fn(I) -> T + Sync) -> Vec<T> {
    let Some(last) = work.pop() else { return Vec::new() };
    std::thread::scope(|scope| {
        let handles: Vec<_> = work.into_iter().map(|item| scope.spawn(|| each(item))).collect();
        let last = each(last);
        let joined = handles.into_iter().map(|handle| match handle.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let mut done: Vec<T> = joined.collect();
        done.push(last);
        done
    })
}
