//! The parts into which pages are cut: writing, reading and deleting them. The parts of fresh chunks, which are deleted
//! soon, are in another table than those of sealed chunks, so that neither leaves holes among the other.

use crate::connection::{Connection, Server, Value};
use crate::directory::{PageDirectory, PageExtent};
use crate::error::Attempt;
use crate::insert;
use atsdb_core::refusal;
use atsdb_core::{ChunkId, ColumnId, Error};

/// The maximum number of ranges in one query.
const RANGES_PER_STATEMENT: usize = 16;

/// Returns the table of the parts of fresh or sealed chunks.
pub(crate) fn table(sealed: bool) -> &'static str {
    if sealed { "atsdb_sealed" } else { "atsdb_fresh" }
}

/// Writes parts as they fill up, several with one statement.
pub(crate) struct PartWriter<'a> {
    connection: &'a mut dyn Connection,
    part_bytes: usize,
    together: usize,
    sealed: bool,
    full: Vec<(i64, i64, Vec<u8>)>,
}

impl<'a> PartWriter<'a> {
    /// Creates a writer for fresh or sealed chunks.
    pub(crate) fn new(connection: &'a mut dyn Connection, server: &dyn Server, sealed: bool) -> Self {
        let (part_bytes, together) = (server.part_bytes() as usize, server.parts_per_statement().max(1));
        Self { connection, part_bytes, together, sealed, full: Vec::new() }
    }

    /// Writes pages under a payload number, starting with a part.
    pub(crate) fn write<'p>(
        &mut self,
        payload: i64,
        first_part: i64,
        pages: impl Iterator<Item = &'p [u8]>,
    ) -> Attempt<()> {
        let mut part = first_part;
        let mut open = Vec::new();
        for mut page in pages {
            while !page.is_empty() {
                let (now, later) = page.split_at(page.len().min(self.part_bytes - open.len()));
                open.extend_from_slice(now);
                page = later;
                if open.len() == self.part_bytes {
                    self.push(payload, part, std::mem::take(&mut open))?;
                    part += 1;
                }
            }
        }
        if open.is_empty() { Ok(()) } else { self.push(payload, part, open) }
    }

    fn push(&mut self, payload: i64, part: i64, bytes: Vec<u8>) -> Attempt<()> {
        self.full.push((payload, part, bytes));
        if self.full.len() < self.together { Ok(()) } else { self.flush() }
    }

    /// Sends the rest.
    pub(crate) fn flush(&mut self) -> Attempt<()> {
        let mut values: Vec<Value<'_>> = Vec::with_capacity(self.full.len() * 3);
        for (payload, part, bytes) in &self.full {
            values.extend([Value::Int(*payload), Value::Int(*part), Value::Bytes(bytes)]);
        }
        let into = format!("{} (payload, part, bytes)", table(self.sealed));
        insert::rows(self.connection, &into, &values, self.together)?;
        self.full.clear();
        Ok(())
    }
}

/// The location of the pages of a chunk.
pub(crate) struct PageLocation {
    /// The chunk's number, for error messages.
    pub(crate) chunk: i64,
    pub(crate) payload: i64,
    pub(crate) sealed: bool,
    pub(crate) directory: PageDirectory,
}

impl PageLocation {
    fn missing(&self, column: ColumnId) -> Error {
        refusal::page_missing(ChunkId(self.chunk), column).with_hint(refusal::VERIFY)
    }
}

