//! Blocks: splits a file's text where records end, so that several threads can read it. UTF-8 is checked when a block
//! is read.

use crate::csv::separator::Separator;
use crate::csv::several_tables::above_start;
use crate::input::content::BYTE_ORDER_MARK;
use crate::input::source::ImportFile;
use crate::json::{arrays, objects};
use crate::records::Cut;
use crate::records::error::line_ends;
use atsdb_core::{Error, ErrorKind, Result};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The maximum length of a record, in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// The format of records, which decides where they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// Separated values.
    Separated(Separator),
    /// JSON objects.
    Json,
    /// JSON arrays.
    JsonArrays,
}

impl RecordFormat {
    fn last_end(self, text: &[u8]) -> Cut {
        match self {
            Self::Separated(separator) => separator.last_end(text),
            Self::Json => objects::last_end(text),
            Self::JsonArrays => arrays::last_end(text),
        }
    }
}

/// Whole records of one file.
#[derive(Debug)]
pub(crate) struct Block {
    /// The file's position in the import.
    pub(crate) file: usize,
    /// The text.
    pub(crate) bytes: Vec<u8>,
    /// The line its first byte is in, from 1.
    pub(crate) first_line: u64,
    /// Whether this is the first block of the file.
    pub(crate) is_first: bool,
    /// The number of bytes at the beginning that are the last records of the block before, if another table may begin
    /// after them.
    pub(crate) above: usize,
}

/// Splits one file into blocks.
pub(crate) struct BlockReader<'a> {
    source: &'a ImportFile,
    reader: Box<dyn Read + Send>,
    file: usize,
    format: RecordFormat,
    carry: Vec<u8>,
    /// The number of bytes at the beginning of `carry` that are those of the block before.
    above: usize,
    line: u64,
    is_first: bool,
    is_at_end: bool,
    /// Whether the text begins with the bracket of a list.
    begins_list: bool,
    /// The last byte so far that is not blank.
    last_byte: Option<u8>,
}

impl<'a> BlockReader<'a> {
    /// A reader of a source. `file` is its position in the import.
    pub(crate) fn new(
        source: &'a ImportFile,
        file: usize,
        format: RecordFormat,
        read: &Arc<AtomicU64>,
    ) -> Result<Self> {
        let (reader, line) = source.open_records(read)?;
        Ok(Self {
            source,
            reader,
            file,
            format,
            carry: Vec::new(),
            above: 0,
            line,
            is_first: true,
            is_at_end: false,
            begins_list: false,
            last_byte: None,
        })
    }

    /// Returns whether all blocks were returned.
    pub(crate) fn is_done(&self) -> bool {
        self.is_at_end && self.carry.len() == self.above
    }

