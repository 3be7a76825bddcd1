//! Requests with lines, as they wait to be stored. Those that wait together are stored together, so that many small
//! requests share one commit.

use super::group::store;
use super::request::{LineReport, LineRequest};
use atsdb::{Database, Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A group of requests has at most this many bytes, unless it is a single one.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// An error that several requests share: its kind, and its message with hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedError {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

type Reply = oneshot::Sender<Result<LineReport, SharedError>>;

/// The requests that wait.
#[derive(Debug, Clone)]
pub(crate) struct LineQueue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Database,
    workers_max: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<(LineRequest, Reply)>,
    worker_count: usize,
}

impl LineQueue {
    pub(crate) fn new(database: Database) -> Self {
        let workers_max = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
        Self(Arc::new(Inner { database, workers_max, waiting: Mutex::default() }))
    }

    /// Stores a request, together with others. Returns when its lines are durable.
    pub(crate) async fn store(&self, request: LineRequest) -> Result<LineReport, SharedError> {
        let (reply, replied) = oneshot::channel();
        let needs_worker = {
            let mut waiting = self.0.waiting.lock();
            waiting.requests.push_back((request, reply));
            let needs_worker = waiting.worker_count < self.0.workers_max;
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

/// A thread that stores requests until none waits.
struct Worker {
    queue: Arc<Inner>,
    /// Whether the queue counts this worker.
    is_counted: bool,
}

impl Worker {
    fn work(mut self) {
        while let Some(group) = self.next_group() {
            let (requests, replies): (Vec<LineRequest>, Vec<Reply>) = group.into_iter().unzip();
            match store(&self.queue.database, &requests) {
                Ok(reports) => {
                    drop(requests);
                    replies.into_iter().zip(reports).for_each(|(reply, report)| drop(reply.send(Ok(report))));
                }
                Err(error) if requests.len() == 1 => {
                    replies.into_iter().for_each(|reply| drop(reply.send(Err(shared(&error)))));
                }
                // One of them may be at fault: the others are stored without it.
                Err(_) => {
                    for (request, reply) in requests.into_iter().zip(replies) {
                        let stored = store(&self.queue.database, std::slice::from_ref(&request));
                        let report = stored.map_err(|error| shared(&error)).map(|mut reports| reports.remove(0));
                        drop(request);
                        let _ = reply.send(report);
                    }
                }
            }
        }
    }

    fn next_group(&mut self) -> Option<Vec<(LineRequest, Reply)>> {
        let mut waiting = self.queue.waiting.lock();
        let Some(first) = waiting.requests.pop_front() else {
            // In one step with the look, so that a request that comes now has a worker.
            waiting.worker_count -= 1;
            self.is_counted = false;
            return None;
        };
        let mut byte_count = first.0.body.bytes.len();
        let mut group = vec![first];
        while group[0].0.batch.is_none() {
            let joins = waiting.requests.front().is_some_and(|(request, _)| {
                request.batch.is_none() && byte_count + request.body.bytes.len() <= GROUP_BYTES_MAX
            });
            let Some(next) = waiting.requests.pop_front_if(|_| joins) else { break };
            byte_count += next.0.body.bytes.len();
            group.push(next);
        }
        Some(group)
    }
}

impl Drop for Worker {
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
