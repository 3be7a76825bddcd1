//! Rows of one chunk, before and after they are bytes: converted, sorted, encoded, and filled up where a chunk is older than a
//! column. Nothing here knows a store.

pub(crate) mod change_log;
pub(crate) mod coerce;
pub(crate) mod encode;
pub(crate) mod index_columns;
pub(crate) mod missing;
pub(crate) mod series_key;
pub(crate) mod slice_buffer;
pub(crate) mod sort;
pub mod times;
