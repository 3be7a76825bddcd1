//! Work that waits for others, in a thread of its own, so that Ctrl-C ends the wait.

use crate::console::interrupt;
use atsdb::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often the waiting thread looks whether Ctrl-C was pressed.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The number of items that are made ahead.
const ITEMS_MAX: usize = 2;

/// The items of an iterator that runs in its own thread.
#[derive(Debug)]
pub(crate) struct Ahead<T> {
    /// `None` is the end; if the channel closes without it, the thread has failed.
    items: Receiver<Option<T>>,
}

impl<T: Send + 'static> Ahead<T> {
    /// Starts the thread. It ends with its items, or when nobody waits for them any more.
    pub(crate) fn start(items: impl Iterator<Item = T> + Send + 'static) -> Result<Self> {
        let (sender, receiver) = sync_channel(ITEMS_MAX);
        let work = move || {
            for item in items {
                if sender.send(Some(item)).is_err() {
                    return;
                }
            }
            let _ = sender.send(None);
        };
        let started = std::thread::Builder::new().name("atsdb-ahead".to_owned()).spawn(work);
        started.map_err(|error| Error::new(ErrorKind::Resources, format!("cannot start a thread: {error}")))?;
        Ok(Self { items: receiver })
    }

    /// Waits for the next item. Ctrl-C during the wait is an error.
    pub(crate) fn next(&self) -> Result<Option<T>> {
        loop {
            interrupt::check()?;
            match self.items.recv_timeout(LOOK_INTERVAL) {
                Ok(item) => return Ok(item),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("a thread of the input failed")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_is_no_end_of_its_items() {
        let items = Ahead::start((0..3).inspect(|item| assert!(*item < 2, "it fails"))).unwrap();
        assert_eq!((items.next().unwrap(), items.next().unwrap()), (Some(0), Some(1)));
        assert_eq!(items.next().unwrap_err().kind(), ErrorKind::Internal);
        let items = Ahead::start(0..1).unwrap();
        assert_eq!((items.next().unwrap(), items.next().unwrap()), (Some(0), None));
    }
}
