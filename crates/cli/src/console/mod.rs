//! Interaction with the user: messages, Ctrl-C, progress, times, numbers for people.

pub(crate) mod clock;
pub(crate) mod excerpt;
pub(crate) mod failure;
pub(crate) mod interrupt;
pub(crate) mod pager;
pub(crate) mod password;
pub(crate) mod prefetch;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod quantity;
pub(crate) mod running;
pub(crate) mod stderr;
pub(crate) mod stdin;
pub(crate) mod stdout;
pub(crate) mod version;
