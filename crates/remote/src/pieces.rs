//! A file that is read piece by piece. Each piece is requested once, and kept in a sparse temporary file.

use crate::connection::FileConnection;
use crate::failure::{changed, cut};
use atsdb_core::{Error, ErrorKind, Result};
use atsdb_temporary::{TakenSpace, TemporarySpace};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The number of bytes at the end of a file that are requested first. The footer of most Parquet files is smaller.
const TAIL_BYTES: u64 = 64 << 10;
/// The number of bytes of one request, unless a read needs more.
const PIECE_BYTES: u64 = 8 << 20;

/// A file that is read piece by piece.
pub struct PiecewiseFile {
    file: FileConnection,
    byte_count: u64,
    e_tag: Option<String>,
    known: Mutex<KnownPieces>,
    failure: Mutex<Option<Error>>,
}

struct KnownPieces {
    bytes: File,
    /// The space of the bytes that have arrived.
    taken: TakenSpace,
    /// The ends of the arrived ranges, by start. They neither overlap nor touch.
    arrived: BTreeMap<u64, u64>,
    /// The ends of the planned ranges, by start.
    planned: BTreeMap<u64, u64>,
    byte_count: u64,
}

impl fmt::Debug for PiecewiseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PiecewiseFile").field(&self.file.shown).finish()
    }
}

impl PiecewiseFile {
    /// Opens a file of this size and version. `None` if its server sends no ranges.
    pub(crate) fn open(
        file: &FileConnection,
        byte_count: u64,
        e_tag: Option<String>,
        space: &Arc<TemporarySpace>,
    ) -> Result<Option<Self>> {
        let known = KnownPieces {
            bytes: space.create()?,
            taken: TakenSpace::new(space),
            arrived: BTreeMap::new(),
            planned: BTreeMap::new(),
            byte_count: 0,
        };
        let (file, known, failure) = (file.clone(), Mutex::new(known), Mutex::default());
        let pieces = Self { file, byte_count, e_tag, known, failure };
        let tail = byte_count.saturating_sub(TAIL_BYTES)..byte_count;
        let fetched = pieces.fetch(&mut pieces.known.lock(), tail);
        match fetched {
            Ok(()) => Ok(Some(pieces)),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Its size in bytes.
    pub fn byte_count(&self) -> u64 {
        self.byte_count
    }

    /// The number of bytes that have arrived.
    pub fn fetched_bytes(&self) -> u64 {
        self.known.lock().byte_count
    }

    /// Returns a text that identifies the version of the file. It may contain secrets. `None` if the server names no
    /// version.
    pub fn version(&self) -> Option<String> {
        self.e_tag.as_ref().map(|tag| format!("{}\n{tag}\n{}", self.file.identity, self.byte_count))
    }

    /// Announces ranges that will be read, so that they are requested in large pieces.
    pub fn plan(&self, ranges: &[Range<u64>]) {
        let mut known = self.known.lock();
        for range in ranges.iter().filter(|range| range.start < range.end && range.end <= self.byte_count) {
            insert(&mut known.planned, range.clone());
        }
    }

    /// The bytes of a range.
    ///
    /// # Errors
    ///
    /// Those of requests, which [`failure`](Self::failure) returns again; `UnexpectedEof` beyond the end.
    pub fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.byte_count);
        let end = end.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before"))?;
        let mut known = self.known.lock();
        while let Some(gap) = first_gap(&known.arrived, start..end) {
            let wanted = extended(&known, gap);
            if let Err(error) = self.fetch(&mut known, wanted) {
                let message = error.to_string();
                *self.failure.lock() = Some(error);
                return Err(io::Error::other(message));
            }
        }
        let mut bytes = vec![0; length];
        known.bytes.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }

    /// Takes the error of the last request that failed.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    fn fetch(&self, known: &mut KnownPieces, range: Range<u64>) -> Result<()> {
        let answer = self.file.get(Some(range.clone()), self.e_tag.clone())?;
        if answer.byte_count.is_some_and(|count| count != self.byte_count) || answer.e_tag != self.e_tag {
            return Err(changed(&self.file.shown));
        }
        let mut content = self.file.content(answer);
        let mut at = range.start;
        while let Some(pieces) = content.next()? {
            let bytes = pieces.concat();
            if bytes.len() as u64 > range.end - at {
                return Err(changed(&self.file.shown));
            }
            let kept = known.keep(&bytes, at);
            kept.map_err(|error| error.context(format!("cannot copy {} to a temporary file", self.file.shown)))?;
            at += bytes.len() as u64;
        }
        if at != range.end {
            return Err(cut(&self.file.shown, at - range.start, range.end - range.start));
        }
        known.byte_count += range.end - range.start;
        insert(&mut known.arrived, range);
        Ok(())
    }
}

impl KnownPieces {
    /// Writes bytes that arrived at a position.
    fn keep(&mut self, bytes: &[u8], position: u64) -> Result<()> {
        self.taken.take(bytes.len() as u64)?;
        let written = self.bytes.write_all_at(bytes, position);
        written.map_err(|error| self.taken.space().failed("write", error))
    }
}

/// Adds a range, and joins it with those that it touches.
fn insert(ranges: &mut BTreeMap<u64, u64>, mut range: Range<u64>) {
    while let Some((start, end)) = ranges.range(..=range.end).next_back().map(|(start, end)| (*start, *end))
        && end >= range.start
    {
        ranges.remove(&start);
        range = start.min(range.start)..end.max(range.end);
    }
    ranges.insert(range.start, range.end);
}

/// Returns the first part of a range that has not arrived.
fn first_gap(arrived: &BTreeMap<u64, u64>, range: Range<u64>) -> Option<Range<u64>> {
    let before = arrived.range(..=range.start).next_back().map_or(0, |(_, end)| *end);
    let start = range.start.max(before);
    let next = arrived.range(start..).next().map_or(range.end, |(next, _)| *next);
    (start < range.end).then(|| start..next.min(range.end))
}

/// Extends a gap by the planned ranges after it, up to the size of a piece, and up to the next arrived range.
fn extended(known: &KnownPieces, gap: Range<u64>) -> Range<u64> {
    let planned = known.planned.range(..=gap.start).next_back().map_or(0, |(_, end)| *end);
    let next = known.arrived.range(gap.start..).next().map_or(u64::MAX, |(next, _)| *next);
    let end = planned.min(gap.start + PIECE_BYTES).min(next);
    gap.start..gap.end.max(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_between_what_arrived() {
        let mut arrived = BTreeMap::new();
        for range in [10..20, 30..40, 20..25, 50..60, 5..7] {
            insert(&mut arrived, range);
        }
        assert_eq!(
            arrived.iter().map(|(start, end)| (*start, *end)).collect::<Vec<_>>(),
            [(5, 7), (10, 25), (30, 40), (50, 60)]
        );
        for (range, gap) in [
            (0..4, Some(0..4)),
            (0..8, Some(0..5)),
            (6..12, Some(7..10)),
            (12..25, None),
            (12..26, Some(25..26)),
            (24..100, Some(25..30)),
            (45..55, Some(45..50)),
            (60..61, Some(60..61)),
        ] {
            assert_eq!(first_gap(&arrived, range.clone()), gap, "{range:?}");
        }
        insert(&mut arrived, 7..55);
        assert_eq!(arrived.into_iter().collect::<Vec<_>>(), [(5, 60)]);
    }
}
