//! Grouping rows by integers: indices of mapped columns, integers, times cut into buckets. Rows of one group are often
//! adjacent, since sealed chunks are sorted by series and time. So a batch is cut into runs of rows with equal keys
//! first. A group is looked up once for each run, and its measures are computed over slices of the columns. If each row
//! is a separate run, this costs one lookup per row.

mod bits;
mod collection;
mod key;
mod measure;
mod number;
mod runs;
mod summary;
mod table;

pub use collection::Groups;
pub use key::{BucketOf, GroupKey};
pub use measure::{Measure, MeasureKind, Measured};
