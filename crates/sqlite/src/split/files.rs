//! All page files of a store: which are open, who writes to which, reading from them, and making them durable.
//!
//! A file is written by whoever holds its lock (`flock`, which the system takes back from a process that ends). The lock is
//! held from the first byte until the catalogue refers to what was written or never will; so what lies in a file that
//! nobody holds is either referred to or garbage. Locks are only ever tried, never waited for. Files are removed by name, so
//! that whoever has one open looks whether it still has its name.

use crate::error::{Attempt, Failure};
use crate::split::fault;
use crate::split::file::{self, Unreadable};
use crate::split::folder::Folder;
use crate::split::folder::unavailable;
use crate::split::layout::Layout;
use crate::split::listing::Needed;
use crate::split::place::Place;
use crate::split::reclaimer::Reclaimer;
use crate::write_again::write_again;
use atsdb_core::{ColumnId, Durability, Error, ErrorKind, Result};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many files stay open for reading, and as many for writing.
const OPEN_FILES_KEPT: usize = 32;
/// A file of so many bytes gets no more. Far below the 32 bits that a place has for an offset.
const FILE_BYTES_MAX: u64 = 256 << 20;
const ENDING: &str = ".pages";

/// The page files of a store.
#[derive(Debug)]
pub(crate) struct PageFiles {
    folder: PathBuf,
    catalogue: PathBuf,
    pub(crate) uid: [u8; 16],
    pub(crate) layout: Layout,
    pub(crate) durability: Durability,
    /// The shard that this store writes to while it is free.
    pub(crate) shard: AtomicUsize,
    pub(crate) reclaimer: Mutex<Reclaimer>,
    reading: Mutex<Recent<File>>,
    writing: Mutex<Recent<Handle>>,
    /// Files of which a sync failed: what was written before may be lost, whatever a later one says. Nothing is written to
    /// them before they were written once more.
    failed: Mutex<BTreeSet<i64>>,
}

/// A file that is open for writing.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) number: i64,
    file: File,
    /// Within this process, where the system's lock does not tell threads apart.
    taken: AtomicBool,
    /// Whether the file's name is on disk.
    named: AtomicBool,
}

impl Handle {
    /// The file itself.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Whether it still has its name.
    pub(crate) fn is_linked(&self) -> bool {
        linked(&self.file)
    }
}

/// What is kept open.
trait Open {
    fn file(&self) -> &File;
}

impl Open for File {
    fn file(&self) -> &File {
        self
    }
}

impl Open for Handle {
    fn file(&self) -> &File {
        &self.file
    }
}

/// The last files used.
#[derive(Debug)]
struct Recent<T>(VecDeque<(i64, Arc<T>)>);

impl<T: Open> Recent<T> {
    /// The file of that number. One that was removed meanwhile is opened anew: after a power cut its number may be given
    /// to another.
    fn get(&mut self, number: i64, open: impl FnOnce() -> io::Result<T>) -> io::Result<Arc<T>> {
        let found = self.0.iter().position(|(other, _)| *other == number).and_then(|at| self.0.remove(at));
        let found = match found.filter(|(_, found)| linked(found.file())) {
            Some((_, found)) => found,
            None => Arc::new(open()?),
        };
        self.0.push_front((number, Arc::clone(&found)));
        self.0.truncate(OPEN_FILES_KEPT);
        Ok(found)
    }
}

