//! Works on blocks on several threads. Results come in the blocks' order, and a bounded number of blocks is in memory.

use atsdb_core::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread::Builder;

/// The maximum number of blocks, for each thread, that are read and not yet delivered.
const WINDOW_PER_THREAD: usize = 2;

struct BlockSource<S> {
    source: S,
    next: usize,
    is_done: bool,
}

/// Takes blocks from `source` until it has none, works on each on one of `threads` threads, and delivers the results
/// in order on the caller's thread. The error returned is that of the first block in order that has one.
pub(crate) fn run_in_order<B: Send, T: Send>(
    threads: usize,
    source: impl FnMut() -> Result<Option<B>> + Send,
    work: impl Fn(B) -> Result<T> + Sync,
    mut deliver: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let blocks = Mutex::new(BlockSource { source, next: 0, is_done: false });
    let (delivered, has_room) = (Mutex::new(0_usize), Condvar::new());
    let (results, inbox) = channel();
    let window = threads * WINDOW_PER_THREAD;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (results, blocks, delivered, has_room, work) = (results.clone(), &blocks, &delivered, &has_room, &work);
            let run = move || {
                loop {
                    let (index, block) = {
                        let mut blocks = blocks.lock();
                        if blocks.is_done {
                            return;
                        }
                        let index = blocks.next;
                        let mut delivered = delivered.lock();
                        while index >= delivered.saturating_add(window) {
                            has_room.wait(&mut delivered);
                        }
                        // The caller stopped.
                        if *delivered == usize::MAX {
                            return;
                        }
                        drop(delivered);
                        let block = (blocks.source)();
                        blocks.next += 1;
                        blocks.is_done = !matches!(block, Ok(Some(_)));
                        (index, block)
                    };
                    let result = match block {
                        Ok(None) => return,
                        Ok(Some(block)) => work(block),
                        Err(error) => Err(error),
                    };
                    if results.send((index, result)).is_err() {
                        return;
                    }
                }
            };
            match Builder::new().spawn_scoped(scope, run) {
                Ok(_) => {}
                Err(error) if thread == 0 => return Err(Error::no_thread(error)),
                // The threads that have started do all the work.
                Err(_) => break,
            }
        }
        drop(results);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let mut deliver_all = || -> Result<()> {
            for (index, result) in &inbox {
                waiting.insert(index, result);
                while let Some(result) = waiting.remove(&next) {
                    deliver(result?)?;
                    next += 1;
                    *delivered.lock() = next;
                    has_room.notify_all();
                }
            }
            if waiting.is_empty() { Ok(()) } else { Err(Error::internal("a block of the import was lost")) }
        };
        let outcome = deliver_all();
        *delivered.lock() = usize::MAX;
        has_room.notify_all();
        outcome
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let mut blocks = 0..100;
        let mut got = Vec::new();
        let slow_start = |block: u64| {
            std::thread::sleep(std::time::Duration::from_micros(if block & 1 == 0 { 300 } else { 0 }));
            if block == 90 || block == 95 { Err(Error::invalid(block.to_string())) } else { Ok(block) }
        };
        let outcome = run_in_order(
            2,
            || Ok(blocks.next()),
            slow_start,
            |block| {
                got.push(block);
                Ok(())
            },
        );
        assert_eq!(outcome.unwrap_err().message(), "90");
        assert_eq!(got, (0..90).collect::<Vec<_>>());
    }

    #[test]
    fn a_caller_who_stops_is_not_kept_waiting() {
        let outcome = run_in_order(2, || Ok(Some(1)), Ok, |_| Err(Error::invalid("enough")));
        assert_eq!(outcome.unwrap_err().message(), "enough");
    }
}
