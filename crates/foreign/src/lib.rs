//! Tables of other databases, on their way into a store: read once, in batches of a bounded size.
//!
//! Owned here: what a reader of such a table returns ([`ForeignTable`]), how its rows become Arrow arrays
//! ([`RowBatches`], [`BatchBuilder`]), and the errors that all readers have in common ([`errors`]). Not owned: the
//! connections and the types of each kind of server, which the crates of their stores have.

mod batch;
mod column;
pub mod errors;
mod rows;
mod table;
mod value;

pub use batch::BatchBuilder;
pub use rows::{RowBatches, RowReader};
pub use table::{Arrays, ColumnChooser, ForeignColumn, ForeignTable, choose, find_table};
pub use value::{Elements, Value, time_unit};
