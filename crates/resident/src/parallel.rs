//! Parallel work, one thread for each piece.

use std::ops::Range;

/// Splits the rows into one range for each thread.
pub(crate) fn split_rows(row_count: usize, threads: usize) -> Vec<Range<usize>> {
    let share = row_count.div_ceil(threads.max(1)).max(1);
    (0..row_count).step_by(share).map(|start| start..(start + share).min(row_count)).collect()
}

/// Runs each piece of work on a separate thread, the last one on the current thread. Returns the results in order.
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

/// Runs all pieces of work with up to this number of threads.
pub(crate) fn for_each_in_parallel<I: Send>(mut work: Vec<I>, threads: usize, each: impl Fn(I) + Sync) {
    let share = work.len().div_ceil(threads.max(1)).max(1);
    let mut shares = Vec::new();
    while !work.is_empty() {
        shares.push(work.split_off(work.len().saturating_sub(share)));
    }
    in_parallel(shares, |share| share.into_iter().for_each(&each));
}
