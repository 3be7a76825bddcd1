//! Limits for workbooks of Excel up to 2003. The reader holds all cells of all sheets, from the first row and column to
//! the last ones, and each of them has its own copy of its text.

use crate::sheets::compound::{Compound, u16_at, u32_at};
use crate::sheets::{CELLS_MAX, TEXT_BYTES_MAX, damaged, is_protected, too_large};
use atsdb_core::{Error, Result};

/// Kinds of records.
mod record {
    pub(super) const FORMULA: u16 = 0x0006;
    pub(super) const END: u16 = 0x000a;
    pub(super) const CONTINUE: u16 = 0x003c;
    pub(super) const SHEET: u16 = 0x0085;
    pub(super) const NUMBERS: u16 = 0x00bd;
    pub(super) const RICH_TEXT: u16 = 0x00d6;
    pub(super) const TEXTS: u16 = 0x00fc;
    pub(super) const SHARED_TEXT: u16 = 0x00fd;
    pub(super) const DIMENSIONS: u16 = 0x0200;
    pub(super) const NUMBER: u16 = 0x0203;
    pub(super) const TEXT: u16 = 0x0204;
    pub(super) const BOOLEAN: u16 = 0x0205;
    pub(super) const SHORT_NUMBER: u16 = 0x027e;
    pub(super) const BEGIN: u16 = 0x0809;
}

/// Checks a file before the reader gets it.
pub(crate) fn check(name: &str, file: &[u8]) -> Result<()> {
    let broken = || damaged(name, "a workbook of Excel", "its list of sectors is damaged");
    let compound = Compound::read(file).ok_or_else(broken)?;
    if compound.has("EncryptedPackage") {
        return Err(is_protected(name));
    }
    let Some(stream) = ["Workbook", "Book"].into_iter().find(|stream| compound.has(stream)) else {
        return Err(
            Error::usage(format!("{name} is a document, but not a workbook")).with_hint("export its rows as CSV")
        );
    };
    let records = compound.stream(stream).ok_or_else(broken)?;
    if compound.has("Book") && stream == "Workbook" {
        compound.stream("Book").ok_or_else(broken)?;
    }
    let size = size(&records);
    if size.cells > CELLS_MAX {
        return Err(too_large(name, format_args!("its sheets have more than {CELLS_MAX} cells")));
    }
    if size.text_bytes > TEXT_BYTES_MAX {
        return Err(too_large(name, format_args!("its texts take more than {} MiB", TEXT_BYTES_MAX >> 20)));
    }
    Ok(())
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Size {
    cells: u64,
    text_bytes: u64,
}

/// The rows and columns of the cells that were seen.
#[derive(Default)]
struct Area(Option<[u64; 4]>);

impl Area {
    fn add(&mut self, row: u64, column: u64) {
        let [row_min, row_max, column_min, column_max] = self.0.unwrap_or([row, row, column, column]);
        self.0 = Some([row_min.min(row), row_max.max(row), column_min.min(column), column_max.max(column)]);
    }

    fn cells(&self) -> u64 {
        self.0.map_or(0, |[row_min, row_max, column_min, column_max]| {
            (row_max - row_min + 1).saturating_mul(column_max - column_min + 1)
        })
    }
}

/// The size of all sheets of a workbook.
fn size(stream: &[u8]) -> Size {
    let (mut lengths, mut sheets, mut size) = (Vec::new(), Vec::new(), Size::default());
    let mut records = Records { stream };
    while let Some((kind, data)) = records.next() {
        match kind {
            record::TEXTS => lengths = text_lengths(data, &mut records),
            record::SHEET => sheets.extend(u32_at(data, 0)),
            record::END => break,
            _ => {}
        }
    }
    for start in sheets {
        let Some(stream) = stream.get(start as usize..) else { continue };
        add_sheet(stream, &lengths, &mut size);
        if size.cells > CELLS_MAX || size.text_bytes > TEXT_BYTES_MAX {
            break;
        }
    }
    size
}

fn add_sheet(stream: &[u8], lengths: &[u64], size: &mut Size) {
    let (mut values, mut formulas, mut depth) = (Area::default(), Area::default(), 0_u64);
    for (kind, data) in (Records { stream }) {
        let place = || Some((u64::from(u16_at(data, 0)?), u64::from(u16_at(data, 2)?)));
        match (kind, place()) {
            (record::BEGIN, _) => depth += 1,
            (record::END, _) if depth <= 1 => break,
            (record::END, _) => depth -= 1,
            (record::DIMENSIONS, _) => size.cells = size.cells.saturating_add(announced(data)),
            (record::NUMBERS, Some((row, column))) => {
                values.add(row, column);
                let last = data.len().checked_sub(2).and_then(|at| u16_at(data, at)).unwrap_or(0);
                values.add(row, u64::from(last));
            }
            (record::FORMULA, Some((row, column))) => {
                formulas.add(row, column);
                values.add(row, column);
            }
            (record::SHARED_TEXT, Some((row, column))) => {
                values.add(row, column);
                let length = u32_at(data, 6).and_then(|number| lengths.get(number as usize)).copied();
                size.text_bytes = size.text_bytes.saturating_add(length.unwrap_or(0));
            }
            (
                record::RICH_TEXT | record::NUMBER | record::TEXT | record::BOOLEAN | record::SHORT_NUMBER,
                Some((row, column)),
            ) => values.add(row, column),
            _ => {}
        }
    }
    size.cells = size.cells.saturating_add(values.cells()).saturating_add(formulas.cells());
}

/// The cells that a sheet announces beyond those that any sheet of its kind has; the reader reserves room for them. It
/// subtracts rows without a sign: an area that ends before it begins is a very large one to it.
fn announced(data: &[u8]) -> u64 {
    let row = |at: usize| if data.len() >= 14 { u32_at(data, 2 * at) } else { u16_at(data, at).map(u32::from) };
    let columns = u16_at(data, if data.len() >= 14 { 10 } else { 6 });
    let rows = row(2).unwrap_or(0).wrapping_sub(row(0).unwrap_or(0));
    let cells = u64::from(rows).saturating_mul(u64::from(columns.unwrap_or(0)));
    if cells > 1 << 24 { cells } else { 0 }
}

/// The records of a stream.
struct Records<'a> {
    stream: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, length) = (u16_at(self.stream, 0)?, usize::from(u16_at(self.stream, 2)?));
        let data = self.stream.get(4..4 + length)?;
        self.stream = &self.stream[4 + length..];
        Some((kind, data))
    }
}

