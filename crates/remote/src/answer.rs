//! A server's answer to a request for a file.

use crate::failure::Failure;
use futures::stream::BoxStream;

/// Bytes that arrived, or why no more do.
pub(crate) type Piece = std::result::Result<Vec<u8>, Failure>;

/// A server's answer to a request for a file.
pub(crate) struct Answer {
    /// The size of the whole file, if the server states it.
    pub(crate) byte_count: Option<u64>,
    /// The version of the file, if the server names one.
    pub(crate) e_tag: Option<String>,
    /// Whether the end of the content is marked, so that a cut connection is noticed.
    pub(crate) has_end: bool,
    /// The content.
    pub(crate) content: BoxStream<'static, Piece>,
}
