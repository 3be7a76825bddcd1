//! Where an archive's objects lie: what a directory and a bucket have in common.

use atsdb_core::Result;
use std::fmt;

/// How the name of an object ends that is not written to its end.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// Named bytes. Names are relative, of letters, digits, `-`, `_`, `.` and `/`.
pub(crate) trait Objects: Send + Sync + fmt::Debug {
    /// Where, without secrets.
    fn place(&self) -> &str;

    /// Writes an object, in the place of one that is there: whole or not at all, and on disk when it returns.
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()>;

    /// Reads an object. One that is not there is [`NotFound`](atsdb_core::ErrorKind::NotFound), one that the medium gives
    /// no more is [`Corrupt`](atsdb_core::ErrorKind::Corrupt).
    fn get(&self, name: &str) -> Result<Vec<u8>>;

    /// The objects below a folder, with their lengths.
    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>>;

    /// Whether nothing is there at all.
    fn is_empty(&self) -> Result<bool>;

    /// Deletes an object; one that is not there is passed over.
    fn delete(&self, name: &str) -> Result<()>;

    /// Keeps other writers away until it is dropped. If one is at work that is [`Busy`](atsdb_core::ErrorKind::Busy).
    fn lock(&self) -> Result<Box<dyn Lock>>;

    /// How many objects are best moved at once.
    fn at_once(&self) -> usize;
}

/// Keeps other writers away.
pub(crate) trait Lock: Send + Sync {
    /// Refuses to go on without it. What is asked of others may be some seconds old.
    fn require(&self) -> Result<()>;

    /// The same, asked now.
    fn confirm(&self) -> Result<()>;

    /// Whether the holder before did not give it back: it may still be on its way to delete something.
    fn is_inherited(&self) -> bool;
}
