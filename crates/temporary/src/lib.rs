//! Temporary files, and the space that they may take together.
//!
//! A file has no name in its folder. So the system frees its space when the process ends, however it ends.
//!
//! Not owned: what the files are for. Queries, imports and the readers of files at URLs write their own.

mod file;
mod positions;
mod reader;
mod space;

pub use file::{TemporaryFile, cannot_copy};
pub use reader::PositionedFile;
pub use space::{TakenSpace, TemporarySpace};
