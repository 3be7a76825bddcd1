//! How a store is split: what a URL says, and what the catalogue records.

use atsdb_core::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::fmt;

/// The most shards.
const SHARDS_MAX: u16 = 64;
/// Below so many bytes a chunk's pages lie in the catalogue: a small commit then waits for the disk once, not twice, and
/// SQLite reads and writes rows of this length faster than files are opened.
const SMALL_CHUNK_BYTES: u64 = 32 << 10;

/// By what the pages of a split store are spread over files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Each slice has files of its own: dropping it is removing them.
    Slice,
    /// Writers take turns at so many files.
    Shards(u16),
}

/// How a split store is laid out; recorded when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// By what pages are spread over files.
    pub split: Split,
    /// Chunks with fewer bytes of pages lie in the catalogue.
    pub small_chunk_bytes: u64,
}

impl Layout {
    /// What a store is given that is split so.
    pub const fn new(split: Split) -> Self {
        Self { split, small_chunk_bytes: SMALL_CHUNK_BYTES }
    }

    /// The layout that the options of a URL ask for: `split=slice` or `shards=N`.
    pub fn parse(options: &str) -> Result<Self> {
        let hint = format!("use split=slice, or shards=N with N from 1 to {SHARDS_MAX}");
        let split = match options.split_once('=') {
            Some(("split", "slice")) => Some(Split::Slice),
            Some(("shards", count)) => {
                let plain = count.bytes().all(|byte| byte.is_ascii_digit());
                let count = count.parse().ok().filter(|count| plain && (1..=SHARDS_MAX).contains(count));
                count.map(Split::Shards)
            }
            _ => None,
        };
        let unknown = || Error::usage(format!("the option ?{options} of the URL is not known")).with_hint(hint);
        Ok(Self::new(split.ok_or_else(unknown)?))
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice => f.write_str("split=slice"),
            Self::Shards(count) => write!(f, "shards={count}"),
        }
    }
}

/// Notes the layout in a new catalogue.
pub(crate) fn record(connection: &Connection, layout: Layout) -> rusqlite::Result<()> {
    let sql = "INSERT INTO atsdb_store VALUES ('layout', ?1), ('small_chunk_bytes', ?2)";
    connection.execute(sql, params![layout.split.to_string(), layout.small_chunk_bytes as i64])?;
    Ok(())
}

/// The layout that a catalogue records; `None` in a store of one file.
pub(crate) fn recorded(connection: &Connection) -> rusqlite::Result<Option<Result<Layout>>> {
    let text: Option<String> =
        connection.query_row("SELECT value FROM atsdb_store WHERE key = 'layout'", [], |row| row.get(0)).optional()?;
    let Some(text) = text else { return Ok(None) };
    let sql = "SELECT value FROM atsdb_store WHERE key = 'small_chunk_bytes'";
    let small: Option<u64> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    let damaged = |_| Error::corrupt(format!("the layout that the catalogue records is damaged: {text}"));
    let layout = Layout::parse(&text).map_err(damaged);
    Ok(Some(layout.map(|layout| Layout { small_chunk_bytes: small.unwrap_or(SMALL_CHUNK_BYTES), ..layout })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_says_is_read_or_refused() {
        for (text, split) in
            [("split=slice", Split::Slice), ("shards=1", Split::Shards(1)), ("shards=64", Split::Shards(64))]
        {
            let layout = Layout::parse(text).unwrap();
            assert_eq!(layout, Layout::new(split));
            assert_eq!(layout.split.to_string(), text);
        }
        let bad = ["", "split", "split=", "split=day", "shards=", "shards=0", "shards=65", "shards=+4", "shards=4&x=1"];
        for text in bad {
            assert!(Layout::parse(text).is_err(), "{text}");
        }
    }
}
