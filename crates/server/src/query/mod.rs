//! SQL over HTTP: `/api/sql` answers statements, `/api/append` takes Arrow batches.
//!
//! A statement runs on a thread that may block, and its rows are sent as they are computed: what waits to be sent is
//! bounded, and a client that goes away ends the query. Not owned: SQL (`sql`), the formats (crates/export).

mod append;
mod context;
mod error;
mod format;
mod options;
mod request;
mod router;
mod sessions;
mod sql;
mod stream;
mod table;

pub use options::QueryOptions;
pub(crate) use router::{NEEDS, router};
