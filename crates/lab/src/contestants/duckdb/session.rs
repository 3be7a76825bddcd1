//! A database that the program has open.

use super::arrow_rows::ArrowRows;
use super::pipe::Pipe;
use crate::contestant::{Dialect, Loader, Session, Workspace};
use crate::contestants::time_unit::units_per_second;
use crate::data::answer::{Answer, Cell};
use crate::data::columns::insert_rows;
use crate::data::digest::RowDigest;
use crate::data::rows::RowSet;
use crate::failure::Failure;
use crate::measure::Tier;
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit as ArrowUnit};
use atsdb::time::days_from_civil;
use atsdb::{ColumnType, TableDefinition, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workspace's database.
const FILE: &str = "duck.db";

/// The number of statements, and of their bytes, that are sent before waiting for the program, as in a script. The
/// possible error messages fit into a pipe.
const GROUP: (usize, usize) = (100, 32 << 10);

pub(super) struct DuckdbSession {
    pipe: Pipe,
    /// Where rows pass through.
    folder: PathBuf,
    /// How many files they have passed through.
    files: u64,
    /// The names and types of a query's columns, in order; JSON has neither.
    known: HashMap<String, Vec<(String, String)>>,
    settings: Vec<String>,
}

impl DuckdbSession {
    pub(super) fn open(program: &Path, workspace: &Workspace) -> Result<Self, Failure> {
        let mut pipe = Pipe::open(program, &workspace.directory.join(FILE))?;
        let mut settings = vec!["rows in bulk = Parquet files".to_owned()];
        for name in ["threads", "memory_limit", "checkpoint_threshold"] {
            let rows = pipe.run(&format!("SELECT current_setting('{name}') AS value"))?;
            let value =
                rows.first().and_then(|row| serde_json::from_str::<Value>(row).ok()).map(|row| row["value"].clone());
            settings.push(format!("{name} = {}", value.unwrap_or_default().to_string().trim_matches('"')));
        }
        Ok(Self { pipe, folder: workspace.directory.clone(), files: 0, known: HashMap::new(), settings })
    }

    /// A file for passing rows. Each has a different name, because the program caches files by name.
    fn next_file(&mut self) -> PathBuf {
        self.files += 1;
        self.folder.join(format!("rows-{}.parquet", self.files))
    }

    fn columns_of(&mut self, sql: &str) -> Result<Vec<(String, String)>, Failure> {
        if let Some(columns) = self.known.get(sql) {
            return Ok(columns.clone());
        }
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = self.pipe.run(&format!("DESCRIBE {sql}"))?;
        let rows = rows.iter().map(|row| serde_json::from_str::<Value>(row).map_err(Failure::broken));
        let columns = rows.map(|row| row.map(|row| (text(&row, "column_name"), text(&row, "column_type"))));
        let columns: Vec<(String, String)> = columns.collect::<Result<_, _>>()?;
        self.known.insert(sql.to_owned(), columns.clone());
        Ok(columns)
    }
}

fn has_one_name_twice(columns: &[(String, String)]) -> bool {
    let mut names: Vec<String> = columns.iter().map(|(name, _)| name.to_lowercase()).collect();
    names.sort();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// A path as a text of SQL.
fn literal(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "''"))
}

fn column_type(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Text => "VARCHAR",
        ColumnType::Binary => "BLOB",
        ColumnType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond) => "TIMESTAMP",
        ColumnType::Float32 => "FLOAT",
        ColumnType::Float64 => "DOUBLE",
        ColumnType::Bool | ColumnType::Int8 => "TINYINT",
        ColumnType::Int16 => "SMALLINT",
        ColumnType::Int32 => "INTEGER",
        _ => "BIGINT",
    }
}

