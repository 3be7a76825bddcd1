//! Upkeep: work on existing chunks. They are sealed, re-sliced, indexed, dropped when they expire, and preloaded.

pub(crate) mod build_index;
mod key_choice;
pub(crate) mod maintenance;
mod merge;
pub(crate) mod preloading;
pub(crate) mod resident_save;
pub(crate) mod reslice;
pub(crate) mod retain;
pub(crate) mod seal;
mod seal_group;
mod sealing_failures;
