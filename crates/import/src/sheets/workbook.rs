//! Workbooks: their sheets, and the cells of a sheet.

use crate::sheets::cells::borrowed;
use crate::sheets::watched_file::WatchedFile;
use crate::sheets::{damaged, xls_limits};
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Error, Result};
use calamine::{
    Data, DataRef, Dimensions, Ods, Range, Reader, Sheet, SheetType, SheetVisible, Xls, Xlsb, Xlsx, XlsxError,
};
use std::collections::BTreeMap;
use std::io::{BufReader, Cursor, Read};

/// The most sheets that a note lists.
const SHEETS_SHOWN: usize = 20;

/// The kind of a workbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkbookKind {
    /// Excel, from 2007 on.
    Xlsx,
    /// Excel in binary form, from 2007 on.
    Xlsb,
    /// Excel, up to 2003.
    Xls,
    /// OpenDocument.
    Ods,
}

enum Book<'a> {
    Xlsx(Box<Xlsx<BufReader<WatchedFile<'a>>>>),
    Xlsb(Box<Xlsb<BufReader<WatchedFile<'a>>>>),
    Xls(Box<Xls<Cursor<Vec<u8>>>>),
    Ods(Box<Ods<BufReader<WatchedFile<'a>>>>),
}

/// An open workbook.
pub(crate) struct Workbook<'a> {
    /// The name of its file.
    pub(crate) name: String,
    pub(crate) kind: WorkbookKind,
    merged: MergedAreas,
    book: Book<'a>,
    /// Errors in cells that the reader does not know, with counts.
    unknown_errors: BTreeMap<String, u64>,
}

/// The sheet to read.
#[derive(Debug)]
pub(crate) struct ChosenSheet {
    pub(crate) name: String,
    pub(crate) is_one_of_several: bool,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// The first column of a merged area of several rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MergedArea {
    pub(crate) first_row: u32,
    pub(crate) last_row: u32,
    pub(crate) column: u32,
}

/// A merged area, with the name of its sheet.
pub(crate) type SheetArea = (String, MergedArea);

/// The merged areas of a workbook.
pub(crate) enum MergedAreas {
    /// The reader of workbooks finds them. For .xlsx it reads the whole sheet once more.
    InWorkbook,
    /// The list is complete.
    Known(Vec<SheetArea>),
}

/// Receives a cell, with its row and column from 0. `None` is a formula without a stored value. `false` ends it.
type CellReceiver<'a> = dyn FnMut((u32, u32), Option<&DataRef<'_>>) -> Result<bool> + 'a;

