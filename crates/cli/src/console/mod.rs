//! The program and its user: messages, Ctrl-C, progress, times, numbers as people write them.

pub(crate) mod clock;
pub(crate) mod failure;
pub(crate) mod interrupt;
pub(crate) mod pager;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod quantity;
pub(crate) mod stdout;
pub(crate) mod version;
