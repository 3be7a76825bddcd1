//! All page files of a store: open files, write locks, reading, and syncing.
//!
//! A file is written by the holder of its lock (`flock`, which the system releases when a process ends). The lock is
//! held from the first byte until the catalogue refers to the new blocks, or until it is certain that it never will. So
//! the content of an unlocked file is either referenced or garbage. Locks are only tried, never waited for. Files are
//! deleted by name, so the holder of an open file checks whether it still has its name.

use crate::error::{Attempt, Failure};
use crate::rewrite::rewrite_and_sync;
use crate::split::fault;
use crate::split::file::{self, PageFileError};
use crate::split::folder::Folder;
use crate::split::folder::unavailable;
use crate::split::layout::SplitLayout;
use crate::split::page_file_table::FileUsage;
use crate::split::page_location::PageLocation;
use crate::split::reclaim_state::ReclaimState;
use atsdb_core::refusal;
use atsdb_core::{ChunkId, ColumnId, Durability, Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The maximum number of files that stay open for reading, and for writing.
const OPEN_FILES_KEPT: usize = 32;
/// A file of this size, in bytes, gets no further blocks. It is far below the 32 bits of a location's offset.
const FILE_BYTES_MAX: u64 = 256 << 20;
const EXTENSION: &str = ".pages";

/// The page files of a store.
#[derive(Debug)]
pub(crate) struct PageFiles {
    folder: PathBuf,
    catalogue: PathBuf,
    pub(crate) uid: [u8; 16],
    pub(crate) layout: SplitLayout,
    pub(crate) durability: Durability,
    /// The shard that this store writes to while it is unlocked.
    pub(crate) shard: AtomicUsize,
    pub(crate) reclaim_state: Mutex<ReclaimState>,
    reading: Mutex<OpenFiles<File>>,
    writing: Mutex<OpenFiles<FileHandle>>,
    /// Files with a failed sync: what was written before may be lost, even if a later sync succeeds. Nothing is written
    /// to them until they have been rewritten.
    failed: Mutex<BTreeSet<i64>>,
}

/// A file that is open for writing.
#[derive(Debug)]
pub(crate) struct FileHandle {
    pub(crate) number: i64,
    file: File,
    /// The lock within this process, where the system's lock does not distinguish threads.
    locked_here: AtomicBool,
    /// Whether the file's name is on disk.
    named: AtomicBool,
}

impl FileHandle {
    /// Returns the file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether the file still has its name.
    pub(crate) fn is_linked(&self) -> bool {
        is_linked(&self.file)
    }
}

/// An open file.
trait OpenFile {
    fn file(&self) -> &File;
}

impl OpenFile for File {
    fn file(&self) -> &File {
        self
    }
}

impl OpenFile for FileHandle {
    fn file(&self) -> &File {
        &self.file
    }
}

/// The most recently used files.
#[derive(Debug)]
struct OpenFiles<T>(VecDeque<(i64, Arc<T>)>);

impl<T: OpenFile> OpenFiles<T> {
    /// Returns the file of this number. A file that was removed in the meantime is reopened: after a power cut its
    /// number may be given to another file.
    fn get(&mut self, number: i64, open: impl FnOnce() -> io::Result<T>) -> io::Result<Arc<T>> {
        let found = self.0.iter().position(|(other, _)| *other == number).and_then(|at| self.0.remove(at));
        let found = match found.filter(|(_, found)| is_linked(found.file())) {
            Some((_, found)) => found,
            None => Arc::new(open()?),
        };
        self.0.push_front((number, Arc::clone(&found)));
        self.0.truncate(OPEN_FILES_KEPT);
        Ok(found)
    }
}

/// Returns whether the file still has a name.
fn is_linked(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
}

impl PageFiles {
    pub(crate) fn new(folder: &Folder, uid: [u8; 16], layout: SplitLayout, durability: Durability) -> Self {
        Self {
            folder: folder.pages(),
            catalogue: folder.catalogue(),
            uid,
            layout,
            durability,
            // Processes that start together begin with different shards.
            shard: AtomicUsize::new(std::process::id() as usize),
            reclaim_state: Mutex::default(),
            reading: Mutex::new(OpenFiles(VecDeque::new())),
            writing: Mutex::new(OpenFiles(VecDeque::new())),
            failed: Mutex::default(),
        }
    }

    /// Returns the folder of the page files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the catalogue's file.
    pub(crate) fn catalogue(&self) -> &Path {
        &self.catalogue
    }

    pub(crate) fn path(&self, number: i64) -> PathBuf {
        self.folder.join(format!("{number}{EXTENSION}"))
    }

    /// Returns the numbers of the existing files.
    pub(crate) fn list(&self) -> Result<BTreeSet<i64>> {
        let unlisted = |error| unavailable("list", &self.folder, error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            other => other.map_err(unlisted)?,
        };
        let mut numbers = BTreeSet::new();
        for entry in entries {
            let name = entry.map_err(unlisted)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.parse::<i64>().ok());
            // Only names as this program writes them count: no sign, no leading zeros.
            numbers
                .extend(number.filter(|number| *number > 0 && name.to_str() == Some(&format!("{number}{EXTENSION}"))));
        }
        Ok(numbers)
    }

    /// Returns the size of a file in bytes; `None` if it does not exist.
    pub(crate) fn length(&self, number: i64) -> Result<Option<u64>> {
        match fs::metadata(self.path(number)) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unavailable("read", &self.path(number), error)),
        }
    }

    /// Returns a file for reading after checking its header.
    pub(crate) fn reader(&self, number: i64) -> Result<Arc<File>, PageFileError> {
        let path = self.path(number);
        let file = self.reading.lock().get(number, || File::open(&path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => PageFileError::Damaged("is missing"),
            _ => PageFileError::Io(error),
        })?;
        file::check_head(&file, self.uid, number)?;
        Ok(file)
    }

    /// Reads the pages of some columns of a chunk, in the given order.
    pub(crate) fn read(&self, chunk: i64, location: PageLocation, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        let failed = |error: PageFileError| self.failure(location.file, &format!("chunk {chunk}"), error);
        let file = self.reader(location.file).map_err(failed)?;
        let block = file::read_block(&file, location).map_err(failed)?;
        let page = |column: &ColumnId| {
            let found = block.read(&file, *column).map_err(|error| failed(error.into()))?;
            found.ok_or_else(|| refusal::page_missing(ChunkId(chunk), *column))
        };
        columns.iter().map(page).collect()
    }

    /// The error for a file that could not be read; `what` names the object that was searched for.
    pub(crate) fn failure(&self, number: i64, what: &str, error: PageFileError) -> Error {
        let path = self.path(number);
        match error {
            PageFileError::Io(error) => unavailable("read", &path, error),
            PageFileError::Damaged(problem) => {
                Error::corrupt(format!("{what}: its page file {} {problem}", path.display())).with_hint(refusal::VERIFY)
            }
            PageFileError::Newer(version) => {
                let message = format!("the page file {} has format {version}, which is newer", path.display());
                Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb")
            }
        }
    }

    /// Returns a file for writing. With `create` it is created if it does not exist.
    pub(crate) fn writer(&self, number: i64, create: bool) -> io::Result<Arc<FileHandle>> {
        let path = self.path(number);
        self.writing.lock().get(number, || {
            let mode = fs::metadata(&self.catalogue)?.mode() & 0o666;
            let file = OpenOptions::new().read(true).write(true).create(create).mode(mode).open(path)?;
            Ok(FileHandle { number, file, locked_here: AtomicBool::new(false), named: AtomicBool::new(false) })
        })
    }

    /// Makes the content of the file and its name durable.
    pub(crate) fn sync(&self, handle: &FileHandle) -> Result<()> {
        let path = self.path(handle.number);
        if self.failed.lock().contains(&handle.number) {
            let message =
                format!("{} could not be made durable before: what was written to it may be lost", path.display());
            return Err(
                Error::new(ErrorKind::Unavailable, message).with_hint("check the disk, then send the batch again")
            );
        }
        let synced = handle.file.sync_data().and_then(|()| {
            if !handle.named.load(Ordering::Acquire) {
                File::open(&self.folder)?.sync_all()?;
                // It is set only now, because a thread that finds it set acknowledges without waiting.
                handle.named.store(true, Ordering::Release);
            }
            Ok(())
        });
        fault::synced(handle.number, &handle.file);
        synced.map_err(|error| {
            self.failed.lock().insert(handle.number);
            unavailable("make durable", &path, error)
        })
    }

    /// Makes files durable that others may have written.
    pub(crate) fn sync_all(&self, numbers: &[i64]) -> Result<()> {
        for number in numbers {
            let missing = |error: io::Error| self.failure(*number, "a stage", error.into());
            self.sync(&*self.writer(*number, false).map_err(missing)?)?;
        }
        Ok(())
    }

    /// Rewrites a locked file if a sync of it failed. Returns whether it may be written to.
    fn repair(&self, handle: &FileHandle) -> bool {
        let is_failed = || self.failed.lock().contains(&handle.number);
        if is_failed() && rewrite_and_sync(&handle.file, u64::MAX).is_ok() {
            self.failed.lock().remove(&handle.number);
        }
        !is_failed()
    }

    /// Repairs files before closing, since the next process that opens the store does not know about failed syncs.
    pub(crate) fn repair_before_close(&self) {
        let failed = self.failed.lock().clone();
        for handle in failed.into_iter().filter_map(|number| self.writer(number, false).ok()) {
            // A failure cannot be reported here.
            if let Ok(Some(locked)) = LockedFile::try_lock(&handle) {
                self.repair(locked.handle());
            }
        }
    }

    /// Locks a file for writing, if it is not locked. `file_usage` reads from the catalogue how much of it chunks use,
    /// if it still belongs to the store: it can only be removed while it is not locked.
    pub(crate) fn claim(
        &self,
        handle: &Arc<FileHandle>,
        file_usage: impl FnOnce() -> Attempt<Option<FileUsage>>,
    ) -> Attempt<Claim> {
        let Some(mut locked) =
            LockedFile::try_lock(handle).map_err(|error| self.write_failure(handle.number, error))?
        else {
            return Ok(Claim::Busy);
        };
        // Another process may have removed the file before the lock was free. Data written to it now would be lost.
        let file_usage = if handle.is_linked() { file_usage()? } else { None };
        let Some(file_usage) = file_usage else {
            self.forget(handle.number);
            return Ok(Claim::Useless);
        };
        if !self.repair(handle) {
            return Ok(Claim::Useless);
        }
        let prepared = || -> std::result::Result<u64, PageFileError> {
            let length = handle.file.metadata()?.len();
            // Nothing may be appended to a truncated file, since it would be in the range that was lost.
            if length < file_usage.chunks_end {
                return Err(PageFileError::Damaged("ends too early"));
            }
            if length < file::FILE_HEAD_BYTES {
                file::write_head(&handle.file, self.uid, handle.number)?;
                return Ok(file::FILE_HEAD_BYTES);
            }
            file::check_head(&handle.file, self.uid, handle.number).map(|()| length)
        };
        match prepared() {
            Ok(length) if length.max(file_usage.free) < FILE_BYTES_MAX => {
                (locked.start, locked.end) = (length, length.max(file_usage.free));
                Ok(Claim::Locked(locked))
            }
            // A damaged file is left to `verify`, one of a newer version to newer versions.
            Ok(_) | Err(PageFileError::Damaged(_) | PageFileError::Newer(_)) => Ok(Claim::Useless),
            Err(error) => Err(self.failure(handle.number, "writing", error).into()),
        }
    }

    /// The error for a file that could not be written.
    pub(crate) fn write_failure(&self, number: i64, error: io::Error) -> Failure {
        Failure::Refused(unavailable("write", &self.path(number), error))
    }

    /// Removes a file that no longer belongs to the store. Returns its size in bytes.
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
        self.reading.lock().0.retain(|(other, _)| *other != number);
        self.writing.lock().0.retain(|(other, _)| *other != number);
    }

    /// Closes files that were removed by other processes: they take space as long as they are open.
    pub(crate) fn close_removed(&self) {
        self.reading.lock().0.retain(|(_, file)| is_linked(file));
        self.writing.lock().0.retain(|(_, handle)| is_linked(&handle.file));
    }
}

