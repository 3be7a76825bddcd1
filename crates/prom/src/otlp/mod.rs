//! OpenTelemetry's metrics (OTLP), as protocol buffers and as JSON, to the columns of remote write.
//!
//! ```text
//! protocol buffers    protobuf --+
//!                                +--> convert: names, labels, series     naming
//! JSON                json ------+
//! ```
//! Names, labels and `target_info` are those that Prometheus derives from OTLP by default: suffixes for units and
//! counters, underscores for characters that a name cannot have. Points are converted one by one, so that memory stays
//! bounded.

mod answer;
mod convert;
mod exponential;
mod json;
mod naming;
mod points;
mod protobuf;
mod values;

pub use answer::{answer_json, answer_protobuf, error_json, error_protobuf};
pub use convert::OtlpRequest;

use crate::remote::RemoteError;

/// Decodes the protocol buffer `ExportMetricsServiceRequest`. The request holds at most `bytes_max` bytes.
pub fn decode_protobuf(body: &[u8], bytes_max: usize) -> Result<OtlpRequest, RemoteError> {
    protobuf::decode(body, bytes_max)
}

/// Decodes the same message as JSON.
pub fn decode_json(body: &[u8], bytes_max: usize) -> Result<OtlpRequest, RemoteError> {
    json::decode(body, bytes_max)
}
