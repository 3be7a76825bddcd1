//! Measuring the user's own file: which contestant suits it?
//!
//! Owned here: the pass over the file that finds its times, series and values ([`AdviseInput::look`]), and the
//! questions that its columns suggest. Not owned: measuring (the workload `advise`), interpreting the figures
//! (`report`), and reading files (the importer).

mod input;
mod look;
pub(crate) mod questions;

pub use input::AdviseInput;
pub(crate) use look::read;
