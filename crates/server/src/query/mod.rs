//! SQL over HTTP: `/api/sql` runs statements, `/api/append` accepts Arrow batches.
//!
//! A statement runs on a thread that may block, and its rows are sent as they are computed. The output that waits to be
//! sent is bounded, and the query ends if the client disconnects. Not owned: SQL (`sql`), the formats (crates/export).

mod answer_writer;
mod append;
mod context;
mod encoding;
mod error;
mod format;
mod options;
mod request;
mod router;
mod sql;
mod stream;
mod table;

pub use append::read_arrow;
pub use options::QueryOptions;
pub(crate) use router::{ROUTE_ROLES, router};
