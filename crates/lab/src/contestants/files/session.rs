//! A folder with one file for each table. The first line, or the first array, contains the names of the columns.

use super::file_format::FileFormat;
use super::json::{json_of_cell, json_rows};
use super::statement::{Aggregate, Statement};
use crate::contestant::{Dialect, Loader, Session};
use crate::data::answer::{Answer, Cell};
use crate::data::columns::{BatchRows, RowSink, insert_rows};
use crate::data::digest::{RowDigest, fold, integer_cell, null_cell, text_cell};
use crate::data::rows::{Binder, RowSet};
use crate::failure::Failure;
use crate::measure::Tier;
use arrow::array::RecordBatch;
use atsdb::TableDefinition;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct FilesSession {
    format: FileFormat,
    folder: PathBuf,
}

/// The rows of a file.
#[derive(Default)]
struct FileRows {
    names: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl FilesSession {
    pub(super) fn new(format: FileFormat, folder: &Path) -> Self {
        Self { format, folder: folder.to_owned() }
    }

    fn path(&self, table: &str) -> PathBuf {
        self.folder.join(format!("{table}.{}", if self.format == FileFormat::Csv { "csv" } else { "json" }))
    }

    fn create(&self, table: &str, names: Vec<String>) -> Result<(), Failure> {
        self.write(table, &FileRows { names, rows: Vec::new() })
    }

    fn read(&self, table: &str) -> Result<FileRows, Failure> {
        let text = fs::read_to_string(self.path(table)).map_err(Failure::broken)?;
        let mut rows = match self.format {
            FileFormat::Csv => csv_rows(&text)?,
            FileFormat::Json => json_rows(&text)?,
        };
        let names = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let name = |cell| if let Cell::Text(name) = cell { name } else { String::new() };
        Ok(FileRows { names: names.into_iter().map(name).collect(), rows })
    }

    fn write(&self, table: &str, rows: &FileRows) -> Result<(), Failure> {
        let names: Vec<Cell> = rows.names.iter().cloned().map(Cell::Text).collect();
        let all = std::iter::once(&names).chain(&rows.rows);
        let mut text = String::new();
        match self.format {
            FileFormat::Csv => all.for_each(|row| csv_line(row, &mut text)),
            FileFormat::Json => {
                let all: Vec<Vec<Value>> = all.map(|row| row.iter().map(json_of_cell).collect()).collect();
                text = serde_json::to_string(&all).map_err(Failure::broken)?;
            }
        }
        fs::write(self.path(table), text).map_err(Failure::broken)
    }

    /// Adds rows: appended to a CSV file; a JSON file is read and rewritten.
    fn append(&self, table: &str, rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
        if self.format == FileFormat::Json {
            let mut all = self.read(table)?;
            all.rows.extend(rows);
            return self.write(table, &all);
        }
        let mut text = String::new();
        rows.iter().for_each(|row| csv_line(row, &mut text));
        let mut file = OpenOptions::new().append(true).open(self.path(table)).map_err(Failure::broken)?;
        file.write_all(text.as_bytes()).map_err(Failure::broken)
    }

    fn add(&self, table: &str, column: &str, number: i64) -> Result<(), Failure> {
        let mut all = self.read(table)?;
        let position = all.position(column)?;
        for row in &mut all.rows {
            match row.get_mut(position) {
                Some(Cell::Integer(value)) => *value += number,
                Some(Cell::Float(value)) => *value += number as f64,
                _ => {}
            }
        }
        self.write(table, &all)
    }
}

impl FileRows {
    fn position(&self, column: &str) -> Result<usize, Failure> {
        let found = self.names.iter().position(|name| name.eq_ignore_ascii_case(column));
        found.ok_or_else(|| Failure::wrong(format!("there is no column {column}")))
    }

    fn aggregate(&self, aggregate: &Aggregate) -> Result<Cell, Failure> {
        let (Aggregate::Sum(column) | Aggregate::Min(column) | Aggregate::Max(column)) = aggregate else {
            return Ok(Cell::Integer(self.rows.len() as i64));
        };
        let position = self.position(column)?;
        let cells = self.rows.iter().filter_map(|row| row.get(position));
        let of = |cell: &Cell| match cell {
            Cell::Integer(value) => Some(*value),
            _ => None,
        };
        if let Some(integers) = cells.clone().filter(|cell| **cell != Cell::Null).map(of).collect::<Option<Vec<i64>>>()
        {
            let found = match aggregate {
                Aggregate::Min(_) => integers.into_iter().min(),
                Aggregate::Max(_) => integers.into_iter().max(),
                _ => integers.into_iter().reduce(i64::wrapping_add),
            };
            return Ok(found.map_or(Cell::Null, Cell::Integer));
        }
        let floats = cells.filter_map(|cell| match cell {
            Cell::Integer(value) => Some(*value as f64),
            Cell::Float(value) => Some(*value),
            _ => None,
        });
        let found = match aggregate {
            Aggregate::Min(_) => floats.reduce(f64::min),
            Aggregate::Max(_) => floats.reduce(f64::max),
            _ => floats.reduce(|sum, value| sum + value),
        };
        Ok(found.map_or(Cell::Null, Cell::Float))
    }
}

/// A line: texts in quotes, nothing for NULL.
fn csv_line(row: &[Cell], text: &mut String) {
    for (position, cell) in row.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        match cell {
            Cell::Null => {}
            Cell::Integer(value) => text.push_str(&value.to_string()),
            Cell::Float(value) => text.push_str(&format!("{value:?}")),
            Cell::Text(value) => {
                text.push('"');
                text.push_str(&value.replace('"', "\"\""));
                text.push('"');
            }
        }
    }
    text.push('\n');
}

