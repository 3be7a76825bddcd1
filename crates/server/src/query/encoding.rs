//! How an answer is compressed.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_ENCODING;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// A low level, since the statement waits for the compressor.
const ZSTD_LEVEL: i32 = 1;

/// A content encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// The best encoding that a client accepts by its name.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        [Self::Zstd, Self::Gzip].into_iter().find(|encoding| {
            let texts = headers.get_all(ACCEPT_ENCODING).into_iter().filter_map(|text| text.to_str().ok());
            texts.flat_map(|text| text.split(',')).any(|entry| is_accepted(entry, encoding.name()))
        })
    }

    /// The name in headers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Returns whether an entry of the header accepts an encoding: `NAME`, or `NAME;q=WEIGHT` with a weight above 0.
fn is_accepted(entry: &str, name: &str) -> bool {
    let (named, weight) = entry.split_once(';').unwrap_or((entry, "q=1"));
    let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f64>().ok());
    named.trim().eq_ignore_ascii_case(name) && weight.is_some_and(|weight| weight > 0.0)
}

/// Compresses bytes into memory.
pub(super) enum Encoder {
    Gzip(Box<GzEncoder<Vec<u8>>>),
    Zstd(Box<zstd::stream::write::Encoder<'static, Vec<u8>>>),
}

impl Encoder {
    pub(super) fn new(encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Gzip => Self::Gzip(Box::new(GzEncoder::new(Vec::new(), Compression::fast()))),
            Encoding::Zstd => Self::Zstd(Box::new(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?)),
        })
    }

    /// Compresses bytes. Their output may come later.
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Returns the output that was not taken yet. It ends so that a client can read all the bytes that were added.
    pub(super) fn take(&mut self) -> io::Result<Vec<u8>> {
        let output = match self {
            Self::Gzip(encoder) => {
                encoder.flush()?;
                encoder.get_mut()
            }
            Self::Zstd(encoder) => {
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(std::mem::take(output))
    }

    /// Ends the stream, and returns the rest of its output.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn accepted(text: &'static str) -> Option<Encoding> {
        Encoding::accepted(&HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(text))]))
    }

    #[test]
    fn a_client_names_what_it_accepts() {
        assert_eq!(accepted("gzip"), Some(Encoding::Gzip));
        assert_eq!(accepted("gzip, deflate, br, zstd"), Some(Encoding::Zstd));
        assert_eq!(accepted("GZIP;q=0.5 , zstd; q=0.000"), Some(Encoding::Gzip));
        for text in ["", "*", "identity", "br", "gzip;q=0", "gzip;q=x", "xgzip"] {
            assert_eq!(accepted(text), None, "{text}");
        }
        assert_eq!(Encoding::accepted(&HeaderMap::new()), None);
    }
}
