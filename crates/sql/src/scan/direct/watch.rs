//! What stops a direct read: it is executed on the caller's thread, or waited for there,
//! and nobody else can end it.

use atsdb_core::Result;

/// Called before each chunk is read. Fails if the read is to stop.
pub(crate) type Watch<'a> = &'a (dyn Fn() -> Result<()> + Sync);
