//! Work that waits for others, in a thread of its own, so that Ctrl-C ends the wait.

use crate::console::interrupt;
use atsdb::{Error, Result};
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// The interval at which the waiting thread checks whether Ctrl-C was pressed.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The number of items that are made ahead.
const ITEMS_MAX: usize = 2;

/// The items of an iterator that runs in its own thread.
#[derive(Debug)]
pub(crate) struct Prefetch<T> {
    /// `None` is the end; if the channel closes without it, the thread has failed.
    items: Receiver<Option<T>>,
}

impl<T: Send + 'static> Prefetch<T> {
    /// Starts the thread. It ends with its items, or when the receiver is dropped.
    pub(crate) fn start(mut items: impl Iterator<Item = T> + Send + 'static) -> Result<Self> {
        Self::run(move |put| _ = items.all(put))
    }

    /// Starts a thread with work that calls a function with each item. The function returns false once the receiver is
    /// dropped.
    pub(crate) fn run(work: impl FnOnce(&mut dyn FnMut(T) -> bool) + Send + 'static) -> Result<Self> {
        let (sender, receiver) = sync_channel(ITEMS_MAX);
        let work = move || {
            work(&mut |item| sender.send(Some(item)).is_ok());
            let _ = sender.send(None);
        };
        let started = std::thread::Builder::new().name("atsdb-ahead".to_owned()).spawn(work);
        started.map_err(Error::no_thread)?;
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

/// Reads pieces of bytes, one after the other, as they arrive.
#[derive(Debug)]
pub(crate) struct PrefetchedBytes {
    pieces: Prefetch<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
    is_at_end: bool,
}

impl PrefetchedBytes {
    pub(crate) fn new(pieces: Prefetch<io::Result<Vec<u8>>>) -> Self {
        Self { pieces, piece: io::Cursor::default(), is_at_end: false }
    }
}

impl Read for PrefetchedBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.position() == self.piece.get_ref().len() as u64 && !self.is_at_end {
            let next = self.pieces.next().map_err(io::Error::other)?;
            self.is_at_end = next.is_none();
            self.piece = io::Cursor::new(next.transpose()?.unwrap_or_default());
        }
        self.piece.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::ErrorKind;

    #[test]
    fn a_thread_that_fails_is_no_end_of_its_items() {
        let items = Prefetch::start((0..3).inspect(|item| assert!(*item < 2, "it fails"))).unwrap();
        assert_eq!((items.next().unwrap(), items.next().unwrap()), (Some(0), Some(1)));
        assert_eq!(items.next().unwrap_err().kind(), ErrorKind::Internal);
        let items = Prefetch::start(0..1).unwrap();
        assert_eq!((items.next().unwrap(), items.next().unwrap()), (Some(0), None));
    }

    #[test]
    fn pieces_are_read_to_their_end_and_a_failure_is_no_end() {
        let parts = |parts: &[&[u8]]| parts.iter().map(|part| Ok(part.to_vec())).collect::<Vec<_>>().into_iter();
        let mut text = String::new();
        let mut reader = PrefetchedBytes::new(Prefetch::start(parts(&[b"ab", b"", b"c"])).unwrap());
        reader.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), reader.read(&mut [0; 4]).unwrap()), ("abc", 0));
        let fails = parts(&[b"ab", b"c"]).inspect(|part| assert_eq!(part.as_ref().map_or(0, Vec::len), 2, "it fails"));
        let mut reader = PrefetchedBytes::new(Prefetch::start(fails).unwrap());
        assert!(reader.read_to_string(&mut text).unwrap_err().to_string().contains("failed"));
    }
}
