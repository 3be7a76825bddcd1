//! Answers: `ExportMetricsServiceResponse`, and `google.rpc.Status` for errors.

use crate::remote::encode::Message;
use serde_json::json;

/// The answer to a request that is stored, as a protocol buffer.
pub fn answer_protobuf(rejected_points: usize, reason: &str) -> Vec<u8> {
    let mut answer = Message::default();
    if rejected_points > 0 {
        answer.inner(1, |partial| {
            partial.varint(1, rejected_points as u64);
            partial.bytes(2, reason.as_bytes());
        });
    }
    answer.finish()
}

/// The same answer as JSON.
pub fn answer_json(rejected_points: usize, reason: &str) -> String {
    if rejected_points == 0 {
        return "{}".to_owned();
    }
    let partial = json!({ "rejectedDataPoints": rejected_points.to_string(), "errorMessage": reason });
    json!({ "partialSuccess": partial }).to_string()
}

/// An error as a protocol buffer.
pub fn error_protobuf(message: &str) -> Vec<u8> {
    let mut status = Message::default();
    status.bytes(2, message.as_bytes());
    status.finish()
}

/// The same error as JSON.
pub fn error_json(message: &str) -> String {
    json!({ "message": message }).to_string()
}
