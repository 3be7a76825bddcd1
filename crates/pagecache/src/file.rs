//! One cache file: the pages of a chunk's columns, each at its offset, with holes for pages that are not cached; or the
//! page of one index.

#![expect(clippy::disallowed_methods, reason = "use is compared with the times of files, which the system sets")]

use atsdb_core::ChunkUid;
use std::fmt;
use std::fs::{File, FileTimes, TryLockError};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};
use twox_hash::XxHash3_64;

/// A file that is read is marked as used only if its mark is older than this, so that reading rarely writes.
const MARK_AGE_MAX: Duration = Duration::from_secs(300);
/// A hole is recognised by this number of zeros at its beginning. No page begins like that.
const HOLE_BYTES: usize = 16;

/// Identifies a cache file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageFile {
    chunk: ChunkUid,
    meaning: Option<u64>,
}

impl PageFile {
    /// The file of the columns of a chunk. They never change, and no other chunk has its name.
    pub fn of_columns(chunk: ChunkUid) -> Self {
        Self { chunk, meaning: None }
    }

    /// The file of an index of a chunk. Indexes are added later, under numbers that a store restored from a backup
    /// assigns again. So `meaning` contains the indexed columns and everything else that determines the page's values.
    pub fn of_index(chunk: ChunkUid, meaning: &str) -> Self {
        Self { chunk, meaning: Some(XxHash3_64::oneshot(meaning.as_bytes())) }
    }

    /// Returns whether a name is that of a cache file.
    pub(crate) fn is_name(name: &str) -> bool {
        let (chunk, meaning) = name.split_once('-').map_or((name, None), |(chunk, meaning)| (chunk, Some(meaning)));
        let digits = |text: &str, count| text.len() == count && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        digits(chunk, 32) && meaning.is_none_or(|meaning| digits(meaning, 16))
    }
}

impl fmt::Display for PageFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.chunk)?;
        self.meaning.map_or(Ok(()), |meaning| write!(f, "-{meaning:016x}"))
    }
}

/// The byte range of a page in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub byte_count: u32,
}

/// A file whose lock ends when this is dropped. Closing the file is not enough: a process that was just started from
/// this one has it open until it runs its own program.
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Reads some ranges; `None` for those that are not cached.
pub(crate) fn read(path: &Path, ranges: &[PageRange]) -> Result<Vec<Option<Vec<u8>>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![None; ranges.len()]),
        Err(error) => return Err(error),
    };
    let pages = read_from(&file, ranges)?;
    let (now, used) = (SystemTime::now(), file.metadata()?.modified()?);
    if now.duration_since(used).unwrap_or_default() > MARK_AGE_MAX {
        // If this fails, the file is evicted too early.
        let _ = file.set_times(FileTimes::new().set_modified(now));
    }
    Ok(pages)
}

/// Reads a range while no process writes to the file: a page that is not intact now is damaged. Returns `None` while
/// another process writes, or if that cannot be determined.
pub(crate) fn read_locked(path: &Path, range: PageRange) -> Option<Option<Vec<u8>>> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    let locked = LockedFile(file);
    read_from(&locked.0, &[range]).ok()?.pop()
}

fn read_from(mut file: &File, ranges: &[PageRange]) -> Result<Vec<Option<Vec<u8>>>> {
    let length = file.metadata()?.len();
    let mut pages = Vec::with_capacity(ranges.len());
    let mut position = 0;
    for range in ranges {
        let end = range.offset.saturating_add(u64::from(range.byte_count));
        if end > length {
            pages.push(None);
            continue;
        }
        if position != range.offset {
            file.seek(SeekFrom::Start(range.offset))?;
        }
        let mut bytes = Vec::with_capacity(range.byte_count as usize);
        let read = file.take(u64::from(range.byte_count)).read_to_end(&mut bytes)?;
        position = range.offset + read as u64;
        let is_there = read == range.byte_count as usize && bytes.iter().take(HOLE_BYTES).any(|byte| *byte != 0);
        pages.push(is_there.then_some(bytes));
    }
    Ok(pages)
}

/// Writes pages and returns by how many bytes the file may have grown. Writers share the lock, since all write the same
/// bytes. The lock shows a reader that finds an incomplete page that the page may be in progress. While a reader holds
/// it, nothing is written, so that no process waits for another.
pub(crate) fn write(path: &Path, pages: &[(PageRange, Vec<u8>)]) -> Result<u64> {
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // On a file system without locks, readers cannot distinguish damage from a write in progress, and do not report
    // damage.
    if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
        return Ok(0);
    }
    let locked = LockedFile(file);
    let mut file = &locked.0;
    let mut grown = 0;
    for (range, bytes) in pages {
        file.seek(SeekFrom::Start(range.offset))?;
        file.write_all(bytes)?;
        // Partially filled blocks count as whole ones.
        grown += (bytes.len() as u64).next_multiple_of(4096) + 4096;
    }
    Ok(grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_a_process_that_was_just_started_has_the_file_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page");
        let range = PageRange { offset: 0, byte_count: 100 };
        write(&path, &[(range, vec![1; 100])]).unwrap();
        let file = File::open(&path).unwrap();
        file.lock_shared().unwrap();
        assert_eq!(read_locked(&path, range), None);
        // Such a process has this descriptor of the same open file.
        let inherited = file.try_clone().unwrap();
        drop(LockedFile(file));
        assert_eq!(read_locked(&path, range), Some(Some(vec![1; 100])));
        drop(inherited);
    }
}