/// Whether the file still has a name.
fn linked(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PageFiles {
    pub(crate) fn new(folder: &Folder, uid: [u8; 16], layout: Layout, durability: Durability) -> Self {
        Self {
            folder: folder.pages(),
            catalogue: folder.catalogue(),
            uid,
            layout,
            durability,
            // Processes that start together begin at different shards.
            shard: AtomicUsize::new(std::process::id() as usize),
            reclaimer: Mutex::default(),
            reading: Mutex::new(Recent(VecDeque::new())),
            writing: Mutex::new(Recent(VecDeque::new())),
            failed: Mutex::default(),
        }
    }

    /// Where they lie.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The catalogue's file.
    pub(crate) fn catalogue(&self) -> &Path {
        &self.catalogue
    }

    pub(crate) fn path(&self, number: i64) -> PathBuf {
        self.folder.join(format!("{number}{ENDING}"))
    }

    /// The numbers of the files that are there.
    pub(crate) fn list(&self) -> Result<BTreeSet<i64>> {
        let unlisted = |error| unavailable("list", &self.folder, error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            other => other.map_err(unlisted)?,
        };
        let mut numbers = BTreeSet::new();
        for entry in entries {
            let name = entry.map_err(unlisted)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(ENDING)?.parse::<i64>().ok());
            // Only as this program writes it: no sign, no zeros in front.
            numbers.extend(number.filter(|number| *number > 0 && name.to_str() == Some(&format!("{number}{ENDING}"))));
        }
        Ok(numbers)
    }

    /// How long a file is; `None` if it is not there.
    pub(crate) fn length(&self, number: i64) -> Result<Option<u64>> {
        match fs::metadata(self.path(number)) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unavailable("look at", &self.path(number), error)),
        }
    }

    /// The file for reading, its head checked.
    pub(crate) fn reader(&self, number: i64) -> Result<Arc<File>, Unreadable> {
        let path = self.path(number);
        let file = lock(&self.reading).get(number, || File::open(&path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unreadable::Damaged("is missing"),
            _ => Unreadable::Io(error),
        })?;
        file::check_head(&file, self.uid, number)?;
        Ok(file)
    }

    /// The pages of some columns of a chunk, in the order asked.
    pub(crate) fn read(&self, chunk: i64, place: Place, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        let failed = |error: Unreadable| self.failure(place.file, &format!("chunk {chunk}"), error);
        let file = self.reader(place.file).map_err(failed)?;
        let block = file::read_block(&file, place).map_err(failed)?;
        let missing =
            |column: ColumnId| Error::corrupt(format!("the page of column {} of chunk {chunk} is missing", column.0));
        let page = |column: &ColumnId| {
            block.read(&file, *column).map_err(|error| failed(error.into()))?.ok_or_else(|| missing(*column))
        };
        columns.iter().map(page).collect()
    }

    /// The error for a file that could not be read; `what` is what was looked for.
    pub(crate) fn failure(&self, number: i64, what: &str, error: Unreadable) -> Error {
        let path = self.path(number);
        match error {
            Unreadable::Io(error) => unavailable("read", &path, error),
            Unreadable::Damaged(problem) => {
                Error::corrupt(format!("{what}: its page file {} {problem}", path.display()))
                    .with_hint("run verify to find what is affected, and restore that from a backup")
            }
            Unreadable::Newer(version) => {
                let message = format!("the page file {} has format {version}, which is newer", path.display());
                Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb")
            }
        }
    }

    /// The file for writing; made if it is not there.
    pub(crate) fn writer(&self, number: i64, create: bool) -> io::Result<Arc<Handle>> {
        let path = self.path(number);
        lock(&self.writing).get(number, || {
            let mode = fs::metadata(&self.catalogue)?.mode() & 0o666;
            let file = OpenOptions::new().read(true).write(true).create(create).mode(mode).open(path)?;
            Ok(Handle { number, file, taken: AtomicBool::new(false), named: AtomicBool::new(false) })
        })
    }

    /// Makes what was written to the file durable, and its name.
    pub(crate) fn sync(&self, handle: &Handle) -> Result<()> {
        let path = self.path(handle.number);
        if lock(&self.failed).contains(&handle.number) {
            let message =
                format!("{} could not be made durable before: what was written to it may be lost", path.display());
            return Err(
                Error::new(ErrorKind::Unavailable, message).with_hint("check the disk; then write the batch again")
            );
        }
        let synced = handle.file.sync_data().and_then(|()| {
            if !handle.named.load(Ordering::Acquire) {
                File::open(&self.folder)?.sync_all()?;
                // Only now: who finds it set acknowledges without waiting.
                handle.named.store(true, Ordering::Release);
            }
            Ok(())
        });
        fault::synced(handle.number, &handle.file);
        synced.map_err(|error| {
            lock(&self.failed).insert(handle.number);
            unavailable("make durable", &path, error)
        })
    }

    /// The same for files that others may have written.
    pub(crate) fn sync_all(&self, numbers: &[i64]) -> Result<()> {
        for number in numbers {
            let missing = |error: io::Error| self.failure(*number, "a stage", error.into());
            self.sync(&*self.writer(*number, false).map_err(missing)?)?;
        }
        Ok(())
    }

    /// Writes a file that nobody else writes to once more, if a sync of it failed; whether it may be written to.
    fn mend(&self, handle: &Handle) -> bool {
        let is_failed = || lock(&self.failed).contains(&handle.number);
        if is_failed() && write_again(&handle.file, u64::MAX).is_ok() {
            lock(&self.failed).remove(&handle.number);
        }
        !is_failed()
    }

    /// What precedes closing: whoever opens the store next does not know of syncs that failed.
    pub(crate) fn settle(&self) {
        let failed = lock(&self.failed).clone();
        for handle in failed.into_iter().filter_map(|number| self.writer(number, false).ok()) {
            // There is nobody to tell.
            if let Ok(Some(held)) = Held::take(&handle) {
                self.mend(held.handle());
            }
        }
    }

    /// Takes a file for writing, if nobody else has it. `needed` asks the catalogue how much of it chunks need, if it is
    /// still one of the store's: it can only go while nobody holds it.
    pub(crate) fn claim(
        &self,
        handle: &Arc<Handle>,
        needed: impl FnOnce() -> Attempt<Option<Needed>>,
    ) -> Attempt<Claim> {
        let Some(mut held) = Held::take(handle).map_err(|error| self.write_failure(handle.number, error))? else {
            return Ok(Claim::Busy);
        };
        // Somebody may have removed it before the lock was free: what is written to it now would be lost.
        let needed = if handle.is_linked() { needed()? } else { None };
        let Some(needed) = needed else {
            self.forget(handle.number);
            return Ok(Claim::Useless);
        };
        if !self.mend(handle) {
            return Ok(Claim::Useless);
        }
        let prepared = || -> std::result::Result<u64, Unreadable> {
            let length = handle.file.metadata()?.len();
            // Behind the end of a file that was cut nothing may follow: it would lie in what is lost.
            if length < needed.chunks_end {
                return Err(Unreadable::Damaged("ends too early"));
            }
            if length < file::FILE_HEAD_BYTES {
                file::write_head(&handle.file, self.uid, handle.number)?;
                return Ok(file::FILE_HEAD_BYTES);
            }
            file::check_head(&handle.file, self.uid, handle.number).map(|()| length)
        };
        match prepared() {
            Ok(length) if length.max(needed.free) < FILE_BYTES_MAX => {
                (held.start, held.end) = (length, length.max(needed.free));
                Ok(Claim::Held(held))
            }
            // A damaged one is left to verify, one of a newer version to newer versions.
            Ok(_) | Err(Unreadable::Damaged(_) | Unreadable::Newer(_)) => Ok(Claim::Useless),
            Err(error) => Err(self.failure(handle.number, "writing", error).into()),
        }
    }

    /// The error for a file that could not be written.
    pub(crate) fn write_failure(&self, number: i64, error: io::Error) -> Failure {
        Failure::Refused(unavailable("write", &self.path(number), error))
    }

    /// Removes a file that is no longer the store's; gives how long it was.
    pub(crate) fn remove(&self, number: i64) -> Result<u64> {
        let length = self.length(number)?.unwrap_or(0);
        self.forget(number);
        match fs::remove_file(self.path(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(unavailable("remove", &self.path(number), error))
            }
            _ => Ok(length),
        }
    }

    /// Closes a file.
    pub(crate) fn forget(&self, number: i64) {
        lock(&self.reading).0.retain(|(other, _)| *other != number);
        lock(&self.writing).0.retain(|(other, _)| *other != number);
    }

    /// Closes files that were removed by other processes: they take room as long as they are open.
    pub(crate) fn close_removed(&self) {
        lock(&self.reading).0.retain(|(_, file)| linked(file));
        lock(&self.writing).0.retain(|(_, handle)| linked(&handle.file));
    }
}

