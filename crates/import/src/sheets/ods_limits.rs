//! Limits for OpenDocument spreadsheets, and their merged areas, which the reader of workbooks leaves out. That reader
//! holds all cells of all sheets, and a few bytes may repeat a cell or a row a million times.

use crate::sheets::workbook::{MergedArea, SheetArea};
use crate::sheets::{CELLS_MAX, TEXT_BYTES_MAX, damaged, too_large};
use atsdb_core::Result;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::io::{BufReader, Read};

/// The maximum size of the document in bytes.
const DOCUMENT_BYTES_MAX: u64 = TEXT_BYTES_MAX;

/// The columns of the widest sheet.
const COLUMNS_MAX: u64 = 1 << 14;

/// The rows of the longest sheet.
const ROWS_MAX: u64 = 1 << 20;

/// The most merged areas.
const AREAS_MAX: usize = 1 << 20;

/// The size of the rows that were read so far.
#[derive(Debug, Default)]
struct Size {
    /// The number of cells of all sheets.
    cells: u64,
    text_bytes: u64,
    /// The number of rows of the sheet.
    rows: u64,
    empty_rows: u64,
    width: u64,
    /// The number of equal rows that the row's element represents.
    row_repeats: u64,
    row_width: u64,
    column: u64,
    /// The number of equal cells that the cell's element represents.
    cell_repeats: u64,
    cell_bytes: u64,
    has_value: bool,
    /// The sheet's name, and the merged areas of all sheets.
    sheet: String,
    merged: Vec<SheetArea>,
}

/// Checks `content.xml`, and returns the merged areas of several rows.
pub(crate) fn check(name: &str, part: impl Read) -> Result<Vec<SheetArea>> {
    let mut limited = part.take(DOCUMENT_BYTES_MAX + 1);
    let mut reader = Reader::from_reader(BufReader::new(&mut limited));
    reader.config_mut().expand_empty_elements = true;
    let (mut size, mut depth, mut buffer) = (Size::default(), 0_u64, Vec::new());
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => {
                depth += 1;
                size.start(name, &element)?;
            }
            Ok(Event::Text(text)) => size.cell_bytes = size.cell_bytes.saturating_add(text.len() as u64),
            Ok(Event::GeneralRef(_)) => size.cell_bytes = size.cell_bytes.saturating_add(4),
            Ok(Event::CData(text)) => size.cell_bytes = size.cell_bytes.saturating_add(text.len() as u64),
            Ok(Event::End(element)) => {
                depth = depth.saturating_sub(1);
                size.end(name, element.name().0)?;
            }
            // The reader would look for the end of some elements for ever.
            Ok(Event::Eof) if depth > 0 => {
                return Err(damaged(name, "an OpenDocument spreadsheet", "it is cut off"));
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => return Err(damaged(name, "an OpenDocument spreadsheet", error)),
        }
    }
    drop(reader);
    if limited.limit() == 0 {
        return Err(too_large(name, format_args!("it takes more than {} MiB unpacked", DOCUMENT_BYTES_MAX >> 20)));
    }
    Ok(size.merged)
}

impl Size {
    fn start(&mut self, name: &str, element: &BytesStart<'_>) -> Result<()> {
        let refused = |error: String| damaged(name, "an OpenDocument spreadsheet", error);
        match element.name().0 {
            "table:table" => {
                (self.rows, self.empty_rows, self.width) = (0, 0, 0);
                let mut attributes = element.attributes().flatten();
                let named = attributes.find(|attribute| attribute.key.0 == "table:name");
                self.sheet = named.map_or(String::new(), |name| unescaped(&name.value));
            }
            "table:table-row" => {
                (self.row_width, self.column, self.row_repeats) = (0, 0, 1);
                for attribute in element.attributes() {
                    let attribute = attribute.map_err(|error| refused(error.to_string()))?;
                    if attribute.key.0 == "table:number-rows-repeated" {
                        self.row_repeats =
                            repeats(&attribute.value, ROWS_MAX).ok_or_else(|| refused(shown(&attribute)))?;
                    }
                }
            }
            "table:table-cell" | "table:covered-table-cell" => {
                (self.cell_bytes, self.cell_repeats, self.has_value) = (0, 1, false);
                for attribute in element.attributes() {
                    let attribute = attribute.map_err(|error| refused(error.to_string()))?;
                    let key = attribute.key.0;
                    if key == "table:number-columns-repeated" {
                        self.cell_repeats =
                            repeats(&attribute.value, COLUMNS_MAX).ok_or_else(|| refused(shown(&attribute)))?;
                    } else if key == "table:number-rows-spanned" {
                        let rows = repeats(&attribute.value, ROWS_MAX).ok_or_else(|| refused(shown(&attribute)))?;
                        self.merge(name, rows)?;
                    } else if key == "table:formula" || key.starts_with("office:") || key.starts_with("calcext:") {
                        self.has_value = true;
                        self.cell_bytes = self.cell_bytes.saturating_add(attribute.value.len() as u64);
                    }
                }
            }
            // Blanks.
            "text:s" => {
                for attribute in element.attributes() {
                    let attribute = attribute.map_err(|error| refused(error.to_string()))?;
                    if attribute.key.0 == "text:c" {
                        let count =
                            repeats(&attribute.value, TEXT_BYTES_MAX + 1).ok_or_else(|| refused(shown(&attribute)))?;
                        self.cell_bytes = self.cell_bytes.saturating_add(count);
                    }
                }
            }
            _ => {}
        }
        self.check(name, self.text_bytes.saturating_add(self.cell_bytes))
    }

