//! Requests for files, and waiting for their answers. Requests run on separate threads, so that any thread may wait,
//! and so that the wait can be interrupted.

use crate::answer::Answer;
use crate::failure::{Failure, explain};
use crate::http::HttpFile;
use crate::request_threads::start_request_threads;
use atsdb_core::parallel::drop_elsewhere;
use atsdb_core::{Error, Result};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The interval at which a waiting thread checks whether the wait is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// Time after which a silent server counts as lost, retries included.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// The maximum number of arrived items that are taken at once.
const ITEMS_AT_ONCE: usize = 64;

/// The threads on which requests run.
pub(crate) struct Threads {
    runtime: Option<Runtime>,
    check: fn() -> Result<()>,
}

impl Drop for Threads {
    #[expect(clippy::disallowed_methods, reason = "no thread can be started that would wait for its threads")]
    fn drop(&mut self) {
        // A request without a waiting caller is dropped, not awaited.
        if let Some(runtime) = self.runtime.take() {
            drop_elsewhere(runtime, Runtime::shutdown_background);
        }
    }
}

impl Threads {
    pub(crate) fn start(check: fn() -> Result<()>) -> Result<Self> {
        Ok(Self { runtime: Some(start_request_threads("atsdb-remote")?), check })
    }

    /// Waits for a result. `shown` names the file in errors.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        shown: &str,
        future: impl Future<Output = std::result::Result<T, Failure>> + Send + 'static,
    ) -> Result<T> {
        let Some(runtime) = &self.runtime else { return Err(Error::internal("the threads for requests have ended")) };
        let (sender, receiver) = channel();
        runtime.spawn(async move {
            // If the wait was interrupted, the result is not needed.
            let _ = sender.send(tokio::time::timeout(SILENCE_MAX, future).await);
        });
        loop {
            (self.check)()?;
            match receiver.recv_timeout(LOOK_INTERVAL) {
                Ok(Ok(done)) => return done.map_err(|failure| explain(shown, &failure)),
                Ok(Err(_)) => {
                    let cause = format!("nothing arrived for {} s", SILENCE_MAX.as_secs());
                    return Err(explain(shown, &Failure::of_cause(cause)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("a thread for requests has failed")),
            }
        }
    }
}

/// The location of a file.
#[derive(Clone)]
pub(crate) enum FileLocation {
    Http(Arc<HttpFile>),
    Object(Arc<dyn ObjectStore>, Path),
}

impl FileLocation {
    /// Requests the file, or a range of it; only this version, if there is one.
    pub(crate) async fn get(
        self,
        range: Option<Range<u64>>,
        version: Option<String>,
    ) -> std::result::Result<Answer, Failure> {
        let (store, path) = match self {
            Self::Http(file) => return file.get(range, version).await,
            Self::Object(store, path) => (store, path),
        };
        let range = range.map(GetRange::Bounded);
        let options = GetOptions { range, if_match: version, ..GetOptions::default() };
        let found = store.get_opts(&path, options).await.map_err(|error| Failure::of_store(&error))?;
        let (byte_count, e_tag) = (Some(found.meta.size), found.meta.e_tag.clone());
        let content = found.into_stream().map_ok(Vec::from).map_err(|error| Failure::of_store(&error));
        Ok(Answer { byte_count, e_tag, has_end: true, content: content.boxed() })
    }
}

/// A file, and the threads that request it.
#[derive(Clone)]
pub(crate) struct FileConnection {
    /// Its URL without secrets.
    pub(crate) shown: String,
    /// Its URL with the query, which may name another file.
    pub(crate) identity: String,
    pub(crate) location: FileLocation,
    pub(crate) threads: Arc<Threads>,
}

impl FileConnection {
    /// Requests the file, or a range of it; only this version, if there is one.
    pub(crate) fn get(&self, range: Option<Range<u64>>, version: Option<String>) -> Result<Answer> {
        self.threads.wait(&self.shown, self.location.clone().get(range, version))
    }

    /// The content of an answer, as it arrives.
    pub(crate) fn content(&self, answer: Answer) -> Arrivals<Vec<u8>> {
        Arrivals::new(&self.threads, &self.shown, answer.content)
    }
}

/// Items that a server sends: the pieces of a file, or the entries of a list. The wait for each item is limited, not
/// the total.
pub(crate) struct Arrivals<T> {
    threads: Arc<Threads>,
    shown: String,
    rest: Option<BoxStream<'static, Vec<std::result::Result<T, Failure>>>>,
}

impl<T: Send + 'static> Arrivals<T> {
    /// `shown` names the source in errors.
    pub(crate) fn new(
        threads: &Arc<Threads>,
        shown: &str,
        items: BoxStream<'static, std::result::Result<T, Failure>>,
    ) -> Self {
        let rest = Some(items.ready_chunks(ITEMS_AT_ONCE).boxed());
        Self { threads: Arc::clone(threads), shown: shown.to_owned(), rest }
    }

    /// The next items, or `None` at the end and after an error.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<T>>> {
        let Some(mut rest) = self.rest.take() else { return Ok(None) };
        let next = async move {
            let Some(items) = rest.next().await else { return Ok(None) };
            let items = items.into_iter().collect::<std::result::Result<Vec<T>, Failure>>()?;
            Ok(Some((items, rest)))
        };
        let Some((items, rest)) = self.threads.wait(&self.shown, next)? else { return Ok(None) };
        self.rest = Some(rest);
        Ok(Some(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_arrive_until_the_end_or_an_error() {
        let threads = Arc::new(Threads::start(|| Ok(())).unwrap());
        let count = |items: Vec<std::result::Result<usize, Failure>>| {
            let mut arrivals = Arrivals::new(&threads, "https://h/x", futures::stream::iter(items).boxed());
            let mut counts = Vec::new();
            loop {
                match arrivals.next() {
                    Ok(Some(items)) => counts.push(items.len()),
                    Ok(None) => return (counts, None),
                    Err(error) => {
                        assert!(arrivals.next().unwrap().is_none());
                        return (counts, Some(error.message().to_owned()));
                    }
                }
            }
        };
        assert_eq!(count((0..130).map(Ok).collect()), (vec![64, 64, 2], None));
        let broken = (0..64).map(Ok).chain([Err(Failure::of_cause("reset")), Ok(1)]).collect();
        assert_eq!(count(broken), (vec![64], Some("cannot read https://h/x: reset".to_owned())));
    }
}
