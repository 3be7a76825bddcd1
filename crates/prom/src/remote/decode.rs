//! Decoding a write request of either version.

use super::content::WriteVersion;
use super::error::RemoteError;
use super::request::WriteRequest;
use super::{write_v1, write_v2};

/// Decodes a decompressed body.
pub fn decode_write(body: &[u8], version: WriteVersion) -> Result<WriteRequest, RemoteError> {
    let mut request = WriteRequest::default();
    match version {
        WriteVersion::V1 => write_v1::decode(body, &mut request)?,
        WriteVersion::V2 => write_v2::decode(body, &mut request)?,
    }
    Ok(request)
}
