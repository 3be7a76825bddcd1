//! Temporary files, a limit on their total space, and files that get their name when they are complete.
//!
//! A temporary file has no name in its folder. So the system frees its space when the process ends, however it ends.
//!
//! Not owned: what the files are for. Queries, imports, exports and the readers of files at URLs each write their own
//! files.

mod file;
mod positions;
mod reader;
mod space;
mod unfinished;

pub use file::{TemporaryFile, cannot_copy};
pub use reader::PositionedFile;
pub use space::{TakenSpace, TemporarySpace};
pub use unfinished::UnfinishedFile;