    /// The next block, of about `byte_count` bytes.
    pub(crate) fn next(&mut self, byte_count: usize) -> Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.carry);
        let above = std::mem::take(&mut self.above);
        let mut target = above + byte_count;
        loop {
            self.fill(&mut bytes, target)?;
            if self.is_at_end && bytes.len() == above {
                return self.check_end(&bytes).map(|()| None);
            }
            let cut = self.format.last_end(&bytes);
            if self.is_at_end {
                if let Some(open) = cut.open.filter(|open| *open < bytes.len()) {
                    return Err(self.unclosed(&bytes[..open]));
                }
                self.check_end(&bytes)?;
                return Ok(Some(self.block(bytes, above)));
            }
            if cut.end > above {
                self.carry = bytes.split_off(cut.end);
                if let RecordFormat::Separated(separator) = self.format {
                    let start = above_start(separator, &bytes, &self.carry);
                    self.above = bytes.len() - start;
                    self.carry.splice(..0, bytes[start..].iter().copied());
                }
                return Ok(Some(self.block(bytes, above)));
            }
            if bytes.len() >= RECORD_BYTES_MAX {
                return Err(self.endless(&bytes, cut));
            }
            target = (bytes.len() * 2).clamp(byte_count, RECORD_BYTES_MAX);
        }
    }

    fn fill(&mut self, bytes: &mut Vec<u8>, target: usize) -> Result<()> {
        while bytes.len() < target && !self.is_at_end {
            let wanted = target - bytes.len();
            bytes.reserve_exact(wanted);
            let count = (&mut self.reader).take(wanted as u64).read_to_end(bytes);
            self.is_at_end = count.map_err(|error| self.source.read_error(error))? < wanted;
            if self.is_first && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
        }
        if self.is_first {
            self.begins_list = bytes.trim_ascii_start().starts_with(b"[");
        }
        self.last_byte = bytes.trim_ascii_end().last().copied().or(self.last_byte);
        Ok(())
    }

    /// Refuses a list of JSON objects that is cut off between two of them. `last` is the last part of the file.
    fn check_end(&self, last: &[u8]) -> Result<()> {
        if self.format != RecordFormat::Json || !self.begins_list || self.last_byte == Some(b']') {
            return Ok(());
        }
        let (name, line) = (&self.source.name, self.line + line_ends(last.trim_ascii_end()));
        Err(Error::invalid(format!("{name}, line {line}: the list of the records is never closed"))
            .with_hint("the file may be cut off"))
    }

    fn block(&mut self, bytes: Vec<u8>, above: usize) -> Block {
        let (first_line, is_first) = (self.line, self.is_first);
        self.line += line_ends(&bytes[..bytes.len() - self.above]);
        self.is_first = false;
        Block { file: self.file, bytes, first_line, is_first, above }
    }

    fn unclosed(&self, before: &[u8]) -> Error {
        let (what, hint) = match self.format {
            RecordFormat::Separated(_) => (
                "a quote is opened and never closed",
                "the file may be cut off, or a quote in the text is not doubled; --no-quotes reads quotes as text",
            ),
            RecordFormat::Json => ("an object is opened and never closed", "the file may be cut off"),
            RecordFormat::JsonArrays => ("an array is opened and never closed", "the file may be cut off"),
        };
        let line = self.line + line_ends(before);
        Error::invalid(format!("{}, line {line}: {what}", self.source.name)).with_hint(hint)
    }

    fn endless(&self, bytes: &[u8], cut: Cut) -> Error {
        let line = self.line + cut.open.map_or(0, |open| line_ends(&bytes[..open]));
        let name = &self.source.name;
        let most = RECORD_BYTES_MAX >> 20;
        Error::new(ErrorKind::Limit, format!("{name}, line {line}: a record is longer than {most} MiB"))
            .with_hint("maybe a closing quote is missing, or the file is not text")
    }
}

/// The blocks of all files of an import, one after another.
pub(crate) struct AllBlocks<'a> {
    sources: &'a [ImportFile],
    formats: Vec<RecordFormat>,
    byte_counts: Vec<usize>,
    read: Arc<AtomicU64>,
    file: usize,
    reader: Option<BlockReader<'a>>,
}

impl<'a> AllBlocks<'a> {
    /// The blocks of these sources, each with its format and its block size in bytes.
    pub(crate) fn new(
        sources: &'a [ImportFile],
        formats: Vec<RecordFormat>,
        byte_counts: Vec<usize>,
        read: &Arc<AtomicU64>,
    ) -> Self {
        Self { sources, formats, byte_counts, read: Arc::clone(read), file: 0, reader: None }
    }

    /// The next block.
    pub(crate) fn next(&mut self) -> Result<Option<Block>> {
        while self.file < self.sources.len() {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => self.reader.insert(BlockReader::new(
                    &self.sources[self.file],
                    self.file,
                    self.formats[self.file],
                    &self.read,
                )?),
            };
            if let Some(block) = reader.next(self.byte_counts[self.file])? {
                return Ok(Some(block));
            }
            (self.reader, self.file) = (None, self.file + 1);
        }
        Ok(None)
    }
}