/// What became of taking a file.
#[derive(Debug)]
pub(crate) enum Claim {
    Held(Held),
    /// Somebody writes to it.
    Busy,
    /// It is full, damaged, no longer the store's, or could not be made durable before.
    Useless,
}

/// A file that nobody else writes to as long as this is there. What was appended is cut off again unless it is
/// [kept](Self::keep).
#[derive(Debug)]
pub(crate) struct Held {
    handle: Arc<Handle>,
    start: u64,
    end: u64,
}

impl Held {
    /// Takes the lock, if it is free.
    pub(crate) fn take(handle: &Arc<Handle>) -> io::Result<Option<Self>> {
        if handle.taken.swap(true, Ordering::Acquire) {
            return Ok(None);
        }
        let release = || handle.taken.store(false, Ordering::Release);
        match handle.file.try_lock() {
            Ok(()) => Ok(Some(Self { handle: Arc::clone(handle), start: 0, end: 0 })),
            Err(TryLockError::WouldBlock) => {
                release();
                Ok(None)
            }
            Err(TryLockError::Error(error)) => {
                release();
                Err(error)
            }
        }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether it takes another block.
    pub(crate) fn has_room(&self) -> bool {
        self.end < FILE_BYTES_MAX
    }

    /// Writes a block behind all others; gives where it lies.
    pub(crate) fn append(&mut self, pages: &[(ColumnId, &[u8])]) -> io::Result<Place> {
        let offset = u32::try_from(self.end).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let place = Place { file: self.handle.number, offset };
        self.end = file::write_block(&self.handle.file, place, pages)?;
        Ok(place)
    }

    /// Leaves what was appended.
    pub(crate) fn keep(&mut self) {
        self.start = self.end;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Should cutting fail, what is behind is garbage that reclaiming finds.
        let longer = self.start > 0 && self.handle.file.metadata().is_ok_and(|metadata| metadata.len() > self.start);
        if longer {
            let _ = self.handle.file.set_len(self.start);
        }
        let _ = self.handle.file.unlock();
        self.handle.taken.store(false, Ordering::Release);
    }
}
