//! One file: the pages of a chunk's columns, each at its place, holes where none was kept yet; or the page of one index.

#![expect(clippy::disallowed_methods, reason = "use is compared with the times of files, which the system sets")]

use atsdb_core::ChunkUid;
use std::fmt;
use std::fs::{File, FileTimes, TryLockError};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};
use twox_hash::XxHash3_64;

/// A file that is read is marked as used when its mark is older than this: so that reading hardly ever writes.
const MARK_AGE_MAX: Duration = Duration::from_secs(300);
/// A hole is known by so many zeros at its beginning: no page begins like that.
const HOLE_BYTES: usize = 16;

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageFile {
    chunk: ChunkUid,
    meaning: Option<u64>,
}

impl PageFile {
    /// That of the columns of a chunk. They never change, and no other chunk has its name.
    pub fn of_columns(chunk: ChunkUid) -> Self {
        Self { chunk, meaning: None }
    }

    /// That of an index of a chunk. Indexes are added later, under numbers that a store restored from a backup gives
    /// again: `meaning` says over what, and whatever else decides the page's values.
    pub fn of_index(chunk: ChunkUid, meaning: &str) -> Self {
        Self { chunk, meaning: Some(XxHash3_64::oneshot(meaning.as_bytes())) }
    }

    /// Whether a file's name is one of these.
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

/// Where a page lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes it has.
    pub byte_count: u32,
}

/// What lies at these places; `None` for what does not.
pub(crate) fn read(path: &Path, places: &[Place]) -> Result<Vec<Option<Vec<u8>>>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![None; places.len()]),
        Err(error) => return Err(error),
    };
    let pages = read_from(&mut file, places)?;
    let (now, used) = (SystemTime::now(), file.metadata()?.modified()?);
    if now.duration_since(used).unwrap_or_default() > MARK_AGE_MAX {
        // Where that is not possible it goes earlier than it should.
        let _ = file.set_times(FileTimes::new().set_modified(now));
    }
    Ok(pages)
}

/// The same while nobody writes there: what is not whole now is damaged. `None` while somebody does, or where that cannot be
/// known.
pub(crate) fn read_at_rest(path: &Path, place: Place) -> Option<Option<Vec<u8>>> {
    let mut file = File::open(path).ok()?;
    file.try_lock().ok()?;
    read_from(&mut file, &[place]).ok()?.pop()
}

fn read_from(file: &mut File, places: &[Place]) -> Result<Vec<Option<Vec<u8>>>> {
    let length = file.metadata()?.len();
    let mut pages = Vec::with_capacity(places.len());
    let mut position = 0;
    for place in places {
        let end = place.offset.saturating_add(u64::from(place.byte_count));
        if end > length {
            pages.push(None);
            continue;
        }
        if position != place.offset {
            file.seek(SeekFrom::Start(place.offset))?;
        }
        let mut bytes = Vec::with_capacity(place.byte_count as usize);
        let read = file.take(u64::from(place.byte_count)).read_to_end(&mut bytes)?;
        position = place.offset + read as u64;
        let is_there = read == place.byte_count as usize && bytes.iter().take(HOLE_BYTES).any(|byte| *byte != 0);
        pages.push(is_there.then_some(bytes));
    }
    Ok(pages)
}

/// Writes pages at their places; gives by how many bytes the file may have grown. Writers share the lock, as all write the
/// same; it tells a reader who finds a page that is not whole that it may be on its way. While that one looks nothing is
/// written: nobody waits for another process here.
pub(crate) fn write(path: &Path, pages: &[(Place, Vec<u8>)]) -> Result<u64> {
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    // Where a file system has no locks, readers cannot know, and tell no damage.
    if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
        return Ok(0);
    }
    let mut grown = 0;
    for (place, bytes) in pages {
        file.seek(SeekFrom::Start(place.offset))?;
        file.write_all(bytes)?;
        // Blocks that are not filled count whole.
        grown += (bytes.len() as u64).next_multiple_of(4096) + 4096;
    }
    Ok(grown)
}
