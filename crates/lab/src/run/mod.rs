//! Running workloads on contestants: each pair in a separate process, as often as requested, in rotating order.

mod child;
mod failed;
mod lab;
mod names;
mod options;
mod process;
mod scratch;

pub use child::run_child;
pub use lab::run;
pub use names::{Listing, list};
pub use options::{Progress, RunOptions};
pub use scratch::remove_abandoned;
