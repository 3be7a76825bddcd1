//! The limit on the total space of temporary files.

use atsdb_core::size::format_size;
use atsdb_core::{Error, ErrorKind, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit if the system does not report the free space.
const BYTES_MAX_UNKNOWN: u64 = 64 << 30;

/// The folder of temporary files, and the space that they take.
#[derive(Debug)]
pub struct TemporarySpace {
    folder: PathBuf,
    /// `None` means half of the free space.
    bytes_max: Option<u64>,
    /// Half of the space that would be free without the files, measured when the last file was created.
    half_of_free: AtomicU64,
    used: AtomicU64,
}

impl Default for TemporarySpace {
    /// Limits the files to half of the free space of the folder that `TMPDIR` names.
    fn default() -> Self {
        Self::in_default_folder(None)
    }
}

impl TemporarySpace {
    /// Files in this folder may take `bytes_max` bytes in total. `None` means half of the space that is free there.
    pub fn new(folder: PathBuf, bytes_max: Option<u64>) -> Self {
        Self { folder, bytes_max, half_of_free: AtomicU64::new(BYTES_MAX_UNKNOWN), used: AtomicU64::new(0) }
    }

    /// Like [`new`](Self::new), in the folder [`std::env::temp_dir`].
    pub fn in_default_folder(bytes_max: Option<u64>) -> Self {
        Self::new(std::env::temp_dir(), bytes_max)
    }

    /// Returns whether any file may be created.
    pub fn allows_files(&self) -> bool {
        self.bytes_max != Some(0)
    }

    /// The bytes that files take now.
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Creates a file without a name. The caller counts its bytes by a [`TakenSpace`].
    ///
    /// # Errors
    ///
    /// `Unavailable` if the folder does not permit it, `Resources` if the disk is full.
    pub fn create(&self) -> Result<File> {
        if self.bytes_max.is_none()
            && let Some(free) = free_bytes(&self.folder)
        {
            let without_files = free.saturating_add(self.used_bytes());
            self.half_of_free.store(without_files / 2, Ordering::Relaxed);
        }
        tempfile::tempfile_in(&self.folder).map_err(|error| self.failed("create", error))
    }

    /// The error for a failed action on a file, such as `write`.
    pub fn failed(&self, action: &str, error: io::Error) -> Error {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let folder = self.folder.display();
        let failure = match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => {
                let message = format!("no space is left for temporary files in {folder}: {error}");
                Error::new(ErrorKind::Resources, message)
                    .with_hint("free space there, or let TMPDIR name another folder")
            }
            _ => Error::new(ErrorKind::Unavailable, format!("cannot {action} a temporary file in {folder}: {error}"))
                .with_hint("TMPDIR names the folder of temporary files"),
        };
        failure.with_source(error)
    }

    /// Takes space for bytes that are about to be written: all of it, or nothing.
    fn take(&self, byte_count: u64) -> Result<()> {
        let bytes_max = self.bytes_max.unwrap_or_else(|| self.half_of_free.load(Ordering::Relaxed));
        let with_them = |used: u64| used.checked_add(byte_count).filter(|used| *used <= bytes_max);
        if self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_them).is_ok() {
            return Ok(());
        }
        let limit = match self.bytes_max {
            Some(_) => shown(bytes_max),
            None => format!("{}, half of the free space", shown(bytes_max)),
        };
        let folder = self.folder.display();
        let message = format!("more space is needed than the limit for temporary files in {folder}: {limit}");
        let hint = "--temp (temp_bytes in the library) allows more, TMPDIR names another folder";
        Err(Error::new(ErrorKind::Resources, message).with_hint(hint))
    }

    fn give_back(&self, byte_count: u64) {
        self.used.fetch_sub(byte_count, Ordering::Relaxed);
    }
}

/// Space that is taken until this is dropped.
#[derive(Debug)]
pub struct TakenSpace {
    space: Arc<TemporarySpace>,
    byte_count: u64,
}

impl TakenSpace {
    /// Takes nothing yet.
    pub fn new(space: &Arc<TemporarySpace>) -> Self {
        Self { space: Arc::clone(space), byte_count: 0 }
    }

    /// The space from which this is taken.
    pub fn space(&self) -> &Arc<TemporarySpace> {
        &self.space
    }

    /// The bytes that are taken.
    pub fn byte_count(&self) -> u64 {
        self.byte_count
    }

    /// Takes more bytes: all of them, or none.
    ///
    /// # Errors
    ///
    /// `Resources` if the files of the space would need more than they may.
    pub fn take(&mut self, byte_count: u64) -> Result<()> {
        self.space.take(byte_count)?;
        self.byte_count += byte_count;
        Ok(())
    }

    /// Gives back bytes that were taken but not written.
    pub(crate) fn give_back(&mut self, byte_count: u64) {
        let byte_count = byte_count.min(self.byte_count);
        self.space.give_back(byte_count);
        self.byte_count -= byte_count;
    }
}

impl Drop for TakenSpace {
    fn drop(&mut self) {
        self.space.give_back(self.byte_count);
    }
}

/// The limit for messages: in whole MiB or GiB, if it is large.
fn shown(byte_count: u64) -> String {
    match byte_count {
        0..0x10_0000 => format!("{byte_count} bytes"),
        0x10_0000..0x4_0000_0000 => format_size(byte_count >> 20 << 20),
        _ => format_size(byte_count >> 30 << 30),
    }
}

/// The space that is free in a folder for this user, if the system reports it.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let statistics = rustix::fs::statvfs(folder).ok()?;
    statistics.f_bavail.checked_mul(statistics.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_fails_takes_nothing_from_others() {
        let space = Arc::new(TemporarySpace::new(PathBuf::from("/somewhere"), Some(1_000)));
        let (mut small, mut large) = (TakenSpace::new(&space), TakenSpace::new(&space));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for _ in 0..100_000 {
                    assert!(large.take(1_001).is_err());
                }
            });
            for _ in 0..100_000 {
                small.take(1_000).unwrap();
                small.give_back(1_000);
            }
        });
        assert_eq!((space.used_bytes(), small.byte_count(), large.byte_count()), (0, 0, 0));
    }
}