fn csv_rows(text: &str) -> Result<Vec<Vec<Cell>>, Failure> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (cell, taken) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut end = 0;
                loop {
                    end += quoted[end..].find('"').ok_or_else(|| Failure::wrong("a text has no closing quote"))?;
                    if !quoted[end + 1..].starts_with('"') {
                        break;
                    }
                    end += 2;
                }
                (Cell::Text(quoted[..end].replace("\"\"", "\"")), end + 2)
            }
            None => {
                let end = rest.find([',', '\n']).unwrap_or(rest.len());
                let cell = match &rest[..end] {
                    "" => Cell::Null,
                    number => match number.parse() {
                        Ok(integer) => Cell::Integer(integer),
                        Err(_) => number.parse().map(Cell::Float).map_err(Failure::broken)?,
                    },
                };
                (cell, end)
            }
        };
        row.push(cell);
        rest = &rest[taken..];
        let is_end = !rest.starts_with(',');
        rest = rest.get(1..).unwrap_or_default();
        if is_end {
            rows.push(std::mem::take(&mut row));
        }
    }
    Ok(rows)
}

impl Session for FilesSession {
    fn dialect(&self) -> Dialect {
        // A time is an integer of seconds.
        Dialect::Sqlite
    }

    fn tier(&self) -> Tier {
        Tier::Off
    }

    fn settings(&self) -> Vec<String> {
        vec!["sync = never".to_owned()]
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        self.create(&table.name, table.columns.iter().map(|column| column.name.clone()).collect())
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        Ok(Box::new(FilesLoader { session: self, table: table.name.clone(), waiting: Cells::default() }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("rows stay as they were written"))
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("files have no indexes"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let mut digest = RowDigest::default();
        for row in self.read(&table.name)?.rows {
            digest.add_row(row.iter().fold(0, |number, cell| {
                let cell = match cell {
                    Cell::Null => null_cell(),
                    Cell::Integer(value) => integer_cell(*value),
                    Cell::Float(value) => value.to_bits(),
                    Cell::Text(text) => text_cell(text.as_bytes()),
                };
                fold(number, cell)
            }));
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let Statement::Aggregate { table, aggregates } = Statement::parse(sql)? else {
            return Err(Failure::cannot("this statement has no answer"));
        };
        let rows = self.read(&table)?;
        let row = aggregates.iter().map(|aggregate| rows.aggregate(aggregate)).collect::<Result<_, _>>()?;
        Ok(Answer { rows: vec![row] })
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            match Statement::parse(statement)? {
                Statement::Insert { table, rows } => self.append(&table, rows)?,
                Statement::Add { table, column, number } => self.add(&table, &column, number)?,
                Statement::Create { table, columns } => self.create(&table, columns)?,
                Statement::Aggregate { .. } => return Err(Failure::cannot("this statement has an answer")),
            }
        }
        Ok(())
    }

    /// Writes the rows of consecutive inserts together. Files support no other part of a transaction.
    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        let mut waiting: Option<(String, Vec<Vec<Cell>>)> = None;
        for statement in statements {
            match (Statement::parse(statement)?, &mut waiting) {
                (Statement::Insert { table, rows }, Some((same, waiting))) if *same == table => waiting.extend(rows),
                (Statement::Insert { table, rows }, waiting) => {
                    if let Some((table, rows)) = waiting.replace((table, rows)) {
                        self.append(&table, rows)?;
                    }
                }
                (_, waiting) => {
                    if let Some((table, rows)) = waiting.take() {
                        self.append(&table, rows)?;
                    }
                    self.execute(std::slice::from_ref(statement))?;
                }
            }
        }
        waiting.map_or(Ok(()), |(table, rows)| self.append(&table, rows))
    }
}

/// A load: a CSV file grows with each batch; a JSON file is written once, in the end.
struct FilesLoader<'a> {
    session: &'a FilesSession,
    table: String,
    waiting: Cells,
}

#[derive(Default)]
struct Cells {
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl FilesLoader<'_> {
    fn flush(&mut self, is_end: bool) -> Result<(), Failure> {
        match is_end || self.session.format == FileFormat::Csv {
            true => self.session.append(&self.table, std::mem::take(&mut self.waiting.rows)),
            false => Ok(()),
        }
    }
}

impl Loader for FilesLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, &mut self.waiting)?;
        self.flush(false)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(&mut self.waiting)?;
        self.flush(false)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.flush(true)
    }
}

impl RowSink for Cells {
    fn begin(&mut self) -> Result<(), Failure> {
        self.row.clear();
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        self.integer(value)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.rows.push(self.row.clone());
        Ok(())
    }
}

impl Binder for Cells {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        self.row.push(Cell::Integer(value));
        Ok(())
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        self.row.push(Cell::Text(value.to_owned()));
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        self.row.push(Cell::Float(value));
        Ok(())
    }

    fn null(&mut self) -> Result<(), Failure> {
        self.row.push(Cell::Null);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_survive_a_file() {
        let row = vec![
            Cell::Text("a,\"b\"\n".to_owned()),
            Cell::Null,
            Cell::Integer(-3),
            Cell::Float(0.5),
            Cell::Text(String::new()),
        ];
        let mut text = String::new();
        csv_line(&row, &mut text);
        csv_line(&row, &mut text);
        assert_eq!(csv_rows(&text).expect("rows"), [row.clone(), row]);
    }
}
