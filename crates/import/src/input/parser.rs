//! Reads a block: checks UTF-8, skips the header, finds the records, and refuses or skips bad ones.

use crate::csv::dialect::Dialect;
use crate::csv::separator::{Quoting, Separator};
use crate::csv::several_tables::{may_begin_table, remove_headers, second_header};
use crate::csv::unpivot::Unpivot;
use crate::facts::nulls::NullTexts;
use crate::input::blocks::{Block, RecordFormat};
use crate::json::reader::Names;
use crate::json::{arrays, objects};
use crate::options::report::Skipped;
use crate::records::error::{RecordError, line_ends, shown};
use crate::records::{BadRecord, Field, Records};
use atsdb_core::{Error, Result};
use std::collections::HashSet;
use std::sync::Arc;

/// The parser of one file's records.
#[derive(Debug, Clone)]
pub(crate) struct RecordParser {
    /// The file's name, for messages.
    pub(crate) file: String,
    /// The format of its records.
    pub(crate) format: RecordFormat,
    /// Names of the fields; an empty one is not read.
    pub(crate) names: Vec<String>,
    /// The dialect of separated values; `None` for other formats.
    pub(crate) dialect: Option<Dialect>,
    /// The columns of separated values that become rows; `None` without them. `names` are then those of the new
    /// records.
    pub(crate) unpivot: Option<Unpivot>,
    /// The texts that mean NULL.
    pub(crate) nulls: NullTexts,
    /// Whether bad records are skipped.
    pub(crate) skip_bad: bool,
    /// The number of the first JSON arrays that are the header: names, and types below them.
    pub(crate) array_header_count: usize,
    /// For each column of JSON arrays, whether it is text by the types in their header; empty without types.
    pub(crate) array_text_columns: Vec<bool>,
    /// Whether the records are features of GeoJSON.
    pub(crate) is_geojson: bool,
    /// The names of objects within JSON objects of any file, which are no columns.
    pub(crate) objects: Arc<HashSet<String>>,
    /// The names within JSON objects whose objects stay text, because the table has columns of JSON for them.
    pub(crate) documents: Arc<Vec<String>>,
}

/// The records of a block.
#[derive(Debug)]
pub(crate) struct ReadBlock {
    /// The file's position in the import.
    pub(crate) file: usize,
    /// The text that contains the fields.
    pub(crate) text: String,
    /// The line its first byte is in.
    pub(crate) first_line: u64,
    /// The length of the file's own text. Names of columns that become rows may follow.
    pub(crate) own_bytes: usize,
    /// The locations of the fields.
    pub(crate) records: Records,
    /// Names of the fields: those of the parser, and new ones in JSON.
    pub(crate) names: Vec<String>,
    /// Skipped records.
    pub(crate) skipped: Vec<Skipped>,
    /// The first name that the parser does not know and must not add, and the line of its object.
    pub(crate) unknown: Option<(String, u64)>,
}

impl ReadBlock {
    /// The line of a byte of the text. The names of columns are in line 1.
    pub(crate) fn line_of(&self, position: usize) -> u64 {
        if position >= self.own_bytes && self.own_bytes < self.text.len() {
            return 1;
        }
        self.first_line + line_ends(&self.text.as_bytes()[..position.min(self.text.len())])
    }
}

impl RecordParser {
    /// Finds the records of a block. With `may_grow`, unknown names are added; otherwise the first unknown name is
    /// reported.
    pub(crate) fn read(&self, block: Block, may_grow: bool) -> Result<ReadBlock> {
        let Block { file, bytes, first_line, is_first, above } = block;
        let mut text = String::from_utf8(bytes).map_err(|error| self.not_utf8(&error, first_line))?;
        let own_bytes = text.len();
        let mut names = self.names.clone();
        let mut unknown = None;
        let (records, bad) = match self.format {
            RecordFormat::Separated(separator) => {
                let start = match &self.dialect {
                    Some(dialect) if is_first => dialect.data_start(text.as_bytes()),
                    _ => above,
                };
                let width = self.unpivot.as_ref().map_or(self.names.len(), |unpivot| unpivot.width);
                let (mut records, mut bad) = separator.records_from(text.as_bytes(), start, Some(width.max(1)));
                if let Some(dialect) = self.dialect.as_ref().filter(|dialect| !dialect.header.is_empty()) {
                    let bytes = text.as_bytes();
                    remove_headers(separator, &mut records, &mut bad, bytes, &dialect.header);
                    let around = (above > 0).then(|| {
                        let (mut around, mut bad) = separator.records(&bytes[..above], Some(records.width));
                        remove_headers(separator, &mut around, &mut bad, bytes, &dialect.header);
                        around.extend_from_first(&records, 2);
                        around
                    });
                    let mut parts = around.iter().chain([&records]);
                    if let Some(second) = parts.find_map(|records| second_header(records, bytes, &self.nulls)) {
                        let line = first_line + line_ends(&bytes[..second]);
                        return Err(self.several_tables(separator, line));
                    }
                }
                let empty_count = self.dialect.as_ref().map_or(0, |dialect| dialect.empty_count);
                if empty_count > 0 {
                    bad.extend(without_column(&mut records, text.as_bytes(), empty_count));
                    bad.sort_by_key(|bad| bad.start);
                }
                match &self.unpivot {
                    Some(unpivot) => (unpivot.expand(&mut text, &records), bad),
                    None => (records, bad),
                }
            }
            RecordFormat::Json | RecordFormat::JsonArrays => {
                let known = Names::new(&self.names, may_grow).of_features(self.is_geojson);
                let mut known = known.without_objects(&self.objects).with_documents(&self.documents);
                let mut block = match self.format {
                    RecordFormat::JsonArrays => arrays::records(&text, &mut known),
                    _ => objects::records(&text, &mut known),
                };
                if is_first {
                    block.records.remove_first(self.array_header_count);
                }
                names = known.list;
                unknown = block.unknown.map(|(name, start)| (name, first_line + line_ends(&text.as_bytes()[..start])));
                (block.records, block.bad)
            }
        };
        let mut read = ReadBlock { file, text, first_line, own_bytes, records, names, skipped: Vec::new(), unknown };
        if let Some(first) = bad.first().filter(|_| !self.skip_bad) {
            let skipped = self.describe(&read, first);
            let text = read.text.as_bytes();
            let hint = match self.format {
                RecordFormat::Separated(separator) if may_begin_table(separator, text, first.start, &self.nulls) => {
                    let tables = tables_hint(separator, skipped.line);
                    Some(format!("{tables}, or pass --skip-bad to leave such lines out"))
                }
                _ => None,
            };
            return Err(RecordError { row: 0, skipped, hint }.into_error());
        }
        let skipped = bad.iter().map(|bad| self.describe(&read, bad)).collect();
        read.skipped = skipped;
        Ok(read)
    }

