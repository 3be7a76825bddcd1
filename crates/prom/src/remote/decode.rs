//! Decoding a write request of either version.

use super::content::WriteVersion;
use super::error::RemoteError;
use super::request::WriteRequest;
use super::{write_v1, write_v2};

/// Decodes a decompressed body. The request holds at most `bytes_max` bytes; a request that would hold more is refused,
/// and so is one whose bytes are not a valid message. A series that can never be stored is left out and
/// [counted](WriteRequest::refused).
pub fn decode_write(body: &[u8], version: WriteVersion, bytes_max: usize) -> Result<WriteRequest, RemoteError> {
    let mut request = WriteRequest::new(bytes_max);
    match version {
        WriteVersion::V1 => write_v1::decode(body, &mut request)?,
        WriteVersion::V2 => write_v2::decode(body, &mut request)?,
    }
    Ok(request)
}
