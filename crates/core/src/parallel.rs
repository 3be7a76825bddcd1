//! Work on many items at once, for callers that wait for all results. It is hand-written because each call has its own
//! number of threads, borrows from its caller and returns results in the order of the items: scoped threads do that
//! without a shared pool to configure.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

/// Applies `work` to each item on up to `threads` threads, one of them the caller's, and returns the results in the
/// order of the items. With one thread everything runs in the caller's. The first error stops all threads.
pub fn parallel_map<I, T: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: ExactSizeIterator + Send>,
    work: impl Fn(I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let items = items.into_iter();
    let threads = threads.min(items.len());
    let (items, is_stopped) = (Mutex::new(items.enumerate()), AtomicBool::new(false));
    let run = || {
        let mut done = Vec::new();
        while !is_stopped.load(Ordering::Relaxed) {
            // The lock is held only while the next item is taken.
            let next = items.lock().next();
            let Some((position, item)) = next else { break };
            match work(item) {
                Ok(result) => done.push((position, result)),
                Err(error) => {
                    is_stopped.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    let parts: Vec<Result<Vec<(usize, T)>>> = std::thread::scope(|scope| {
        // If the system cannot start a thread, the others do its work.
        let spawn = |_| Builder::new().name("atsdb-parallel".into()).spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
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

/// Starts threads that all exist at the same time, and ends them. A runtime that panics or waits for ever if it cannot
/// start a thread must only be built if this succeeds. Without `stack_bytes`, the stacks have the usual size.
pub fn try_threads(count: usize, stack_bytes: Option<usize>) -> std::io::Result<()> {
    let mut threads = Vec::with_capacity(count);
    let mut outcome = Ok(());
    while threads.len() < count && outcome.is_ok() {
        let builder = stack_bytes.map_or_else(Builder::new, |bytes| Builder::new().stack_size(bytes));
        match builder.spawn(std::thread::park) {
            Ok(thread) => threads.push(thread),
            Err(error) => outcome = Err(error),
        }
    }
    for thread in threads {
        thread.thread().unpark();
        let _ = thread.join();
    }
    outcome
}

/// Drops a value on a thread of its own, because that waits for other threads. Returns the value if no thread can be
/// started.
///
/// Threads that end at this moment must be waited for, and not only be let go: glibc then reads memory of such a thread
/// that may have been freed ([#19951](https://sourceware.org/bugzilla/show_bug.cgi?id=19951)).
pub fn drop_elsewhere<T: Send + 'static>(value: T) -> std::result::Result<(), T> {
    let value = Arc::new(Mutex::new(Some(value)));
    let moved = Arc::clone(&value);
    match Builder::new().name("atsdb-ending".into()).spawn(move || drop(moved.lock().take())) {
        Ok(_) => Ok(()),
        Err(_) => value.lock().take().map_or(Ok(()), Err),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_value_is_dropped_by_another_thread() {
        struct Dropped(std::sync::mpsc::Sender<std::thread::ThreadId>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.send(std::thread::current().id()).unwrap();
            }
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        assert!(drop_elsewhere(Dropped(sender)).is_ok());
        assert_ne!(receiver.recv().unwrap(), std::thread::current().id());
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1_000).collect();
        for threads in [0, 1, 4] {
            assert_eq!(parallel_map(threads, &items, |item| Ok(item * 2)).unwrap()[999], 1_998);
        }
        assert!(parallel_map(4, &[], |item: &u64| Ok(*item)).unwrap().is_empty());
    }

    #[test]
    fn each_item_is_given_away() {
        let mut squares = vec![0; 10];
        parallel_map(3, squares.iter_mut().enumerate(), |(position, square)| {
            *square = position * position;
            Ok(())
        })
        .unwrap();
        assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
    }

    #[test]
    fn threads_that_cannot_start_are_an_error_and_no_panic() {
        assert!(try_threads(3, None).is_ok());
        // More address space than the system has.
        let error = Error::no_thread(try_threads(2, Some(1 << 47)).unwrap_err());
        assert_eq!(error.kind(), crate::ErrorKind::Resources);
        assert!(error.message().starts_with("cannot start a thread: ") && error.hint().is_some(), "{error}");
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
