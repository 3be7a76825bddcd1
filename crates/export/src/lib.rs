//! Results in the formats that other programs read: Arrow batches become CSV, JSON, Arrow IPC or Parquet, written to
//! anything that accepts bytes.
//!
//! Each format has a [`ResultWriter`], which is fed with the batches of one result. [`value`] owns how a single value
//! is formatted as text. Not owned: the choice of the format, and the destination of the bytes.

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
