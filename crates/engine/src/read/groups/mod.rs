//! Grouping rows by integers: indices of mapped columns, integers, times cut into buckets.
//!
//! Rows of one group are often adjacent, since sealed chunks are sorted by series and time. So a batch is first cut
//! into runs of rows with equal keys. The group is looked up once for each run, and measures are computed over slices
//! of the columns. If runs are short, the group of each row is looked up separately.
//!
//! A key takes only the bits that values between its bounds need; the chunks' descriptors state the bounds. Most keys
//! are so small that their group is looked up by position in an array.
//!
//! The others are looked up by hash. A thread sets its groups aside when they are very many, sorted into partitions by
//! hash, and starts anew. At the end, the groups of each partition are merged, on several threads.

mod bits;
mod collection;
mod hash_index;
mod key;
mod keyed;
mod measure;
mod moments;
mod number;
mod packed_key;
mod partition;
mod runs;
mod set_aside;
mod summary;
mod table;
mod values;

pub use collection::Groups;
pub use key::{BucketOf, GroupKey, KeyBounds};
pub use measure::{Measure, MeasureKind, Measured};
pub use moments::Moments;
pub use set_aside::GroupPartition;
