//! The rows of a sheet as records of text: fields between tabs, a line for each row of the sheet, so that the number of
//! a line is that of its row.

use crate::sheets::cells::{CellText, is_error_text, push_cell};
use crate::sheets::watched_file::ReadProgress;
use crate::sheets::workbook::{ChosenSheet, MergedArea, Workbook, WorkbookKind};
use crate::sheets::{damaged, too_large};
use atsdb_core::Result;
use atsdb_core::count_text::format_count;
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace, cannot_copy};
use calamine::DataRef;
use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::Arc;

/// The rows and columns of the largest sheet.
const ROWS_MAX: u32 = 1 << 20;
const COLUMNS_MAX: u32 = 1 << 14;

/// The most cells that get the value of a merged area.
const FILLED_MAX: u64 = 50_000_000;

/// The rows between two reports of progress.
const ROWS_AT_ONCE: u64 = 8_192;

/// The text of a sheet.
#[derive(Debug)]
pub(crate) struct SheetText {
    /// The sheet's name, if the file has several.
    pub(crate) name: Option<String>,
    /// The records.
    pub(crate) file: PositionedFile,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// Writes a sheet to a temporary file.
pub(crate) fn sheet_text(
    workbook: &mut Workbook<'_>,
    sheet: &ChosenSheet,
    space: &Arc<TemporarySpace>,
    progress: &ReadProgress<'_>,
) -> Result<SheetText> {
    let (name, kind, is_1904) = (workbook.name.clone(), workbook.kind, workbook.is_1904());
    let merged = workbook.merged_areas(&sheet.name)?;
    let mut rows = SheetRows::new(&name, merged, space, progress)?;
    workbook.cells(&sheet.name, &mut |position, value| {
        match value {
            Some(DataRef::SharedString(text)) if kind == WorkbookKind::Ods && is_error_text(text) => {
                rows.failed(position, (*text).to_owned());
            }
            Some(value) => rows.cell(position, value, is_1904)?,
            None => rows.valueless += 1,
        }
        Ok(true)
    })?;
    rows.end_row()?;
    rows.skipped(workbook.unknown_errors());
    let notes = sheet.notes.iter().cloned().chain(rows.notes(&sheet.name)).collect();
    Ok(SheetText { name: sheet.is_one_of_several.then(|| sheet.name.clone()), file: rows.into_text()?, notes })
}

/// The rows of a sheet, while its cells arrive row by row. They are kept in a temporary file, with the position of
/// each cell, because only the last row shows which columns have values.
struct SheetRows<'a> {
    name: &'a str,
    progress: &'a ReadProgress<'a>,
    space: &'a Arc<TemporarySpace>,
    file: BufWriter<TemporaryFile>,
    /// The row of the cells that are collected.
    row: u32,
    /// The columns of its cells, and where their texts begin and end in `text`.
    cells: Vec<(u32, usize, usize)>,
    text: Vec<u8>,
    row_count: u64,
    columns: Vec<bool>,
    merged: Vec<MergedArea>,
    /// Merged areas that the row may be in, with their values.
    open: Vec<(MergedArea, Vec<u8>)>,
    filled: u64,
    errors: BTreeMap<String, u64>,
    first_error: Option<(u32, u32)>,
    valueless: u64,
}

impl<'a> SheetRows<'a> {
    fn new(
        name: &'a str,
        mut merged: Vec<MergedArea>,
        space: &'a Arc<TemporarySpace>,
        progress: &'a ReadProgress<'a>,
    ) -> Result<Self> {
        merged.sort_by_key(|area| std::cmp::Reverse(area.first_row));
        Ok(Self {
            name,
            progress,
            space,
            file: BufWriter::new(TemporaryFile::new(space)?),
            row: 0,
            cells: Vec::new(),
            text: Vec::new(),
            row_count: 0,
            columns: Vec::new(),
            merged,
            open: Vec::new(),
            filled: 0,
            errors: BTreeMap::new(),
            first_error: None,
            valueless: 0,
        })
    }