fn cell(value: &Value, column_type: &str) -> Result<Cell, Failure> {
    let text = match value {
        Value::Null => return Ok(Cell::Null),
        Value::Bool(value) => return Ok(Cell::Integer(i64::from(*value))),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let is_integer = column_type.ends_with("INT") || column_type == "INTEGER" || column_type == "UINTEGER";
    let is_float = ["DOUBLE", "FLOAT"].contains(&column_type) || column_type.starts_with("DECIMAL");
    let number = || text.parse::<f64>().map(Cell::Float).map_err(Failure::broken);
    match text.parse::<i64>() {
        Ok(integer) if is_integer => Ok(Cell::Integer(integer)),
        _ if is_integer || is_float => number(),
        _ if column_type.starts_with("TIMESTAMP") => {
            time(&text).ok_or_else(|| Failure::wrong(format!("no time: {text}")))
        }
        _ => Ok(Cell::Text(text)),
    }
}

/// `2024-01-31 23:59:59`, maybe with a fraction.
fn time(text: &str) -> Option<Cell> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let days = days_from_civil(number(0, 4)?, number(5, 7)? as u32, number(8, 10)? as u32);
    let seconds = days * 86_400 + number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    let fraction = text.get(19..).filter(|rest| rest.starts_with('.')).and_then(|rest| rest.parse::<f64>().ok());
    Some(fraction.map_or(Cell::Integer(seconds), |fraction| Cell::Float(seconds as f64 + fraction)))
}

impl Session for DuckdbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Duckdb
    }

    fn tier(&self) -> Tier {
        Tier::Full
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let column = |column: &atsdb::Column| {
            let null = if column.nullable { "" } else { " NOT NULL" };
            format!("{} {}{null}", Dialect::Duckdb.quote(&column.name), column_type(column.column_type))
        };
        let columns: Vec<String> = table.columns.iter().map(column).collect();
        let name = Dialect::Duckdb.quote(&table.name);
        self.pipe.run(&format!("CREATE TABLE {name} ({})", columns.join(", "))).map(drop)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        self.pipe.run("BEGIN")?;
        Ok(Box::new(DuckdbLoader { session: self, table: table.clone(), finished: false }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("compresses by itself when it writes its log back"))
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds rows by the bounds of its row groups; an index would only serve keys"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| Dialect::Duckdb.quote(&column.name)).collect();
        let (names, name) = (names.join(", "), Dialect::Duckdb.quote(&table.name));
        let path = self.next_file();
        self.pipe.run(&format!("COPY (SELECT {names} FROM {name}) TO {} (FORMAT parquet)", literal(&path)))?;
        let file = File::open(&path).map_err(Failure::broken)?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Failure::broken)?.with_batch_size(65_536);
        let mut digest = RowDigest::default();
        for batch in reader.build().map_err(Failure::broken)? {
            digest.add_batch(&with_times_in(table, &batch.map_err(Failure::broken)?)?)?;
        }
        std::fs::remove_file(&path).map_err(Failure::broken)?;
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut columns = self.columns_of(sql)?;
        let mut text = sql.to_owned();
        if has_one_name_twice(&columns) {
            // A line of JSON would have one value for both.
            columns.iter_mut().enumerate().for_each(|(position, (name, _))| *name = format!("c{position}"));
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            text = format!("SELECT * FROM ({sql}) AS answer({})", names.join(", "));
        }
        let mut answer = Answer::default();
        for row in self.pipe.run(&text)? {
            let row: Value = serde_json::from_str(&row).map_err(Failure::broken)?;
            let cells = columns.iter().map(|(name, column_type)| cell(&row[name.as_str()], column_type));
            answer.rows.push(cells.collect::<Result<_, _>>()?);
        }
        Ok(answer)
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        let (mut group, mut count) = (String::new(), 0);
        for (position, statement) in statements.iter().enumerate() {
            group.push_str(statement);
            count += 1;
            let is_full = count == GROUP.0 || group.len() >= GROUP.1;
            match is_full || position + 1 == statements.len() {
                true => {
                    self.pipe.run(&group)?;
                    (group, count) = (String::new(), 0);
                }
                false => group.push_str(";\n"),
            }
        }
        Ok(())
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.pipe.run("BEGIN")?;
        let done = self.execute(statements);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        done.and(self.pipe.run(end).map(drop))
    }

    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        self.pipe.run(&format!("COPY {table} FROM {} (FORMAT csv, HEADER false)", literal(file))).map(drop)
    }

    fn attach(&mut self, workspace: &Workspace, name: &str) -> Result<String, Failure> {
        self.pipe.run(&format!("ATTACH {} AS {name}", literal(&workspace.directory.join(FILE))))?;
        Ok(name.to_owned())
    }
}

