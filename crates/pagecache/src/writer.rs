//! The background thread that writes pages and evicts files before the limit is reached. Readers never wait for it:
//! what does not fit into its queue is not cached.

#![expect(clippy::disallowed_methods, reason = "use is compared with the times of files, which the system sets")]

use crate::eviction::{delete_unused, evict, scan};
use crate::file::{PageFile, PageRange, write};
use crate::folder::StoreFolder;
use crate::warnings::{WarningKind, Warnings};
use parking_lot::Mutex;
use std::io::{ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// The maximum size of the queue in bytes.
const QUEUE_BYTES_MAX: u64 = 32 << 20;
/// The time after a failed write for which nothing is written.
const PAUSE: Duration = Duration::from_secs(60);

/// The handle of the thread. The thread starts with the first page. When the handle is dropped, the thread writes the
/// queued pages and ends.
pub(crate) struct Writer {
    queued_bytes: Arc<AtomicU64>,
    state: Mutex<ThreadState>,
}

enum ThreadState {
    Idle(Box<WriterThread>),
    Running(Sender<WriterCommand>, JoinHandle<()>),
    /// The thread could not be started.
    Ended,
}

enum WriterCommand {
    Store(PageFile, Vec<(PageRange, Vec<u8>)>),
    Flush(Sender<()>),
}

impl Writer {
    pub(crate) fn new(folder: Arc<StoreFolder>, warnings: Arc<Warnings>, bytes_max: u64) -> Self {
        let queued_bytes = Arc::new(AtomicU64::new(0));
        let work = WriterThread {
            folder,
            warnings,
            bytes_max,
            queued_bytes: Arc::clone(&queued_bytes),
            // Other processes write too. Their bytes are counted by the next scan.
            scan_interval_bytes: bytes_max / 32,
            bytes_since_scan: u64::MAX,
            paused: None,
        };
        Self { queued_bytes, state: Mutex::new(ThreadState::Idle(Box::new(work))) }
    }

    pub(crate) fn keep(&self, file: PageFile, pages: Vec<(PageRange, Vec<u8>)>) {
        let bytes = byte_count(&pages);
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let kept =
            before.saturating_add(bytes) <= QUEUE_BYTES_MAX && self.send(WriterCommand::Store(file, pages), true);
        if !kept {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn flush(&self) {
        let (sender, receiver) = channel();
        if self.send(WriterCommand::Flush(sender), false) {
            let _ = receiver.recv();
        }
    }

    /// Returns whether the thread received the command.
    fn send(&self, command: WriterCommand, start: bool) -> bool {
        let mut state = self.state.lock();
        if start && matches!(*state, ThreadState::Idle(_)) {
            *state = match std::mem::replace(&mut *state, ThreadState::Ended) {
                ThreadState::Idle(work) => start_thread(*work),
                other => other,
            };
        }
        match &*state {
            ThreadState::Running(commands, _) => commands.send(command).is_ok(),
            _ => false,
        }
    }
}

fn start_thread(work: WriterThread) -> ThreadState {
    let (sender, commands) = channel();
    let thread = std::thread::Builder::new().name("atsdb-pagecache".into()).spawn(move || work.run(&commands));
    thread.map_or(ThreadState::Ended, |thread| ThreadState::Running(sender, thread))
}

impl Drop for Writer {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let ThreadState::Running(commands, thread) = std::mem::replace(state, ThreadState::Ended) {
            drop(commands);
            // The panic hook has reported a panic of the thread already.
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct WriterThread {
    folder: Arc<StoreFolder>,
    warnings: Arc<Warnings>,
    bytes_max: u64,
    queued_bytes: Arc<AtomicU64>,
    scan_interval_bytes: u64,
    /// Bytes written since the last scan.
    bytes_since_scan: u64,
    paused: Option<Instant>,
}

impl WriterThread {
    fn run(mut self, commands: &Receiver<WriterCommand>) {
        while let Ok(command) = commands.recv() {
            match command {
                WriterCommand::Store(file, pages) => {
                    let bytes = byte_count(&pages);
                    self.keep(&file, &pages);
                    self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                WriterCommand::Flush(sender) => {
                    let _ = sender.send(());
                }
            }
        }
    }

    fn keep(&mut self, file: &PageFile, pages: &[(PageRange, Vec<u8>)]) {
        // Pages that would evict most others are not worth caching.
        if self.is_paused() || byte_count(pages) > self.bytes_max / 8 {
            return;
        }
        if self.bytes_since_scan.saturating_add(byte_count(pages)) > self.scan_interval_bytes {
            let kept = delete_unused(self.folder.root(), scan(self.folder.root()), SystemTime::now());
            // There must be room for what this and some other processes write until the next scan.
            if kept.bytes() > self.bytes_max - self.bytes_max / 8 {
                evict(self.folder.root(), kept, self.bytes_max - self.bytes_max / 4);
            }
            self.bytes_since_scan = 0;
        }
        let path = self.folder.path_of(file);
        match self.write(&path, pages) {
            Ok(grown) => self.bytes_since_scan += grown,
            Err(error) => {
                // A partial page is useless and takes space.
                let _ = std::fs::remove_file(&path);
                self.paused = Some(Instant::now());
                self.warnings.warn_once(WarningKind::Writing, || {
                    format!("{} cannot be written: {error}; reading continues without the cache", self.folder.shown())
                });
            }
        }
    }

    fn write(&self, path: &std::path::Path, pages: &[(PageRange, Vec<u8>)]) -> Result<u64> {
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

fn byte_count(pages: &[(PageRange, Vec<u8>)]) -> u64 {
    pages.iter().map(|(_, bytes)| bytes.len() as u64).sum()
}