    fn cell(&mut self, (row, column): (u32, u32), value: &DataRef<'_>, is_1904: bool) -> Result<()> {
        if row >= ROWS_MAX || column >= COLUMNS_MAX || row < self.row {
            return Err(damaged(
                self.name,
                "a spreadsheet",
                format!("a cell is out of place, in row {}", u64::from(row) + 1),
            ));
        }
        if row > self.row {
            self.end_row()?;
            self.row = row;
        }
        let start = self.text.len();
        match push_cell(&mut self.text, value, is_1904) {
            CellText::Value => self.cells.push((column, start, self.text.len())),
            CellText::Empty => {}
            CellText::Failed(error) => self.failed((row, column), error),
        }
        Ok(())
    }

    fn failed(&mut self, position: (u32, u32), error: String) {
        self.first_error.get_or_insert(position);
        *self.errors.entry(error).or_default() += 1;
    }

    /// Adds errors whose places are unknown.
    fn skipped(&mut self, errors: BTreeMap<String, u64>) {
        for (error, count) in errors {
            *self.errors.entry(error).or_default() += count;
        }
    }

    fn end_row(&mut self) -> Result<()> {
        if self.cells.is_empty() {
            return Ok(());
        }
        self.cells.sort_by_key(|(column, ..)| *column);
        self.fill_merged()?;
        let mut written = || -> io::Result<()> {
            self.file.write_all(&self.row.to_le_bytes())?;
            self.file.write_all(&length_bytes(self.cells.len())?)?;
            for (column, start, end) in &self.cells {
                self.file.write_all(&column.to_le_bytes())?;
                self.file.write_all(&length_bytes(end - start)?)?;
                self.file.write_all(&self.text[*start..*end])?;
            }
            Ok(())
        };
        written().map_err(|error| cannot_copy(self.name, error))?;
        for (column, ..) in &self.cells {
            let column = *column as usize;
            self.columns.resize(self.columns.len().max(column + 1), false);
            self.columns[column] = true;
        }
        self.cells.clear();
        self.text.clear();
        self.row_count += 1;
        if self.row_count.is_multiple_of(ROWS_AT_ONCE) {
            self.progress.rows(self.row_count);
        }
        Ok(())
    }

    /// Gives the cells below the first one of a merged area its value, where they have none.
    fn fill_merged(&mut self) -> Result<()> {
        while let Some(area) = self.merged.pop_if(|area| area.first_row <= self.row) {
            let value = self.cells.iter().find(|(column, ..)| *column == area.column && area.first_row == self.row);
            if let Some((_, start, end)) = value {
                let value = self.text[*start..*end].to_vec();
                self.open.push((area, value));
            }
        }
        self.open.retain(|(area, _)| area.last_row >= self.row);
        let mut is_filled = false;
        for (area, value) in self.open.iter().filter(|(area, _)| area.first_row < self.row) {
            if self.cells.iter().all(|(column, ..)| *column != area.column) {
                let start = self.text.len();
                self.text.extend_from_slice(value);
                self.cells.push((area.column, start, self.text.len()));
                (self.filled, is_filled) = (self.filled + 1, true);
            }
        }
        if self.filled > FILLED_MAX {
            return Err(too_large(self.name, "its merged cells stand for too many values"));
        }
        if is_filled {
            self.cells.sort_by_key(|(column, ..)| *column);
        }
        Ok(())
    }

    fn notes(&self, sheet: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.errors.is_empty() {
            let counts = self.errors.iter().map(|(error, count)| format!("{error} {}", times(*count)));
            let first = self.first_error.map_or(String::new(), |(row, column)| {
                format!("; the first is in {}{}", column_letters(column), row + 1)
            });
            let counts = counts.collect::<Vec<_>>().join(", ");
            notes.push(format!("sheet {sheet}: cells with errors are NULL: {counts}{first}"));
        }
        if self.valueless > 0 {
            notes.push(format!(
                "sheet {sheet}: formulas without a stored value are NULL, {}: open the file in a spreadsheet program \
                 and save it",
                times(self.valueless)
            ));
        }
        if self.filled > 0 {
            notes.push(format!(
                "sheet {sheet}: the value of merged cells is taken for each of their rows, {}",
                times(self.filled)
            ));
        }
        notes
    }

    /// The records, with a field for each column that has a value in any row.
    fn into_text(self) -> Result<PositionedFile> {
        let (name, columns, space) = (self.name, self.columns, self.space);
        let file = self.file.into_inner().map_err(|error| cannot_copy(name, error.into_error()))?;
        let wanted: Vec<u32> = (0..).zip(&columns).filter(|(_, is_used)| **is_used).map(|(column, _)| column).collect();
        let text = written(file, &wanted, self.row_count, TemporaryFile::new(space)?);
        text.map_err(|error| cannot_copy(name, error))
    }
}

