//! The check that stops a direct read. The read is executed on the caller's thread, or that thread waits for it, and
//! nothing else can end it.

use atsdb_core::Result;

/// A function that is called before each chunk is read, and fails if the read is to stop.
pub(crate) type Watch<'a> = &'a (dyn Fn() -> Result<()> + Sync);
