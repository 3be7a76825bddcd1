//! The thread that writes, and makes room before the bound is reached. Readers never wait for it: what does not fit into
//! its queue is left out.

#![expect(clippy::disallowed_methods, reason = "use is compared with the times of files, which the system sets")]

use crate::file::{PageFile, Place, write};
use crate::folder::StoreFolder;
use crate::room::{forget_unused, look, make_room};
use crate::warn::{Kind, Warnings};
use std::io::{ErrorKind, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// What may wait to be written.
const QUEUE_BYTES_MAX: u64 = 32 << 20;
/// After a disk that did not take a page nothing is written for so long.
const PAUSE: Duration = Duration::from_secs(60);

/// The way to the thread. The thread starts with the first page, and ends, when all is written, with this.
pub(crate) struct Writer {
    queued_bytes: Arc<AtomicU64>,
    state: Mutex<State>,
}

enum State {
    Idle(Box<Work>),
    Running(Sender<Order>, JoinHandle<()>),
    /// The operating system gave no thread.
    Ended,
}

enum Order {
    Keep(PageFile, Vec<(Place, Vec<u8>)>),
    Tell(Sender<()>),
}

impl Writer {
    pub(crate) fn new(folder: Arc<StoreFolder>, warnings: Arc<Warnings>, bytes_max: u64) -> Self {
        let queued_bytes = Arc::new(AtomicU64::new(0));
        let work = Work {
            folder,
            warnings,
            bytes_max,
            queued_bytes: Arc::clone(&queued_bytes),
            // Others write too: what they wrote since the last look shows in the next.
            look_every: bytes_max / 32,
            unseen: u64::MAX,
            paused: None,
        };
        Self { queued_bytes, state: Mutex::new(State::Idle(Box::new(work))) }
    }

    pub(crate) fn keep(&self, file: PageFile, pages: Vec<(Place, Vec<u8>)>) {
        let bytes = byte_count(&pages);
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let kept = before.saturating_add(bytes) <= QUEUE_BYTES_MAX && self.send(Order::Keep(file, pages), true);
        if !kept {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn flush(&self) {
        let (sender, receiver) = channel();
        if self.send(Order::Tell(sender), false) {
            let _ = receiver.recv();
        }
    }

    /// Whether the thread has got it.
    fn send(&self, order: Order, start: bool) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if start && matches!(*state, State::Idle(_)) {
            *state = match std::mem::replace(&mut *state, State::Ended) {
                State::Idle(work) => start_thread(*work),
                other => other,
            };
        }
        match &*state {
            State::Running(orders, _) => orders.send(order).is_ok(),
            _ => false,
        }
    }
}

fn start_thread(work: Work) -> State {
    let (sender, orders) = channel();
    let thread = std::thread::Builder::new().name("atsdb-pagecache".into()).spawn(move || work.run(&orders));
    thread.map_or(State::Ended, |thread| State::Running(sender, thread))
}

impl Drop for Writer {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(orders, thread) = std::mem::replace(state, State::Ended) {
            drop(orders);
            // A panic in the thread has been reported by the hook.
            let _ = thread.join();
        }
    }
}

/// What the thread knows.
struct Work {
    folder: Arc<StoreFolder>,
    warnings: Arc<Warnings>,
    bytes_max: u64,
    queued_bytes: Arc<AtomicU64>,
    look_every: u64,
    /// Bytes written since the last look.
    unseen: u64,
    paused: Option<Instant>,
}

impl Work {
    fn run(mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Keep(file, pages) => {
                    let bytes = byte_count(&pages);
                    self.keep(&file, &pages);
                    self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                Order::Tell(sender) => {
                    let _ = sender.send(());
                }
            }
        }
    }

    fn keep(&mut self, file: &PageFile, pages: &[(Place, Vec<u8>)]) {
        // One that would push most others out is not worth it.
        if self.is_paused() || byte_count(pages) > self.bytes_max / 8 {
            return;
        }
        if self.unseen.saturating_add(byte_count(pages)) > self.look_every {
            let kept = forget_unused(self.folder.root(), look(self.folder.root()), SystemTime::now());
            // There must be room for what is written until the next look, here and in some other processes.
            if kept.bytes() > self.bytes_max - self.bytes_max / 8 {
                make_room(self.folder.root(), kept, self.bytes_max - self.bytes_max / 4);
            }
            self.unseen = 0;
        }
        let path = self.folder.path_of(file);
        match self.write(&path, pages) {
            Ok(grown) => self.unseen += grown,
            Err(error) => {
                // Half a page is as good as none, and takes room.
                let _ = std::fs::remove_file(&path);
                self.paused = Some(Instant::now());
                self.warnings.tell(Kind::Writing, || {
                    format!("{} cannot be written: {error}; reading goes on without", self.folder.shown())
                });
            }
        }
    }

    fn write(&self, path: &std::path::Path, pages: &[(Place, Vec<u8>)]) -> Result<u64> {
        match write(path, pages) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.folder.make()?;
                write(path, pages)
            }
            done => done,
        }
    }

    fn is_paused(&mut self) -> bool {
        self.paused = self.paused.filter(|since| since.elapsed() < PAUSE);
        self.paused.is_some()
    }
}

fn byte_count(pages: &[(Place, Vec<u8>)]) -> u64 {
    pages.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}
