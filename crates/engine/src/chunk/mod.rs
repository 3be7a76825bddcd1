//! The rows of one chunk: converting, sorting and encoding them, and filling in columns that are newer than the chunk.
//! Nothing here depends on a store.

pub(crate) mod change_log;
pub(crate) mod coerce;
pub(crate) mod encode;
pub(crate) mod fitting;
pub(crate) mod index_columns;
pub(crate) mod long_values;
pub(crate) mod lossless;
pub(crate) mod missing;
pub(crate) mod plain;
pub(crate) mod series_key;
pub(crate) mod slice_buffer;
pub(crate) mod sort;
pub(crate) mod text_length;
pub(crate) mod time_runs;
pub mod times;