/// The batch with its microseconds in the table's unit.
fn with_times_in(table: &TableDefinition, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    let scale = 1_000_000 / units_per_second(table).clamp(1, 1_000_000);
    let column = |(field, column): (&Arc<arrow::datatypes::Field>, &ArrayRef)| {
        let column = match column.data_type() {
            DataType::Timestamp(_, _) => {
                let microseconds =
                    cast(column, &DataType::Timestamp(ArrowUnit::Microsecond, None)).map_err(Failure::broken)?;
                let microseconds = cast(&microseconds, &DataType::Int64).map_err(Failure::broken)?;
                let times: Int64Array = microseconds.as_primitive::<Int64Type>().unary(|time| time.div_euclid(scale));
                Arc::new(times) as ArrayRef
            }
            DataType::Utf8View | DataType::LargeUtf8 => cast(column, &DataType::Utf8).map_err(Failure::broken)?,
            _ => Arc::clone(column),
        };
        Ok((field.name().clone(), column))
    };
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(column).collect::<Result<Vec<_>, Failure>>()?;
    RecordBatch::try_from_iter(columns).map_err(Failure::broken)
}

/// A load: each batch is a file, all of them one transaction.
struct DuckdbLoader<'a> {
    session: &'a mut DuckdbSession,
    table: TableDefinition,
    finished: bool,
}

impl DuckdbLoader<'_> {
    /// Times as DuckDB reads them: microseconds without a zone.
    fn with_microseconds(&self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let scale = 1_000_000 / units_per_second(&self.table).clamp(1, 1_000_000);
        let columns = self.table.columns.iter().zip(batch.columns()).map(|(column, array)| {
            let array = match (column.column_type, array.data_type()) {
                (ColumnType::Timestamp(_), _) if units_per_second(&self.table) <= 1_000_000 => {
                    let times = cast(array, &DataType::Int64).map_err(Failure::broken)?;
                    let times: Int64Array = times.as_primitive::<Int64Type>().unary(|time| time * scale);
                    let times = Arc::new(times) as ArrayRef;
                    cast(&times, &DataType::Timestamp(ArrowUnit::Microsecond, None)).map_err(Failure::broken)?
                }
                (_, DataType::Dictionary(_, _)) => cast(array, &DataType::Utf8).map_err(Failure::broken)?,
                _ => Arc::clone(array),
            };
            Ok((column.name.clone(), array, true))
        });
        let columns = columns.collect::<Result<Vec<_>, Failure>>()?;
        RecordBatch::try_from_iter_with_nullable(columns).map_err(Failure::broken)
    }
}

impl Loader for DuckdbLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        let mut arrays = ArrowRows::new(self.table.columns.iter().map(|column| column.name.clone()).collect());
        insert_rows(rows, &mut arrays)?;
        self.batch(&arrays.finish()?)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let batch = self.with_microseconds(batch)?;
        let path = self.session.next_file();
        let file = File::create(&path).map_err(Failure::broken)?;
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).map_err(Failure::broken)?;
        writer.write(&batch).map_err(Failure::broken)?;
        writer.close().map_err(Failure::broken)?;
        let (table, file) = (Dialect::Duckdb.quote(&self.table.name), literal(&path));
        self.session.pipe.run(&format!("INSERT INTO {table} SELECT * FROM read_parquet({file})"))?;
        std::fs::remove_file(&path).map_err(Failure::broken)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.session.pipe.run("COMMIT")?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for DuckdbLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load is abandoned anyway. If it cannot be rolled back, that happens when the program ends.
            let _ = self.session.pipe.run("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_their_column_says() {
        let of =
            |json: &str, column_type| cell(&serde_json::from_str(json).expect("JSON"), column_type).expect("a cell");
        assert_eq!(of("\"4\"", "HUGEINT"), Cell::Integer(4));
        assert_eq!(of("4.0", "DOUBLE"), Cell::Float(4.0));
        assert_eq!(of("\"4\"", "VARCHAR"), Cell::Text("4".to_owned()));
        assert_eq!(of("\"2024-02-29 01:02:03\"", "TIMESTAMP"), Cell::Integer(1_709_168_523));
        assert_eq!(of("null", "INTEGER"), Cell::Null);
    }
}
