//! The content of files, whatever their compression.

use atsdb_temporary::PositionedFile;
use flate2::read::MultiGzDecoder;
use std::io::{self, BufReader, Read};

/// The bytes that begin some files in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text without the mark at its beginning.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The number of bytes at a file's beginning that show its compression.
    pub(crate) const HEAD_BYTES: u64 = 4;

    /// The compression of a file that begins with these bytes.
    pub(crate) fn of_head(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The decompressed bytes.
    pub(crate) fn decode(self, file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::None => Box::new(file),
            Self::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::new(file)?;
                // 128 MiB is what `zstd --long` makes; larger windows would not fit an import's memory.
                decoder.window_log_max(27)?;
                Box::new(decoder)
            }
        })
    }
}

/// The bytes of a file, decompressed: the same for `a.csv` and `a.csv.gz`.
///
/// # Errors
///
/// The file cannot be read.
pub fn open_content(file: &PositionedFile) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    file.at(0).take(Compression::HEAD_BYTES).read_to_end(&mut head)?;
    Compression::of_head(&head).decode(file.at(0))
}
