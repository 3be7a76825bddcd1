//! Decoding a write request of either version.

use super::content::WriteVersion;
use super::error::RemoteError;
use super::request::WriteRequest;
use super::sent_series::SeriesCache;
use super::{write_v1, write_v2};

/// Decodes a decompressed body. The request holds at most `bytes_max` bytes; a request that would hold more is refused,
/// and so is one whose bytes are not a valid message. A series that can never be stored is left out and
/// [counted](WriteRequest::refused). The cache saves reading the labels of series that earlier requests had; the result
/// is the same with any cache.
pub fn decode_write(
    body: &[u8],
    version: WriteVersion,
    bytes_max: usize,
    cache: &SeriesCache,
) -> Result<WriteRequest, RemoteError> {
    let mut request = WriteRequest::new(bytes_max);
    match version {
        WriteVersion::V1 => write_v1::decode(body, cache, &mut request)?,
        WriteVersion::V2 => write_v2::decode(body, cache, &mut request)?,
    }
    Ok(request)
}
