//! Reading a block: UTF-8 checked, the header passed over, records found, bad ones refused or set aside.

use crate::block::{Block, Shape};
use crate::dialect::Dialect;
use crate::json::{self, Names};
use crate::options::Skipped;
use crate::place::{Flaw, line_ends, shown};
use crate::record::{BadRecord, Records};
use atsdb_core::{Error, Result};

/// How to read one file.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    /// The file's name, for messages.
    pub(crate) file: String,
    /// Where its records end.
    pub(crate) shape: Shape,
    /// Names of the fields; an empty one is not read.
    pub(crate) names: Vec<String>,
    /// For separated values.
    pub(crate) dialect: Option<Dialect>,
    /// Whether bad records are set aside.
    pub(crate) skip_bad: bool,
}

/// The records of a block.
#[derive(Debug)]
pub(crate) struct ReadBlock {
    /// The file's position in the import.
    pub(crate) file: usize,
    /// The text that fields lie in.
    pub(crate) text: String,
    /// The line its first byte is in.
    pub(crate) first_line: u64,
    /// Where the fields lie.
    pub(crate) records: Records,
    /// Names of the fields, more than the manner's when JSON brought new ones.
    pub(crate) names: Vec<String>,
    /// Records set aside.
    pub(crate) skipped: Vec<Skipped>,
    /// The first name that is not among the manner's, when none may be added, and the line of its object.
    pub(crate) unknown: Option<(String, u64)>,
}

impl ReadBlock {
    /// The line of a byte of the text.
    pub(crate) fn line_of(&self, position: usize) -> u64 {
        self.first_line + line_ends(&self.text.as_bytes()[..position.min(self.text.len())])
    }
}

impl Manner {
    /// Finds the records of a block. With `may_grow`, names that are new are added, else the first is reported.
    pub(crate) fn read(&self, block: Block, may_grow: bool) -> Result<ReadBlock> {
        let Block { file, bytes, first_line, is_first } = block;
        let text = String::from_utf8(bytes).map_err(|error| self.not_utf8(&error, first_line))?;
        let mut names = self.names.clone();
        let mut unknown = None;
        let (records, bad) = match self.shape {
            Shape::Separated(separator) => {
                let start = match &self.dialect {
                    Some(dialect) if is_first => dialect.data_start(text.as_bytes()),
                    _ => 0,
                };
                separator.records_from(text.as_bytes(), start, Some(self.names.len().max(1)))
            }
            Shape::Json => {
                let mut known = Names::new(&self.names, may_grow);
                let block = json::records(&text, &mut known);
                names = known.list;
                unknown = block.unknown.map(|(name, start)| (name, first_line + line_ends(&text.as_bytes()[..start])));
                (block.records, block.bad)
            }
        };
        let mut read = ReadBlock { file, text, first_line, records, names, skipped: Vec::new(), unknown };
        let mut described = bad.iter().map(|bad| self.describe(&read, bad));
        if !self.skip_bad {
            return match described.next() {
                Some(skipped) => Err(Flaw { row: 0, skipped, hint: None }.into_error()),
                None => {
                    drop(described);
                    Ok(read)
                }
            };
        }
        let skipped = described.collect();
        read.skipped = skipped;
        Ok(read)
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
        Error::invalid(format!("{}, line {line}: byte {byte:#04x} is no UTF-8", self.file))
            .with_hint("convert it on the way: iconv -f LATIN1 -t UTF-8 FILE | atsdb import URL TABLE -")
    }
}