    fn several_tables(&self, separator: Separator, line: u64) -> Error {
        Error::invalid(format!("{}, line {line}: another table begins after an empty line", self.file))
            .with_hint(tables_hint(separator, line))
    }

    fn describe(&self, read: &ReadBlock, bad: &BadRecord) -> Skipped {
        Skipped {
            file: self.file.clone(),
            line: read.line_of(bad.start),
            column: None,
            value: if bad.value.is_empty() { String::new() } else { shown(&bad.value) },
            reason: bad.reason.clone(),
        }
    }

    fn not_utf8(&self, error: &std::string::FromUtf8Error, first_line: u64) -> Error {
        let position = error.utf8_error().valid_up_to();
        let line = first_line + line_ends(&error.as_bytes()[..position]);
        let byte = error.as_bytes().get(position).copied().unwrap_or(0);
        Error::invalid(format!("{}, line {line}: byte {byte:#04x} is not UTF-8", self.file))
            .with_hint("name the encoding, such as --encoding latin1 or --encoding windows-1251")
    }
}

/// Returns the hint for a file in which another table may begin in this line.
fn tables_hint(separator: Separator, line: u64) -> String {
    let before = line.saturating_sub(1);
    let above = match separator.quoting {
        Quoting::Cells => "what is above it needs a sheet of its own".to_owned(),
        _ => format!("head -n {before} FILE | atsdb import URL TABLE - reads what is above it"),
    };
    format!("if another table begins there, --skip {before} reads it alone, and {above}; otherwise correct the line")
}

/// Takes out the records with a value in one of the last fields, which have no column.
fn without_column(records: &mut Records, text: &[u8], empty_count: usize) -> Vec<BadRecord> {
    let width = records.width;
    let value = |fields: &[Field]| {
        let mut last = fields[width - empty_count..].iter().map(|field| field.bytes(text));
        last.find(|bytes| !bytes.is_empty()).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let mut bad = Vec::new();
    records.retain(|fields, start| {
        let Some(value) = value(fields) else { return true };
        let reason = "is in a field after the last column that has a name".to_owned();
        bad.push(BadRecord { start: start as usize, reason, value });
        false
    });
    bad
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::blocks::BlockReader;
    use crate::input::source::ImportFile;
    use crate::options::{Input, Options};
    use std::io::Cursor;

    /// Reads a text in blocks of about so many bytes. Returns the number of its rows.
    fn row_count(text: &str, byte_count: usize) -> Result<usize> {
        let (options, nulls) = (Options::default(), NullTexts::new(&[]));
        let dialect = Dialect::of(text.as_bytes(), &options, &nulls);
        let parser = RecordParser {
            file: "a.csv".to_owned(),
            format: RecordFormat::Separated(dialect.separator),
            names: dialect.names.clone(),
            dialect: Some(dialect),
            unpivot: None,
            nulls,
            skip_bad: false,
            array_header_count: 0,
            array_text_columns: Vec::new(),
            is_geojson: false,
            objects: Arc::default(),
            documents: Arc::default(),
        };
        let input = Input::Reader("a.csv".to_owned(), Box::new(Cursor::new(text.to_owned())));
        let source = ImportFile::new(input, &options, &|_| ()).unwrap();
        let mut blocks = BlockReader::new(&source, 0, parser.format, &Arc::default()).unwrap();
        let mut count = 0;
        while let Some(block) = blocks.next(byte_count)? {
            count += parser.read(block, false)?.records.count();
        }
        assert!(blocks.is_done());
        Ok(count)
    }

    #[test]
    fn another_table_is_found_wherever_a_block_ends() {
        let first = "time,temp\n1,1.5\n2,2.5\n";
        for between in ["\n", "\r\n", "\r\n\n"] {
            let text = format!("{first}{between}time,hum\n1,50\n2,51\n");
            let line = 4 + between.matches('\n').count();
            for byte_count in 1..text.len() {
                let error = row_count(&text, byte_count).unwrap_err();
                let wanted = format!("a.csv, line {line}: another table begins after an empty line");
                assert_eq!(error.message(), wanted, "{byte_count}: {text:?}");
            }
        }
    }

    #[test]
    fn records_at_the_end_of_a_block_are_rows_once() {
        for text in ["a,b\n1,2\n\n2,3\n\n\n3,4\n4,5\n\n", "a,b\r\n1,\"x\n\ny\"\r\n\r\n2,y\r\n\r\n9,w\r\n3,4"] {
            for byte_count in 1..=text.len() + 1 {
                assert_eq!(row_count(text, byte_count).unwrap(), 4, "{byte_count}: {text:?}");
            }
        }
    }
}
