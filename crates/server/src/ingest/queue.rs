//! Requests that wait to be stored. All that are waiting are stored together, so that many small requests share one
//! commit.

use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The maximum size of a group of requests in bytes, unless it is a single request.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// An error that several requests share: its kind, and its message with the hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedError {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

/// Stores groups of requests.
pub(crate) trait GroupWriter: Send + Sync + 'static {
    /// A waiting request.
    type Request: Send + 'static;
    /// The result of a request.
    type Report: Send + 'static;

    /// Returns the maximum number of threads that store at the same time.
    fn worker_count_max(&self) -> usize;

    /// The size of a request in bytes.
    fn byte_count(request: &Self::Request) -> usize;

    /// Returns whether a request must have its own commit.
    fn stands_alone(request: &Self::Request) -> bool;

    /// Stores the rows of requests in one commit, and reports on each of them. All are durable when this returns; after
    /// an error, none is stored.
    fn store(&self, group: &[Self::Request]) -> Result<Vec<Self::Report>>;
}

type Reply<W> = oneshot::Sender<Result<<W as GroupWriter>::Report, SharedError>>;
type Waiter<W> = (<W as GroupWriter>::Request, Reply<W>);

/// The waiting requests. Clones share the same queue.
pub(crate) struct GroupQueue<W: GroupWriter>(Arc<Inner<W>>);

struct Inner<W: GroupWriter> {
    writer: W,
    waiting: Mutex<Waiting<W>>,
}

struct Waiting<W: GroupWriter> {
    requests: VecDeque<Waiter<W>>,
    worker_count: usize,
}

impl<W: GroupWriter> GroupQueue<W> {
    pub(crate) fn new(writer: W) -> Self {
        let waiting = Waiting { requests: VecDeque::new(), worker_count: 0 };
        Self(Arc::new(Inner { writer, waiting: Mutex::new(waiting) }))
    }

    /// Stores a request, together with others. Returns when its rows are durable.
    pub(crate) async fn store(&self, request: W::Request) -> Result<W::Report, SharedError> {
        let (reply, replied) = oneshot::channel();
        let needs_worker = {
            let mut waiting = self.0.waiting.lock();
            waiting.requests.push_back((request, reply));
            let needs_worker = waiting.worker_count < self.0.writer.worker_count_max();
            waiting.worker_count += usize::from(needs_worker);
            needs_worker
        };
        if needs_worker {
            let worker = Worker { queue: Arc::clone(&self.0), is_counted: true };
            tokio::task::spawn_blocking(move || worker.work());
        }
        replied.await.unwrap_or_else(|_| {
            Err(SharedError { kind: ErrorKind::Internal, message: "the request was dropped".to_owned() })
        })
    }
}

impl<W: GroupWriter> Clone for GroupQueue<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: GroupWriter> fmt::Debug for GroupQueue<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupQueue").field("waiting", &self.0.waiting.lock().requests.len()).finish_non_exhaustive()
    }
}

/// A thread that stores requests until none is waiting.
struct Worker<W: GroupWriter> {
    queue: Arc<Inner<W>>,
    /// Whether the queue counts this worker.
    is_counted: bool,
}

impl<W: GroupWriter> Worker<W> {
    fn work(mut self) {
        while let Some(group) = self.next_group() {
            // After a panic, the callers of this group learn that nobody answers, and the other requests are stored.
            drop(catch_unwind(AssertUnwindSafe(|| self.store(group))));
        }
    }

    fn store(&self, group: Vec<Waiter<W>>) {
        let (requests, replies): (Vec<W::Request>, Vec<Reply<W>>) = group.into_iter().unzip();
        match self.queue.writer.store(&requests) {
            Ok(reports) => {
                drop(requests);
                replies.into_iter().zip(reports).for_each(|(reply, report)| drop(reply.send(Ok(report))));
            }
            Err(error) if requests.len() == 1 => {
                replies.into_iter().for_each(|reply| drop(reply.send(Err(shared(&error)))));
            }
            // One of them may have caused the error: the others are stored without it.
            Err(_) => {
                for (request, reply) in requests.into_iter().zip(replies) {
                    let stored = self.queue.writer.store(std::slice::from_ref(&request));
                    let report = stored.map_err(|error| shared(&error)).map(|mut reports| reports.remove(0));
                    drop(request);
                    let _ = reply.send(report);
                }
            }
        }
    }

    fn next_group(&mut self) -> Option<Vec<Waiter<W>>> {
        let mut waiting = self.queue.waiting.lock();
        let Some(first) = waiting.requests.pop_front() else {
            // Under the same lock as the check, so that a request that arrives now gets a worker.
            waiting.worker_count -= 1;
            self.is_counted = false;
            return None;
        };
        let mut byte_count = W::byte_count(&first.0);
        let mut group = vec![first];
        while !W::stands_alone(&group[0].0) {
            let joins = waiting.requests.front().is_some_and(|(request, _)| {
                !W::stands_alone(request) && byte_count + W::byte_count(request) <= GROUP_BYTES_MAX
            });
            let Some(next) = waiting.requests.pop_front_if(|_| joins) else { break };
            byte_count += W::byte_count(&next.0);
            group.push(next);
        }
        Some(group)
    }
}

impl<W: GroupWriter> Drop for Worker<W> {
    fn drop(&mut self) {
        self.queue.waiting.lock().worker_count -= usize::from(self.is_counted);
    }
}

fn shared(error: &Error) -> SharedError {
    let message = match error.hint() {
        Some(hint) => format!("{} ({hint})", error.message()),
        None => error.message().to_owned(),
    };
    SharedError { kind: error.kind(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join3;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;
    use tokio::runtime::Builder;

    /// Begins to store when it may. A request says whether storing it panics.
    #[derive(Default)]
    struct PanickingWriter(AtomicBool);

    impl GroupWriter for PanickingWriter {
        type Request = bool;
        type Report = ();

        fn worker_count_max(&self) -> usize {
            1
        }

        fn byte_count(_: &bool) -> usize {
            1
        }

        fn stands_alone(_: &bool) -> bool {
            true
        }

        fn store(&self, group: &[bool]) -> Result<Vec<()>> {
            while !self.0.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert!(!group[0], "this request cannot be stored");
            Ok(vec![(); group.len()])
        }
    }

    #[test]
    fn a_panic_leaves_no_request_without_an_answer() {
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let queue = GroupQueue::new(PanickingWriter::default());
            // Both wait before the first one is stored.
            let begin = async { queue.0.writer.0.store(true, Ordering::Release) };
            let all = join3(queue.store(true), queue.store(false), begin);
            let (first, second, ()) = tokio::time::timeout(Duration::from_secs(10), all)
                .await
                .expect("a request waits, and no thread stores it");
            assert!(first.is_err());
            second.unwrap();
        });
    }
}
