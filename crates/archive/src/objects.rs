//! The storage of an archive's objects: the interface of directories and buckets.

use atsdb_core::Result;
use std::fmt;

/// The suffix of the names of unfinished objects.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// A storage of named byte strings. Names are relative and consist of letters, digits, `-`, `_`, `.` and `/`.
pub(crate) trait Objects: Send + Sync + fmt::Debug {
    /// Its location, without secrets.
    fn location(&self) -> &str;

    /// Writes an object, or replaces it: as a whole or not at all, and durable when this returns.
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()>;

    /// Reads an object.
    ///
    /// Errors: [`NotFound`](atsdb_core::ErrorKind::NotFound) if it does not exist;
    /// [`Corrupt`](atsdb_core::ErrorKind::Corrupt) if the medium can no longer read it.
    fn get(&self, name: &str) -> Result<Vec<u8>>;

    /// The names of all objects in a folder, with their lengths in bytes.
    fn list(&self, folder: &str) -> Result<Vec<(String, u64)>>;

    /// Returns whether there is no object at all.
    fn is_empty(&self) -> Result<bool>;

    /// Deletes an object, if it exists.
    fn delete(&self, name: &str) -> Result<()>;

    /// Takes the lock that excludes other writers.
    ///
    /// Errors: [`Busy`](atsdb_core::ErrorKind::Busy) if another writer has it.
    fn lock(&self) -> Result<Box<dyn Lock>>;

    /// Returns the number of objects to transfer at the same time.
    fn at_once(&self) -> usize;
}

/// Excludes other writers until it is dropped.
pub(crate) trait Lock: Send + Sync {
    /// Fails if the lock is lost. The answer may be some seconds old.
    fn require(&self) -> Result<()>;

    /// Fails if the lock is lost now.
    fn confirm(&self) -> Result<()>;

    /// Returns whether the previous holder did not release it. That holder may still be deleting an object.
    fn is_inherited(&self) -> bool;
}
