//! A file of one's own, as something to measure: which contestant suits it?
//!
//! Owned here: the pass over the file that finds its times, series and values ([`AdviseInput::look`]), and the
//! questions that its columns suggest. Not owned: measuring, which the workload `advise` does, what the figures say
//! (`report`), and reading files, which the importer does.

mod input;
mod look;
pub(crate) mod questions;

pub use input::AdviseInput;
pub(crate) use look::read;