/// The result of locking a file.
#[derive(Debug)]
pub(crate) enum Claim {
    Locked(LockedFile),
    /// Another writer has locked it.
    Busy,
    /// The file is full, damaged, no longer the store's, or had a failed sync.
    Useless,
}

/// A file that is locked for writing. When this is dropped, appended data is truncated unless it was
/// [kept](Self::keep).
#[derive(Debug)]
pub(crate) struct LockedFile {
    handle: Arc<FileHandle>,
    start: u64,
    end: u64,
}

impl LockedFile {
    /// Locks a file, if it is free.
    pub(crate) fn try_lock(handle: &Arc<FileHandle>) -> io::Result<Option<Self>> {
        if handle.locked_here.swap(true, Ordering::Acquire) {
            return Ok(None);
        }
        let release = || handle.locked_here.store(false, Ordering::Release);
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

    pub(crate) fn handle(&self) -> &FileHandle {
        &self.handle
    }

    /// Returns whether the file has room for another block.
    pub(crate) fn has_room(&self) -> bool {
        self.end < FILE_BYTES_MAX
    }

    /// Appends a block and returns its location.
    pub(crate) fn append(&mut self, pages: &[(ColumnId, &[u8])]) -> io::Result<PageLocation> {
        let offset = u32::try_from(self.end).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let location = PageLocation { file: self.handle.number, offset };
        self.end = file::write_block(&self.handle.file, location, pages)?;
        Ok(location)
    }

    /// Keeps the appended data.
    pub(crate) fn keep(&mut self) {
        self.start = self.end;
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // If truncating fails, the rest is garbage that reclaiming finds.
        let longer = self.start > 0 && self.handle.file.metadata().is_ok_and(|metadata| metadata.len() > self.start);
        if longer {
            let _ = self.handle.file.set_len(self.start);
        }
        let _ = self.handle.file.unlock();
        self.handle.locked_here.store(false, Ordering::Release);
    }
}
