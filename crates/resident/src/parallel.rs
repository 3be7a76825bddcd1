//! Work that is done in pieces, each on a thread of its own.

use std::ops::Range;

/// The rows in as many pieces as there are threads.
pub(crate) fn shares(row_count: usize, threads: usize) -> Vec<Range<usize>> {
    let share = row_count.div_ceil(threads.max(1)).max(1);
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

/// Does all pieces of work, by so many threads.
pub(crate) fn by_threads<I: Send>(mut work: Vec<I>, threads: usize, each: impl Fn(I) + Sync) {
    let share = work.len().div_ceil(threads.max(1)).max(1);
    let mut shares = Vec::new();
    while !work.is_empty() {
        shares.push(work.split_off(work.len().saturating_sub(share)));
    }
    in_parallel(shares, |share| share.into_iter().for_each(&each));
}