    fn end(&mut self, name: &str, element: &str) -> Result<()> {
        match element {
            "table:table-cell" | "table:covered-table-cell" => {
                self.column = self.column.saturating_add(self.cell_repeats).min(COLUMNS_MAX);
                if self.has_value {
                    self.row_width = self.column;
                    let repeated = self.cell_bytes.saturating_mul(self.cell_repeats).saturating_mul(self.row_repeats);
                    self.text_bytes = self.text_bytes.saturating_add(repeated);
                }
                self.cell_bytes = 0;
            }
            "table:table-row" if self.row_width > 0 => {
                self.rows += self.empty_rows + self.row_repeats;
                (self.width, self.empty_rows) = (self.width.max(self.row_width), 0);
            }
            "table:table-row" => self.empty_rows = self.empty_rows.saturating_add(self.row_repeats).min(ROWS_MAX),
            "table:table" => {
                self.cells = self.cells.saturating_add(self.rows.saturating_mul(self.width));
                (self.rows, self.empty_rows, self.width) = (0, 0, 0);
            }
            _ => {}
        }
        self.check(name, self.text_bytes)
    }

    /// Notes that the cell is merged with those below it, over so many rows.
    fn merge(&mut self, name: &str, rows: u64) -> Result<()> {
        let first_row = self.rows.saturating_add(self.empty_rows);
        let numbers = (u32::try_from(first_row), u32::try_from(first_row + rows), u32::try_from(self.column));
        let (Ok(first_row), Ok(end_row), Ok(column)) = numbers else { return Ok(()) };
        if rows > 1 {
            self.merged.push((self.sheet.clone(), MergedArea { first_row, last_row: end_row - 1, column }));
        }
        if self.merged.len() > AREAS_MAX {
            return Err(too_large(name, format_args!("it has more than {AREAS_MAX} merged areas")));
        }
        Ok(())
    }

    fn check(&self, name: &str, text_bytes: u64) -> Result<()> {
        let cells = self.cells.saturating_add(self.rows.saturating_mul(self.width));
        if cells > CELLS_MAX {
            return Err(too_large(name, format_args!("its sheets have more than {CELLS_MAX} cells")));
        }
        if text_bytes > TEXT_BYTES_MAX {
            return Err(too_large(name, format_args!("its texts take more than {} MiB", TEXT_BYTES_MAX >> 20)));
        }
        Ok(())
    }
}

/// The text of an attribute, as the reader of workbooks returns it.
fn unescaped(value: &str) -> String {
    quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), |text| text.into_owned())
}

/// A number of repetitions, at most `most`.
fn repeats(value: &str, most: u64) -> Option<u64> {
    value.parse::<u64>().ok().map(|count| count.min(most))
}

fn shown(attribute: &quick_xml::events::attributes::Attribute<'_>) -> String {
    format!("{} = {:.20}", attribute.key.0, attribute.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(rows: &str) -> Result<Vec<SheetArea>> {
        check("x.ods", format!("<a><table:table table:name=\"t\">{rows}</table:table></a>").as_bytes())
    }

    #[test]
    fn repeated_cells_are_counted_before_they_are_made() {
        let cell = "<table:table-cell office:value=\"1\" office:value-type=\"float\"/>";
        for good in [
            format!(
                "<table:table-row>{cell}<table:table-cell table:number-columns-repeated=\"16383\"/></table:table-row>\
                     <table:table-row table:number-rows-repeated=\"1048575\"><table:table-cell/></table:table-row>"
            ),
            cell.replace(
                "<table:table-cell",
                "<table:table-row table:number-rows-repeated=\"1000000\"><table:table-cell",
            ) + "</table:table-row>",
        ] {
            checked(&good).unwrap();
        }
        let wide = cell.replace(" office:value=", " table:number-columns-repeated=\"16384\" office:value=");
        let row = |cells: &str| format!("<table:table-row>{cells}</table:table-row>");
        let text = format!(
            "<table:table-cell office:value-type=\"string\" table:number-columns-repeated=\"16000\"><text:p>{}</text:p>\
             </table:table-cell>",
            "x".repeat(100_000)
        );
        for bad in [
            row(&wide).repeat(3_000),
            row(&wide).replace("<table:table-row", "<table:table-row table:number-rows-repeated=\"5000\""),
            row(cell) + "<table:table-row table:number-rows-repeated=\"1000000\"/>" + &row(&wide),
            row(&text),
            row("<table:table-cell office:value-type=\"string\"><text:s text:c=\"99999999999\"/></table:table-cell>"),
            row("<table:table-cell table:number-columns-repeated=\"-1\"/>"),
            row("<table:table-cell office:value=\"1\"><office:annotation>"),
        ] {
            assert!(checked(&bad).is_err(), "{:.300}", bad);
        }
    }
}
