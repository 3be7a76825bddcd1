//! Grouping rows by integers: indices of mapped columns, integers, times cut into buckets.
//!
//! Rows of one group often come one after the other, since sealed chunks are sorted by series and time. So a batch is
//! cut into runs of rows with equal keys first. A group is looked up once for each run, and what is computed for it
//! goes over slices of the columns. Where runs are short, each row is looked up by itself.
//!
//! A key takes no more bits than the values between its bounds need, which chunks' descriptors state. Most keys are so
//! small that a group is looked up by position.

mod bits;
mod collection;
mod key;
mod keyed;
mod measure;
mod number;
mod packed_key;
mod runs;
mod summary;
mod table;

pub use collection::Groups;
pub use key::{BucketOf, GroupKey, KeyBounds};
pub use measure::{Measure, MeasureKind, Measured};
