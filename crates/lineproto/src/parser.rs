//! Reads a request line by line.
//!
//! A line is parsed completely before any value is stored, so that a refused line leaves no trace. Lines of one series
//! have the same bytes up to their fields, which are looked up as a whole. A line usually has the same fields as the
//! previous line, and a new series the same tags as the previous series, so that their names need only be compared. The
//! parser is written by hand for these shortcuts.

use crate::error::LineError;
use crate::field_type::FieldType;
use crate::precision::Precision;
use crate::scan::{head_end, line_end, separator, unescape};
use crate::series::{Series, SeriesTable, read_tags};
use crate::table::{NamedColumn, TableBlock, TableRows};
use crate::tag::NO_VALUE;
use crate::value::{Value, read_value, shown};
use atsdb_core::TableDefinition;
use atsdb_core::name::name_key;
use hashbrown::HashMap;
use std::borrow::Cow;

/// A block is returned before it has more values than this, including NULLs. The bytes of texts are also counted.
const BLOCK_VALUES_MAX: usize = 4 << 20;
/// The maximum number of errors that are kept.
const ERRORS_MAX: usize = 100;

/// How timestamps are read.
#[derive(Debug, Clone, Copy)]
pub struct LineOptions {
    /// The unit of timestamps.
    pub precision: Precision,
    /// The time of lines without one, in nanoseconds.
    pub now_ns: i64,
}

