//! Remote write 1.0 and 2.0 and remote read: protocol buffers to columns and back. The messages are decoded by hand,
//! directly into columns, so that only data to be stored is copied. A length is trusted only if its bytes exist, and a
//! body is decompressed only if its stated length is below the limit.

pub(crate) mod buckets;
mod budget;
mod columns;
mod content;
mod decode;
pub(crate) mod encode;
mod error;
mod exemplars;
pub(crate) mod fields;
pub(crate) mod histogram;
mod histogram_columns;
mod read;
mod request;
mod sent_series;
mod snappy;
mod texts;
mod write_v1;
mod write_v2;

pub(crate) use budget::check_label_count;
pub use columns::{LabelRow, Samples, labels_schema, samples_schema};
pub use content::{ContentKind, WriteVersion, negotiate};
pub use decode::decode_write;
pub use error::RemoteError;
pub(crate) use exemplars::SentExemplar;
pub use exemplars::{Exemplars, exemplars_schema, read_exemplar_labels};
pub use histogram_columns::{HISTOGRAM_COLUMNS, Histograms, StoredHistograms, histograms_schema};
pub use read::{ReadQuery, ReadResult, decode_read, encode_read};
pub use request::{Metadata, MetricKind, Refused, WriteRequest};
pub use sent_series::{SentSeries, SeriesCache};
pub use snappy::{claimed_length, compress, decompress};
