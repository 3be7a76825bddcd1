//! The layout of a split store: its form in a URL, and its record in the catalogue.

use atsdb_core::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::fmt;

/// The maximum number of shards.
const SHARDS_MAX: u16 = 64;
/// The size in bytes below which a chunk's pages are stored in the catalogue: a small commit then waits for the disk
/// once, not twice, and SQLite reads and writes rows of this size faster than files are opened.
const SMALL_CHUNK_BYTES: u64 = 32 << 10;

/// How the pages of a split store are divided over files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitBy {
    /// Each slice has its own files, so that dropping it removes files.
    Slice,
    /// Writers share this number of files.
    Shards(u16),
}

/// The layout of a split store. It is recorded when the store is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitLayout {
    /// How pages are divided over files.
    pub split: SplitBy,
    /// Chunks with fewer bytes of pages are stored in the catalogue.
    pub small_chunk_bytes: u64,
}

impl SplitLayout {
    /// The default layout for this division.
    pub const fn new(split: SplitBy) -> Self {
        Self { split, small_chunk_bytes: SMALL_CHUNK_BYTES }
    }

    /// Parses the layout in the options of a URL: `split=slice` or `shards=N`.
    pub fn parse(options: &str) -> Result<Self> {
        let hint = format!("use split=slice, or shards=N with N from 1 to {SHARDS_MAX}");
        let split = match options.split_once('=') {
            Some(("split", "slice")) => Some(SplitBy::Slice),
            Some(("shards", count)) => {
                let plain = count.bytes().all(|byte| byte.is_ascii_digit());
                let count = count.parse().ok().filter(|count| plain && (1..=SHARDS_MAX).contains(count));
                count.map(SplitBy::Shards)
            }
            _ => None,
        };
        let unknown = || Error::usage(format!("the option ?{options} of the URL is not known")).with_hint(hint);
        Ok(Self::new(split.ok_or_else(unknown)?))
    }
}

impl fmt::Display for SplitBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice => f.write_str("split=slice"),
            Self::Shards(count) => write!(f, "shards={count}"),
        }
    }
}

/// Records the layout in a new catalogue.
pub(crate) fn record(connection: &Connection, layout: SplitLayout) -> rusqlite::Result<()> {
    let sql = "INSERT INTO atsdb_store VALUES ('layout', ?1), ('small_chunk_bytes', ?2)";
    connection.execute(sql, params![layout.split.to_string(), layout.small_chunk_bytes as i64])?;
    Ok(())
}

/// Returns the recorded layout of a catalogue; `None` in a store of one file.
pub(crate) fn recorded(connection: &Connection) -> rusqlite::Result<Option<Result<SplitLayout>>> {
    let text: Option<String> =
        connection.query_row("SELECT value FROM atsdb_store WHERE key = 'layout'", [], |row| row.get(0)).optional()?;
    let Some(text) = text else { return Ok(None) };
    let sql = "SELECT value FROM atsdb_store WHERE key = 'small_chunk_bytes'";
    let small: Option<u64> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    let damaged = |_| Error::corrupt(format!("the layout that the catalogue records is damaged: {text}"));
    let layout = SplitLayout::parse(&text).map_err(damaged);
    Ok(Some(layout.map(|layout| SplitLayout { small_chunk_bytes: small.unwrap_or(SMALL_CHUNK_BYTES), ..layout })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_says_is_read_or_refused() {
        for (text, split) in
            [("split=slice", SplitBy::Slice), ("shards=1", SplitBy::Shards(1)), ("shards=64", SplitBy::Shards(64))]
        {
            let layout = SplitLayout::parse(text).unwrap();
            assert_eq!(layout, SplitLayout::new(split));
            assert_eq!(layout.split.to_string(), text);
        }
        let bad = ["", "split", "split=", "split=day", "shards=", "shards=0", "shards=65", "shards=+4", "shards=4&x=1"];
        for text in bad {
            assert!(SplitLayout::parse(text).is_err(), "{text}");
        }
    }
}
