//! Remote write 1.0 and 2.0 and remote read: protocol buffers to columns and back.
//!
//! The messages are read by hand, straight into columns: nothing is copied but what a store keeps. A length is believed
//! only if the bytes are there, and a body is decompressed only if it says that it stays below the limit.

mod budget;
mod columns;
mod content;
mod decode;
pub(crate) mod encode;
mod error;
pub(crate) mod fields;
mod read;
mod request;
mod snappy;
mod texts;
mod write_v1;
mod write_v2;

pub use columns::{LabelRow, Samples, labels_schema, samples_schema};
pub use content::{ContentKind, WriteVersion, negotiate};
pub use decode::decode_write;
pub use error::RemoteError;
pub use read::{ReadQuery, decode_read, encode_read};
pub use request::{Metadata, MetricKind, Refused, WriteRequest};
pub use snappy::{claimed_length, compress, decompress};
