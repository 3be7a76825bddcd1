//! The contract of a workload: the trait that it implements, the bench with which it measures, and its events.

pub(crate) mod bench;
mod contract;
mod event;
mod published;

pub use bench::{Bench, milliseconds, per_second};
pub use contract::{Fact, RunBound, Workload};
pub use event::{CHILD_ARGUMENT, CHILD_RUN, CHILD_START, CHILD_VARIABLE, Event, Job};
pub use published::PublishedRatio;