/// The sizes in bytes that the shared texts may have, which begin in a record and continue in those after it.
fn text_lengths(first: &[u8], records: &mut Records<'_>) -> Vec<u64> {
    let mut parts = vec![first.get(8..).unwrap_or(&[])];
    while let Some((record::CONTINUE, data)) = (Records { stream: records.stream }).next() {
        parts.push(data);
        records.next();
    }
    let mut texts = Texts { parts: &parts, at: 0 };
    std::iter::from_fn(|| texts.next_length()).collect()
}

struct Texts<'a> {
    parts: &'a [&'a [u8]],
    at: usize,
}

impl Texts<'_> {
    /// Reads a text: the number of its characters, flags, the sizes of what follows them, the characters.
    fn next_length(&mut self) -> Option<u64> {
        let count = u64::from(self.byte()?) | u64::from(self.byte()?) << 8;
        let mut flags = self.byte()?;
        let run_count = if flags & 8 == 0 { 0 } else { usize::from(self.byte()?) | usize::from(self.byte()?) << 8 };
        let mut extra = 0;
        if flags & 4 != 0 {
            for position in 0..4 {
                extra |= usize::from(self.byte()?) << (8 * position);
            }
        }
        let mut left = count as usize;
        while left > 0 {
            let width = if flags & 1 == 0 { 1 } else { 2 };
            let part = self.parts.first()?;
            let here = ((part.len() - self.at) / width).min(left);
            self.at += here * width;
            left -= here;
            if left > 0 {
                // The rest is in the next record, which says anew how wide characters are.
                (self.parts, self.at) = (&self.parts[1..], 0);
                flags = self.byte()?;
            }
        }
        self.skip(run_count * 4 + extra);
        // A character of UTF-16 takes up to three bytes.
        Some(count * 3)
    }

    fn byte(&mut self) -> Option<u8> {
        while self.at >= self.parts.first()?.len() {
            (self.parts, self.at) = (&self.parts[1..], 0);
        }
        self.at += 1;
        Some(self.parts[0][self.at - 1])
    }

    fn skip(&mut self, mut count: usize) {
        while let Some(part) = self.parts.first() {
            let here = (part.len() - self.at).min(count);
            (self.at, count) = (self.at + here, count - here);
            if count == 0 {
                return;
            }
            (self.parts, self.at) = (&self.parts[1..], 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), data].concat()
    }

    fn shared(row: u16, column: u16, text: u32) -> Vec<u8> {
        let place = [row.to_le_bytes(), column.to_le_bytes(), [0, 0]].concat();
        record(record::SHARED_TEXT, &[&place[..], &text.to_le_bytes()].concat())
    }

    /// A workbook with two shared texts, the second one cut in two records, and one sheet.
    fn workbook(cells: &[Vec<u8>]) -> Vec<u8> {
        let texts = [&[0; 8][..], &[3, 0, 0], b"abc", &[4, 0, 1], &[b'x', 0, b'y', 0]].concat();
        let mut globals = record(record::BEGIN, &[0, 6, 5, 0]);
        globals.extend(record(record::TEXTS, &texts));
        globals.extend(record(record::CONTINUE, b"\0zz"));
        let start = (globals.len() + 4 + 8 + 4) as u32;
        globals.extend(record(record::SHEET, &[&start.to_le_bytes()[..], &[0; 4]].concat()));
        globals.extend(record(record::END, &[]));
        globals.extend(record(record::BEGIN, &[0, 6, 16, 0]));
        globals.extend(cells.concat());
        globals.extend(record(record::END, &[]));
        globals
    }

    #[test]
    fn cells_and_their_texts_are_counted() {
        let cells = [shared(10, 2, 0), shared(12, 5, 1), shared(12, 5, 1)];
        assert_eq!(size(&workbook(&cells)), Size { cells: 3 * 4, text_bytes: 9 + 12 + 12 });
        let far = [shared(0, 0, 0), shared(65_535, 65_535, 0)];
        assert_eq!(size(&workbook(&far)).cells, 1 << 32);
        let dimensions = record(record::DIMENSIONS, &[[0; 4], [0xff; 4], [0, 0, 0, 1], [0; 4]].concat()[..14]);
        assert!(size(&workbook(&[dimensions])).cells > CELLS_MAX);
        let reversed = record(record::DIMENSIONS, &[[5, 0, 0, 0], [3, 0, 0, 0], [0, 0, 4, 0], [0; 4]].concat()[..14]);
        assert!(size(&workbook(&[reversed])).cells > CELLS_MAX);
        assert_eq!(size(b"junk"), Size::default());
    }
}