/// Reads the pages of some columns. With `waiting`, the clause of [`Server::reads_pages_later`], it reads what is
/// committed and waits for what is being committed, regardless of what the transaction sees.
pub(crate) fn read(
    connection: &mut dyn Connection,
    server: &dyn Server,
    pages: &PageLocation,
    columns: &[ColumnId],
    waiting: &str,
) -> Attempt<Vec<Vec<u8>>> {
    let find = |column: &ColumnId| pages.directory.find(*column).ok_or_else(|| pages.missing(*column));
    let places = columns.iter().map(find).collect::<Result<Vec<PageExtent>, Error>>()?;
    // Adjacent pages are read as one range.
    let mut wanted = places.clone();
    wanted.sort_unstable_by_key(|location| location.first);
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for location in wanted.iter().filter(|location| location.byte_count > 0) {
        match ranges.last_mut() {
            Some((_, end)) if location.first <= *end => *end = (*end).max(location.end()),
            _ => ranges.push((location.first, location.end())),
        }
    }
    let mut found: Vec<(u64, Vec<u8>)> = Vec::with_capacity(ranges.len());
    for group in ranges.chunks(RANGES_PER_STATEMENT) {
        read_ranges(connection, server, (pages, waiting), group, &mut found)?;
    }
    let cut = |location: PageExtent| {
        let range = found
            .iter()
            .find(|(first, bytes)| *first <= location.first && location.end() <= *first + bytes.len() as u64);
        match range {
            _ if location.byte_count == 0 => Ok(Vec::new()),
            Some((first, bytes)) => {
                Ok(bytes[(location.first - first) as usize..(location.end() - first) as usize].to_vec())
            }
            None => Err(pages.missing(location.column).into()),
        }
    };
    places.into_iter().map(cut).collect()
}

/// Queries ranges of the stream; of the first and the last part only the bytes within the range. A range with missing
/// parts is returned short.
fn read_ranges(
    connection: &mut dyn Connection,
    server: &dyn Server,
    (pages, waiting): (&PageLocation, &str),
    ranges: &[(u64, u64)],
    found: &mut Vec<(u64, Vec<u8>)>,
) -> Attempt<()> {
    let part_bytes = server.part_bytes() as i64;
    let mut values = vec![Value::Int(pages.payload)];
    let mut arms = Vec::with_capacity(ranges.len());
    for (position, (first, end)) in ranges.iter().enumerate() {
        let (first, end) = (*first as i64, *end as i64);
        let numbers = [first, end, first / part_bytes, (end - 1) / part_bytes].map(Value::Int);
        let [a, b, c, d] = std::array::from_fn(|offset| format!("${}", values.len() + 1 + offset));
        values.extend(numbers);
        let from = format!("greatest({a} - part * {part_bytes}, 0)");
        let bytes = server.substring(
            "bytes",
            &format!("{from} + 1"),
            &format!("least({b} - part * {part_bytes}, {part_bytes}) - {from}"),
        );
        let range = server.integer(&position.to_string());
        arms.push(format!(
            "(SELECT {range}, part, {bytes} FROM {} WHERE payload = $1 AND part BETWEEN {c} AND {d} {waiting})",
            table(pages.sealed)
        ));
    }
    let mut rows = connection.query(&arms.join(" UNION ALL "), &values)?;
    let mut parts = rows
        .iter_mut()
        .map(|row| Ok((row.number::<usize>(0)?, row.int(1)?, row.bytes(2)?)))
        .collect::<Attempt<Vec<_>>>()?;
    parts.sort_unstable_by_key(|(range, part, _)| (*range, *part));
    let mut parts = parts.into_iter().peekable();
    for (position, (first, _)) in ranges.iter().enumerate() {
        let (mut bytes, mut next) = (Vec::new(), *first as i64 / part_bytes);
        while let Some((_, part, piece)) = parts.next_if(|(range, ..)| *range == position) {
            // After a missing part, no later part is at its position.
            if part == next {
                next += 1;
                if bytes.is_empty() { bytes = piece } else { bytes.extend_from_slice(&piece) }
            }
        }
        found.push((*first, bytes));
    }
    Ok(())
}

/// Deletes everything under a payload number.
pub(crate) fn delete(connection: &mut dyn Connection, payload: i64, sealed: bool) -> Attempt<()> {
    connection.execute(&format!("DELETE FROM {} WHERE payload = $1", table(sealed)), &[payload.into()])?;
    Ok(())
}