/// Reads the lines of a request.
pub struct LineParser<'a> {
    body: &'a [u8],
    at: usize,
    /// The number of the line that is read, from 1 on.
    line: u64,
    options: LineOptions,
    series: SeriesTable<'a>,
    tables: Vec<TableRows>,
    table_numbers: HashMap<String, usize>,
    /// The measurement of the last series as written, and its table.
    last_table: Option<(&'a [u8], usize)>,
    /// The fields of the line that is read.
    fields: Vec<(u32, Value<'a>)>,
    value_count: usize,
    value_count_max: usize,
    accepted: u64,
    refused: u64,
    comments: u64,
    errors: Vec<LineError>,
}

/// The reason why a line was refused.
type Refusal = String;

impl<'a> LineParser<'a> {
    /// Begins to read the body of a request, of less than 2 GiB.
    pub fn new(body: &'a [u8], options: LineOptions) -> Self {
        Self {
            body,
            at: 0,
            line: 0,
            options,
            series: SeriesTable::default(),
            tables: Vec::new(),
            table_numbers: HashMap::new(),
            last_table: None,
            fields: Vec::new(),
            value_count: 0,
            value_count_max: BLOCK_VALUES_MAX,
            accepted: 0,
            refused: 0,
            comments: 0,
            errors: Vec::new(),
        }
    }

    /// Returns blocks of about this many values, instead of 4 Mi.
    pub fn with_block_values(mut self, value_count: usize) -> Self {
        self.value_count_max = value_count;
        self
    }

    /// Lines that were accepted so far.
    pub fn accepted_lines(&self) -> u64 {
        self.accepted
    }

    /// Lines that were refused so far.
    pub fn refused_lines(&self) -> u64 {
        self.refused
    }

    /// Lines that were comments so far.
    pub fn comment_lines(&self) -> u64 {
        self.comments
    }

    /// The first refused lines, in order.
    pub fn errors(&self) -> &[LineError] {
        &self.errors
    }

    /// Reads lines until a block is full, and returns the rows of each table; `None` at the end of the body.
    /// `definition` returns the definition of an existing table; it is called once for each table.
    pub fn next_block(&mut self, definition: &dyn Fn(&str) -> Option<TableDefinition>) -> Option<Vec<TableBlock>> {
        while self.value_count < self.value_count_max && self.next_line(definition) {}
        self.value_count = 0;
        let series = &self.series;
        let tag = |number, tag: usize| series.get(number).tags.get(tag).copied().unwrap_or(NO_VALUE);
        let blocks: Vec<TableBlock> = self.tables.iter_mut().filter_map(|table| table.take(tag)).collect();
        (!blocks.is_empty()).then_some(blocks)
    }

    /// Reads the next line. False at the end of the body.
    fn next_line(&mut self, definition: &dyn Fn(&str) -> Option<TableDefinition>) -> bool {
        if self.at >= self.body.len() {
            return false;
        }
        self.line += 1;
        let begin = self.at;
        let start = self.skip(begin, &[b' ', b'\t', b'\r', 0]);
        match self.body.get(start) {
            None => self.at = self.body.len(),
            Some(b'\n') => self.at = start + 1,
            Some(b'#') => {
                self.comments += 1;
                let length = memchr::memchr(b'\n', &self.body[start..]);
                self.at = length.map_or(self.body.len(), |length| start + length + 1);
            }
            Some(_) => {
                let done = self.read_line(start, definition);
                if let Err(message) = done {
                    self.refuse(start, message);
                } else {
                    self.accepted += 1;
                }
                // Texts may hold line breaks.
                let read = &self.body[begin..self.at.saturating_sub(1).max(begin)];
                self.line += memchr::memchr_iter(b'\n', read).count() as u64;
            }
        }
        true
    }

    fn refuse(&mut self, start: usize, message: Refusal) {
        self.refused += 1;
        let end = line_end(self.body, start);
        if self.errors.len() < ERRORS_MAX {
            let text = shown(&self.body[start..end]);
            self.errors.push(LineError { line: self.line, text, message });
        }
        self.at = (end + 1).min(self.body.len());
    }

    fn skip(&self, at: usize, bytes: &[u8]) -> usize {
        let length = self.body[at..].iter().position(|byte| !bytes.contains(byte));
        length.map_or(self.body.len(), |length| at + length)
    }

    fn read_line(&mut self, start: usize, definition: &dyn Fn(&str) -> Option<TableDefinition>) -> Result<(), Refusal> {
        let head_end = head_end(self.body, start).ok_or("missing fields")?;
        let head = &self.body[start..head_end];
        let series = match self.series.find(head) {
            Some(series) => series,
            None => {
                let read = self.read_head(head, definition)?;
                self.series.add(head, read)
            }
        };
        let table = self.series.get(series).table;
        let at = self.skip(head_end, b" ");
        let at = self.read_fields(table, at)?;
        let (time, at) = self.read_time(at)?;
        self.check_fields(table)?;
        let time = self.tables[table].time(time)?;
        self.keep(table, series, time);
        self.at = at;
        Ok(())
    }

    /// Reads measurement and tags.
    fn read_head(
        &mut self,
        head: &'a [u8],
        definition: &dyn Fn(&str) -> Option<TableDefinition>,
    ) -> Result<Series, Refusal> {
        let end = separator(head, 0, b",");
        let measurement = utf8(unescape(&head[..end]), "the measurement")?;
        if measurement.is_empty() {
            return Err("missing measurement".to_owned());
        }
        let known = self.last_table.filter(|(written, _)| **written == head[..end]).map(|(_, table)| table);
        let expected = known.map(|table| self.tables[table].expected_tags.as_slice()).unwrap_or_default();
        let sent = read_tags(head, end, expected)?;
        let number = known.unwrap_or_else(|| self.table(&measurement, definition));
        self.last_table = Some((&head[..end], number));
        let table = &mut self.tables[number];
        if let Some(refusal) = &table.refusal {
            return Err(refusal.clone());
        }
        let mut tags = Vec::with_capacity(table.tags.len());
        for (position, sent) in sent.into_iter().enumerate() {
            let column = match sent.column {
                Some(column) => column,
                None => table.tag(&utf8(unescape(sent.key), "a tag key")?)?,
            };
            if table.expected_tags.get(position).is_none_or(|(key, _)| **key != *sent.key) {
                table.expected_tags.truncate(position);
                table.expected_tags.push((sent.key.into(), column));
            }
            let tag = column as usize;
            if tags.len() <= tag {
                tags.resize(tag + 1, NO_VALUE);
            }
            if tags[tag] != NO_VALUE {
                return Err(format!("duplicate tag {:?}", utf8(unescape(sent.key), "a tag key")?));
            }
            tags[tag] = match unescape(sent.value.as_bytes()) {
                Cow::Borrowed(_) => table.tags[tag].number(sent.value),
                Cow::Owned(value) => table.tags[tag].number(&utf8(Cow::Owned(value), "a tag value")?),
            };
        }
        let has = |tag: u32| tags.get(tag as usize).is_some_and(|value| *value != NO_VALUE);
        let missing = table.required.iter().find_map(|named| match named {
            NamedColumn::Tag(tag) if !has(*tag) => Some(table.tags[*tag as usize].name.clone()),
            NamedColumn::Other => Some("a column that lines cannot set".to_owned()),
            _ => None,
        });
        match missing {
            Some(name) => Err(format!("table {} requires {name}", table.name)),
            None => Ok(Series { table: number, tags }),
        }
    }

    fn table(&mut self, name: &str, definition: &dyn Fn(&str) -> Option<TableDefinition>) -> usize {
        let key = name_key(name);
        if let Some(number) = self.table_numbers.get(&key) {
            return *number;
        }
        let definition = definition(name);
        let name = definition.as_ref().map_or(name, |definition| definition.name.as_str());
        self.tables.push(TableRows::new(name, definition.as_ref(), self.options.now_ns));
        self.table_numbers.insert(key, self.tables.len() - 1);
        self.tables.len() - 1
    }

    /// Reads the fields of a line, and returns where they end.
    fn read_fields(&mut self, table: usize, start: usize) -> Result<usize, Refusal> {
        let (body, line) = (self.body, self.line);
        let table = &mut self.tables[table];
        self.fields.clear();
        let mut at = start;
        loop {
            let position = self.fields.len();
            let expected = table
                .expected
                .get(position)
                .filter(|(name, _)| body[at..].starts_with(name) && body.get(at + name.len()) == Some(&b'='));
            let field = match expected {
                Some((name, field)) => {
                    at += name.len() + 1;
                    *field
                }
                None => {
                    let end = separator(body, at, b"=, \n");
                    let written = &body[at..end];
                    if body.get(end) != Some(&b'=') {
                        let is_empty = written.is_empty() && position == 0;
                        return Err(if is_empty { "missing fields" } else { "invalid field format" }.to_owned());
                    }
                    if written.is_empty() {
                        return Err("missing field key".to_owned());
                    }
                    let name = utf8(unescape(written), "a field key")?;
                    let field = table.field(&name)?;
                    table.expected.truncate(position);
                    table.expected.push((written.into(), field));
                    at = end + 1;
                    field
                }
            };
            let value = read_value(body, &mut at)?;
            let column = &mut table.fields[field as usize];
            match column.last_line == line {
                // If a field occurs twice, its last value counts.
                true => self.fields.iter_mut().filter(|(other, _)| *other == field).for_each(|(_, own)| *own = value),
                false => self.fields.push((field, value)),
            }
            column.last_line = line;
            match body.get(at) {
                Some(b',') => at += 1,
                Some(b' ' | b'\n' | b'\r') | None => return Ok(at),
                Some(_) => return Err("invalid field format".to_owned()),
            }
        }
    }

    /// Reads the timestamp of a line, in nanoseconds, and the end of the line. Returns where the next line begins.
    fn read_time(&self, at: usize) -> Result<(i64, usize), Refusal> {
        let start = self.skip(at, b" ");
        let length = self.body[start..].iter().position(|byte| matches!(byte, b' ' | b'\n' | b'\r'));
        let end = length.map_or(self.body.len(), |length| start + length);
        let written = &self.body[start..end];
        let time = if written.is_empty() {
            self.options.precision.truncate(self.options.now_ns)
        } else {
            let timestamp = lexical_core::parse::<i64>(written);
            let timestamp = timestamp.map_err(|_| format!("invalid timestamp {:?}", shown(written)))?;
            let time = self.options.precision.nanoseconds(timestamp);
            time.ok_or_else(|| format!("the timestamp {timestamp} is beyond the range of times"))?
        };
        let end = self.skip(end, b" \r");
        match self.body.get(end) {
            None => Ok((time, end)),
            Some(b'\n') => Ok((time, end + 1)),
            Some(_) => Err("invalid timestamp".to_owned()),
        }
    }

    /// Brings the values of the line into their columns' types.
    fn check_fields(&mut self, table: usize) -> Result<(), Refusal> {
        let table = &mut self.tables[table];
        let mut refused = None;
        for (field, value) in &mut self.fields {
            let column = &mut table.fields[*field as usize];
            let field_type = *column.field_type.get_or_insert_with(|| FieldType::of_value(value));
            let is_utf8 = !matches!(*value, Value::Text(bytes, _) if std::str::from_utf8(bytes).is_err());
            // Copying the value would cost as much as reading it.
            if is_utf8 && field_type.holds(value) {
                continue;
            }
            match field_type.admit(*value).filter(|_| is_utf8) {
                Some(admitted) => *value = admitted,
                None if !is_utf8 => refused = Some(format!("field {:?} is not UTF-8", column.name)),
                None => {
                    refused = Some(format!(
                        "field type conflict: input field \"{}\" on measurement \"{}\" is type {}, already exists as \
                         type {}",
                        column.name,
                        table.name,
                        value.type_name(),
                        field_type.name()
                    ));
                }
            }
        }
        let line = self.line;
        let is_missing = |named: &&NamedColumn| match named {
            NamedColumn::Field(field) => table.fields[*field as usize].last_line != line,
            NamedColumn::Tag(_) | NamedColumn::Other => false,
        };
        if let Some(NamedColumn::Field(field)) = table.required.iter().find(is_missing) {
            refused = Some(format!("table {} requires {}", table.name, table.fields[*field as usize].name));
        }
        let Some(refused) = refused else { return Ok(()) };
        for (field, _) in &self.fields {
            let column = &mut table.fields[*field as usize];
            if !column.is_settled {
                column.field_type = None;
            }
        }
        Err(refused)
    }

    /// Keeps a line that was read.
    fn keep(&mut self, table: usize, series: u32, time: i64) {
        let table = &mut self.tables[table];
        let row = table.times.len();
        table.times.push(time);
        table.series.push(series);
        for (field, value) in self.fields.drain(..) {
            let column = &mut table.fields[field as usize];
            if !column.has_values() {
                table.active_fields += 1;
                // The rows before are NULL in it.
                self.value_count += row;
            }
            if let Value::Text(text, _) = value {
                self.value_count += text.len() / 8;
            }
            column.is_settled = true;
            column.push(row, value);
        }
        self.value_count += 1 + table.tags.len() + table.active_fields;
    }
}

fn utf8<'a>(bytes: Cow<'a, [u8]>, what: &str) -> Result<Cow<'a, str>, Refusal> {
    let refuse = || format!("{what} is not UTF-8");
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| refuse()),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|_| refuse()),
    }
}
