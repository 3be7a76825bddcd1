//! Limits for the parts of workbooks that are zip archives. The reader of workbooks holds the shared texts and the
//! styles in memory, and streams the sheets piece by piece, as they are written. So a part that is held must not be
//! large, and a large part must not have large pieces.

use crate::sheets::workbook::WorkbookKind;
use crate::sheets::{TEXT_BYTES_MAX, damaged, too_large};
use atsdb_core::Result;
use std::io::Read;

/// The size in bytes of a part that may contain anything.
const SMALL_PART_BYTES: u64 = 64 << 20;

/// The largest tag, or text between two tags, of a larger part.
const PIECE_BYTES_MAX: u64 = 16 << 20;

/// The most bytes of the parts that are held in memory.
const HELD_BYTES_MAX: u64 = TEXT_BYTES_MAX / 2;

/// The most merged areas.
const MERGES_MAX: u64 = 1 << 20;

/// The name of an element of XML that begins each merged area.
const MERGE: &[u8] = b"mergeCell";

/// The bytes at the beginning of the shared texts that say how many there are.
const HEAD_BYTES: usize = 4_096;

/// The measured content of a part of an archive.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct PartScan {
    pub(crate) byte_count: u64,
    pub(crate) merge_count: u64,
}

/// Returns whether a part is held in memory as a whole.
pub(crate) fn is_held(entry: &str) -> bool {
    let entry = entry.to_lowercase();
    ["sharedstrings.xml", "sharedstrings.bin", "styles.xml", "styles.bin"].iter().any(|name| entry.ends_with(name))
}

/// Checks the size of all parts that are held.
pub(crate) fn check_held(name: &str, byte_count: u64) -> Result<()> {
    if byte_count > HELD_BYTES_MAX {
        return Err(too_large(name, format_args!("its texts take more than {} MiB", HELD_BYTES_MAX >> 20)));
    }
    Ok(())
}

/// Reads a part, without holding it.
pub(crate) fn scan_part(name: &str, entry: &str, mut part: impl Read, kind: WorkbookKind) -> Result<PartScan> {
    let mut scan = PartScan::default();
    let mut pieces = Pieces::default();
    let mut head = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count =
            part.read(&mut buffer).map_err(|error| damaged(name, "a zip archive", format!("{entry}: {error}")))?;
        if count == 0 {
            break;
        }
        scan.byte_count += count as u64;
        if is_held(entry) {
            check_held(name, scan.byte_count)?;
        }
        if head.len() < HEAD_BYTES {
            head.extend_from_slice(&buffer[..count.min(HEAD_BYTES - head.len())]);
        }
        if kind == WorkbookKind::Xlsx {
            pieces.take(&buffer[..count]);
            if pieces.merge_count > MERGES_MAX || scan.byte_count > SMALL_PART_BYTES && pieces.is_bad {
                return Err(too_large(name, format_args!("{entry} has too large pieces for a sheet")));
            }
        }
    }
    // The reader reserves room for as many texts as are announced; each takes some bytes.
    if let Some(count) = announced(&head).filter(|_| is_held(entry))
        && count > scan.byte_count
    {
        return Err(damaged(name, "a workbook of Excel", format!("{entry} announces {count} texts")));
    }
    scan.merge_count = pieces.merge_count;
    Ok(scan)
}

/// The number of texts that shared texts announce.
fn announced(head: &[u8]) -> Option<u64> {
    let start = memchr::memmem::find(head, b"uniqueCount")? + b"uniqueCount".len();
    let digits: Vec<u8> = head[start..].iter().copied().skip_while(|byte| b" =\"'".contains(byte)).collect();
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match std::str::from_utf8(&digits[..length]).ok()?.parse() {
        Ok(count) => Some(count),
        Err(_) if length > 0 => Some(u64::MAX),
        Err(_) => None,
    }
}

/// The part of XML in which a byte is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum XmlState {
    #[default]
    Text,
    /// The byte right after the bracket that opens a tag.
    Opened,
    Tag,
    /// The value of an attribute, which ends with this quote.
    Quoted(u8),
}

/// The sizes of tags and texts.
#[derive(Debug, Default)]
struct Pieces {
    state: XmlState,
    piece_bytes: u64,
    position: u64,
    /// Whether there was a large piece, or a comment or the like, in which anything may be.
    is_bad: bool,
    merge_count: u64,
    /// The number of bytes of [`MERGE`] that were read.
    merge_length: usize,
}

impl Pieces {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.piece_bytes += 1;
            self.state = match (self.state, byte) {
                (XmlState::Text, b'<') => self.next(XmlState::Opened),
                (XmlState::Opened, b'!') => {
                    self.is_bad = true;
                    XmlState::Tag
                }
                (XmlState::Opened, b'?') if self.position > 64 => {
                    self.is_bad = true;
                    XmlState::Tag
                }
                (XmlState::Opened | XmlState::Tag, b'>') => self.next(XmlState::Text),
                (XmlState::Opened | XmlState::Tag, b'"' | b'\'') => XmlState::Quoted(*byte),
                (XmlState::Opened, _) => XmlState::Tag,
                (XmlState::Quoted(quote), byte) if quote == *byte => XmlState::Tag,
                (state, _) => state,
            };
            self.position += 1;
            self.merge_length = match MERGE.get(self.merge_length) {
                Some(next) if next == byte => self.merge_length + 1,
                _ => usize::from(*byte == MERGE[0]),
            };
            if self.merge_length == MERGE.len() {
                (self.merge_length, self.merge_count) = (0, self.merge_count + 1);
            }
        }
        self.is_bad |= self.piece_bytes > PIECE_BYTES_MAX;
    }

    fn next(&mut self, state: XmlState) -> XmlState {
        self.is_bad |= self.piece_bytes > PIECE_BYTES_MAX;
        self.piece_bytes = 0;
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Pieces {
        let mut pieces = Pieces::default();
        for part in text.as_bytes().chunks(3) {
            pieces.take(part);
        }
        pieces
    }

    #[test]
    fn large_pieces_are_found() {
        let large = "x".repeat(PIECE_BYTES_MAX as usize + 1);
        let half = &large[..large.len() / 2];
        for good in ["<?xml version=\"1.0\"?><a b='>'>text</a>".to_owned(), format!("<a>{half}</a><b c=\"{half}\"/>")] {
            assert!(!pieces(&good).is_bad, "{:.60}", good);
        }
        for bad in [
            format!("<a>{large}</a>"),
            format!("<a b=\"> <a> {large}\"/>"),
            format!("<a b='<x>\"{large}"),
            format!("<a{}<!-- -->", " ".repeat(100)).replace("<a", "<a>"),
            format!("<a>{}<? ?>", " ".repeat(100)),
        ] {
            assert!(pieces(&bad).is_bad, "{:.60}", bad);
        }
        assert_eq!(pieces("<mergeCells><mergeCell ref=\"A1:A2\"/></mergeCells>").merge_count, 3);
    }

    #[test]
    fn announced_counts_are_compared_with_the_size() {
        let scan = |text: &str| scan_part("x", "xl/sharedStrings.xml", text.as_bytes(), WorkbookKind::Xlsx);
        assert!(scan("<sst count=\"9\" uniqueCount=\"1\"><si><t>a</t></si></sst>").is_ok());
        for count in ["100000", "18446744073709551615", "99999999999999999999"] {
            assert!(scan(&format!("<sst uniqueCount = '{count}'><si><t>a</t></si></sst>")).is_err(), "{count}");
        }
    }
}
