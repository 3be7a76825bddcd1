//! Work on many items at once, for callers that wait for all results.

use atsdb_core::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// Applies `work` to each item on up to `threads` threads, one of them the caller's, and returns the results in the
/// order of the items. With one thread everything runs in the caller's. The first error stops all threads.
pub fn parallel_map<I: Sync, T: Send>(
    threads: usize,
    items: &[I],
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(position) else { return Ok(done) };
            match work(item) {
                Ok(result) => done.push((position, result)),
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let parts: Vec<Result<Vec<(usize, T)>>> = std::thread::scope(|scope| {
        // If the system cannot start a thread, the others do its work.
        let spawn = |_| Builder::new().name("atsdb-parallel".into()).spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads.min(items.len())).filter_map(spawn).collect();
        let own = run();
        let panicked = |_| Err(Error::internal("a worker thread panicked"));
        let joined = others.into_iter().map(|thread| thread.join().unwrap_or_else(panicked));
        std::iter::once(own).chain(joined).collect()
    });
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    let mut results: Vec<(usize, T)> = parts.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(position, _)| *position);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1_000).collect();
        for threads in [0, 1, 4] {
            assert_eq!(parallel_map(threads, &items, |item| Ok(item * 2)).unwrap()[999], 1_998);
        }
        assert!(parallel_map(4, &[], |item: &u64| Ok(*item)).unwrap().is_empty());
    }

    #[test]
    fn an_error_stops_the_others() {
        let (items, calls) = ([0; 100_000], AtomicUsize::new(0));
        let work = |_: &i32| -> Result<()> {
            calls.fetch_add(1, Ordering::Relaxed);
            Err(Error::invalid("no"))
        };
        assert_eq!(parallel_map(4, &items, work).unwrap_err().message(), "no");
        assert!(calls.into_inner() <= 4);
    }
}