impl<'a> Workbook<'a> {
    pub(crate) fn open(name: &str, file: WatchedFile<'a>, kind: WorkbookKind, merged: MergedAreas) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| damaged(name, kind.format(), error);
        let mut reader = BufReader::new(file);
        let book = match kind {
            WorkbookKind::Xlsx => Book::Xlsx(Box::new(Xlsx::new(reader).map_err(|error| failed(&error))?)),
            WorkbookKind::Xlsb => Book::Xlsb(Box::new(Xlsb::new(reader).map_err(|error| failed(&error))?)),
            WorkbookKind::Ods => Book::Ods(Box::new(Ods::new(reader).map_err(|error| failed(&error))?)),
            WorkbookKind::Xls => {
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes).map_err(|error| failed(&error))?;
                xls_limits::check(name, &bytes)?;
                Book::Xls(Box::new(Xls::new(Cursor::new(bytes)).map_err(|error| failed(&error))?))
            }
        };
        Ok(Self { name: name.to_owned(), kind, merged, book, unknown_errors: BTreeMap::new() })
    }

    /// Returns whether days count from 1904. In OpenDocument they are written as dates.
    pub(crate) fn is_1904(&self) -> bool {
        match &self.book {
            Book::Xlsx(book) => book.has_1904_epoch(),
            Book::Xlsb(book) => book.has_1904_epoch(),
            Book::Xls(book) => book.has_1904_epoch(),
            Book::Ods(_) => false,
        }
    }

    /// The sheet of this name, or the first one that has several rows, or else one; preferably not a hidden one.
    pub(crate) fn choose(&mut self, wanted: Option<&str>) -> Result<ChosenSheet> {
        let sheets: Vec<Sheet> =
            self.sheets().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet).cloned().collect();
        let is_one_of_several = sheets.len() > 1;
        if let Some(wanted) = wanted {
            let exact = sheets.iter().find(|sheet| sheet.name == wanted);
            let found = exact.or_else(|| sheets.iter().find(|sheet| same_name(&sheet.name, wanted)));
            return match found {
                Some(sheet) => Ok(ChosenSheet { name: sheet.name.clone(), is_one_of_several, notes: Vec::new() }),
                None => Err(self.unknown_sheet(wanted, &sheets)),
            };
        }
        let (visible, hidden): (Vec<&Sheet>, Vec<&Sheet>) =
            sheets.iter().partition(|sheet| sheet.visible == SheetVisible::Visible);
        for group in [visible, hidden] {
            let (mut single, mut found) = (None, None);
            for sheet in group {
                match self.row_count_up_to_two(&sheet.name)? {
                    0 => {}
                    1 => single = single.or(Some(sheet)),
                    _ => {
                        found = Some(sheet);
                        break;
                    }
                }
            }
            if let Some(sheet) = found.or(single) {
                let others: Vec<&str> =
                    sheets.iter().map(|other| other.name.as_str()).filter(|other| *other != sheet.name).collect();
                let note = format!("read sheet {}; --sheet NAME reads another: {}", sheet.name, listed(&others));
                let notes = if is_one_of_several { vec![note] } else { Vec::new() };
                return Ok(ChosenSheet { name: sheet.name.clone(), is_one_of_several, notes });
            }
        }
        let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
        Err(Error::usage(format!("{} has no rows in its sheets: {}", self.name, listed(&names)))
            .with_hint("open the workbook, and save it with its rows"))
    }

    /// The number of a sheet's rows with values, at most 2.
    fn row_count_up_to_two(&mut self, sheet: &str) -> Result<usize> {
        let (mut last_row, mut count) = (None, 0);
        self.cells(sheet, &mut |(row, _), value| {
            let is_empty = value.is_some_and(|value| matches!(value, DataRef::Empty));
            if !is_empty && last_row != Some(row) {
                (last_row, count) = (Some(row), count + 1);
            }
            Ok(count < 2)
        })?;
        // These cells are read again.
        self.unknown_errors.clear();
        Ok(count)
    }

    fn unknown_sheet(&self, wanted: &str, sheets: &[Sheet]) -> Error {
        let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
        let error = unknown_name("sheet", wanted, names.iter().copied()).context(&self.name);
        let near = error.hint().filter(|hint| hint.starts_with("did you mean")).map(str::to_owned);
        let near = near.map_or(String::new(), |near| format!("{near} "));
        error.with_hint(format!("{near}available: {}", listed(&names)))
    }

    fn sheets(&self) -> &[Sheet] {
        match &self.book {
            Book::Xlsx(book) => book.sheets_metadata(),
            Book::Xlsb(book) => book.sheets_metadata(),
            Book::Xls(book) => book.sheets_metadata(),
            Book::Ods(book) => book.sheets_metadata(),
        }
    }

    /// Passes on the cells of a sheet, row by row.
    pub(crate) fn cells(&mut self, sheet: &str, receive: &mut CellReceiver<'_>) -> Result<()> {
        let (name, format) = (self.name.clone(), self.kind.format());
        let failed = |error: &dyn std::fmt::Display| damaged(&name, format, format!("sheet {sheet}: {error}"));
        match &mut self.book {
            Book::Xlsx(book) => {
                let mut cells = book.worksheet_cells_reader(sheet).map_err(|error| failed(&error))?;
                loop {
                    let cell = match cells.next_cell_with_formula_metadata() {
                        Ok(Some(cell)) => cell,
                        Ok(None) => return Ok(()),
                        // Errors that are newer than the reader, such as #SPILL!. It goes on with the next cell.
                        Err(XlsxError::CellError(error)) => {
                            *self.unknown_errors.entry(error).or_default() += 1;
                            continue;
                        }
                        Err(error) => return Err(failed(&error)),
                    };
                    let is_valueless = cell.formula.is_some() && cell.value == DataRef::Empty;
                    if !receive(cell.pos, (!is_valueless).then_some(&cell.value))? {
                        return Ok(());
                    }
                }
            }
            Book::Xlsb(book) => {
                let mut cells = book.worksheet_cells_reader(sheet).map_err(|error| failed(&error))?;
                while let Some(cell) = cells.next_cell().map_err(|error| failed(&error))? {
                    if !receive(cell.get_position(), Some(cell.get_value()))? {
                        return Ok(());
                    }
                }
                Ok(())
            }
            Book::Xls(book) => receive_range(&book.worksheet_range(sheet).map_err(|error| failed(&error))?, receive),
            Book::Ods(book) => receive_range(&book.worksheet_range(sheet).map_err(|error| failed(&error))?, receive),
        }
    }

    /// Takes the errors in cells that the reader does not know.
    pub(crate) fn unknown_errors(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.unknown_errors)
    }

    /// The merged areas of a sheet that have several rows.
    pub(crate) fn merged_areas(&mut self, sheet: &str) -> Result<Vec<MergedArea>> {
        let (name, format) = (self.name.clone(), self.kind.format());
        if let MergedAreas::Known(areas) = &self.merged {
            return Ok(areas.iter().filter(|(of, _)| of == sheet).map(|(_, area)| *area).collect());
        }
        let areas = match &mut self.book {
            Book::Xlsx(book) => book.merge_cells_by_sheet_name(sheet).map_err(|error| damaged(&name, format, error))?,
            Book::Xls(book) => book.merge_cells_by_sheet_name(sheet).map_err(|error| damaged(&name, format, error))?,
            Book::Xlsb(_) | Book::Ods(_) => Vec::new(),
        };
        let area =
            |area: &Dimensions| MergedArea { first_row: area.start.0, last_row: area.end.0, column: area.start.1 };
        Ok(areas.iter().map(area).filter(|area| area.last_row > area.first_row).collect())
    }
}

impl WorkbookKind {
    fn format(self) -> &'static str {
        match self {
            Self::Xlsx | Self::Xlsb | Self::Xls => "a workbook of Excel",
            Self::Ods => "an OpenDocument spreadsheet",
        }
    }
}

fn receive_range(range: &Range<Data>, receive: &mut CellReceiver<'_>) -> Result<()> {
    let (first_row, first_column) = range.start().unwrap_or_default();
    for (row, column, value) in range.used_cells() {
        let (Ok(row), Ok(column)) = (u32::try_from(row), u32::try_from(column)) else { continue };
        let position = (first_row.saturating_add(row), first_column.saturating_add(column));
        if !receive(position, Some(&borrowed(value)))? {
            return Ok(());
        }
    }
    Ok(())
}

fn listed(names: &[&str]) -> String {
    let more = match names.len().saturating_sub(SHEETS_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(SHEETS_SHOWN)].join(", "))
}
