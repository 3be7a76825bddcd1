//! Snappy's block format.

use super::error::RemoteError;

fn malformed(error: snap::Error) -> RemoteError {
    RemoteError::malformed(format!("snappy: {error}"))
}

/// The length after decompression that a body claims. One above `length_max`, or that the body cannot hold, is refused.
pub fn claimed_length(body: &[u8], length_max: usize) -> Result<usize, RemoteError> {
    let length = snap::raw::decompress_len(body).map_err(malformed)?;
    if length > length_max {
        return Err(RemoteError::TooLarge(format!(
            "the body is {length} bytes after decompression, the limit is {length_max}"
        )));
    }
    // A byte decompresses to at most 64. A larger stated length is false, and is refused before it is allocated.
    if length / 64 > body.len() {
        return Err(RemoteError::malformed("snappy: the claimed length is longer than the body can hold"));
    }
    Ok(length)
}

/// Decompresses a body to at most `length_max` bytes. The declared length is checked before anything is allocated.
pub fn decompress(body: &[u8], length_max: usize) -> Result<Vec<u8>, RemoteError> {
    claimed_length(body, length_max)?;
    snap::raw::Decoder::new().decompress_vec(body).map_err(malformed)
}

/// Compresses an answer.
pub fn compress(body: &[u8]) -> Result<Vec<u8>, RemoteError> {
    snap::raw::Encoder::new().compress_vec(body).map_err(|error| RemoteError::TooLarge(format!("snappy: {error}")))
}