/// Writes the fields of these columns into an empty file. Rows without values are empty lines.
fn written(rows: TemporaryFile, columns: &[u32], row_count: u64, text: TemporaryFile) -> io::Result<PositionedFile> {
    let mut rows = BufReader::new(PositionedFile::from(Arc::new(rows)));
    let mut out = BufWriter::new(text);
    let mut next_line = 0;
    for _ in 0..row_count {
        let (row, cell_count) = (number(&mut rows)?, number(&mut rows)?);
        for _ in next_line..row {
            out.write_all(b"\n")?;
        }
        next_line = row + 1;
        let (mut position, mut last) = (0, None);
        for _ in 0..cell_count {
            let (column, length) = (number(&mut rows)?, number(&mut rows)?);
            let target = columns.partition_point(|other| *other < column);
            for _ in position..target {
                out.write_all(b"\t")?;
            }
            let mut text = (&mut rows).take(u64::from(length));
            // A cell that occurs twice counts once.
            if last == Some(column) {
                io::copy(&mut text, &mut io::sink())?;
            } else {
                io::copy(&mut text, &mut out)?;
            }
            (position, last) = (target, Some(column));
        }
        for _ in position + 1..columns.len() {
            out.write_all(b"\t")?;
        }
        out.write_all(b"\n")?;
    }
    let text = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(PositionedFile::from(Arc::new(text)))
}

fn length_bytes(length: usize) -> io::Result<[u8; 4]> {
    u32::try_from(length).map(u32::to_le_bytes).map_err(io::Error::other)
}

fn number(rows: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    rows.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", format_count(count)) }
}

/// `A` for column 0, `AA` for column 26.
fn column_letters(column: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = u64::from(column) + 1;
    while rest > 0 {
        letters.extend(('A'..='Z').nth(((rest - 1) % 26) as usize));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_letters() {
        assert_eq!([0, 25, 26, 701, 702, 16_383].map(column_letters), ["A", "Z", "AA", "ZZ", "AAA", "XFD"]);
    }

    fn text_of(merged: Vec<MergedArea>, cells: &[(u32, u32, &str)]) -> (String, u64) {
        let progress = ReadProgress::new(0, &|_| ());
        let space = Arc::default();
        let mut rows = SheetRows::new("x", merged, &space, &progress).unwrap();
        for (row, column, text) in cells {
            rows.cell((*row, *column), &DataRef::SharedString(text), false).unwrap();
        }
        rows.end_row().unwrap();
        let filled = rows.filled;
        let (mut file, mut text) = (rows.into_text().unwrap(), String::new());
        file.read_to_string(&mut text).unwrap();
        (text, filled)
    }

    #[test]
    fn lines_are_rows_and_fields_are_columns_with_values() {
        let cells = [(2, 5, "b"), (2, 3, "a"), (4, 3, "c"), (4, 9, "d"), (5, 4, "")];
        assert_eq!(text_of(Vec::new(), &cells).0, "\n\na\tb\t\n\nc\t\td\n");
        assert_eq!(text_of(Vec::new(), &[(0, 1, "a"), (0, 1, "b"), (0, 2, "c")]).0, "a\tc\n");
        assert_eq!(text_of(Vec::new(), &[]).0, "");
    }

    #[test]
    fn merged_rows_get_the_value_of_their_area() {
        let area = |first_row, last_row, column| MergedArea { first_row, last_row, column };
        let cells = [(0, 0, "g"), (0, 1, "1"), (1, 1, "2"), (2, 0, "own"), (2, 1, "3"), (3, 1, "4")];
        assert_eq!(text_of(vec![area(0, 2, 0)], &cells), ("g\t1\ng\t2\nown\t3\n\t4\n".to_owned(), 1));
    }

    #[test]
    fn a_cell_out_of_place_is_refused() {
        let progress = ReadProgress::new(0, &|_| ());
        let space = Arc::default();
        let mut rows = SheetRows::new("x", Vec::new(), &space, &progress).unwrap();
        let mut put = |row, column| rows.cell((row, column), &DataRef::Bool(true), false);
        assert!(put(3, 0).is_ok() && put(2, 0).is_err() && put(3, COLUMNS_MAX).is_err() && put(ROWS_MAX, 0).is_err());
    }
}
