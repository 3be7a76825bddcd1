//! Results in the formats that other programs read: Arrow batches become CSV, JSON, Arrow IPC or Parquet, written to
//! anything that takes bytes.
//!
//! Each format has a [`ResultWriter`], which is fed with the batches of one result. How a single value reads as text is
//! owned by [`value`]. Not owned: which format is asked for, and where the bytes go.

mod arrow_ipc;
mod csv;
mod json;
mod parquet;
pub mod value;
mod writer;

pub use arrow_ipc::{ArrowIpcWriter, IpcShape};
pub use csv::CsvWriter;
pub use json::{JsonShape, JsonWriter};
pub use parquet::ParquetWriter;
pub use writer::{Output, ResultWriter, write_error};
