//! What stops a direct read: it is executed on the caller's thread, which nobody else can end.

use atsdb_core::Result;

/// Called before each chunk is read. Fails if the read is to stop.
pub(crate) type Watch<'a> = &'a mut dyn FnMut() -> Result<()>;
