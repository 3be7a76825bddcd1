//! An open database of the process.

use super::pipe::{Pipe, PipeAnswer};
use crate::contestant::{Dialect, Loader, Session, Workspace};
use crate::contestants::json_cells::{JsonColumn, cell};
use crate::contestants::parquet_files;
use crate::data::answer::Answer;
use crate::data::digest::RowDigest;
use crate::data::rows::RowSet;
use crate::failure::Failure;
use crate::measure::Tier;
use arrow::array::RecordBatch;
use atsdb::{Column, ColumnType, Durability, TableDefinition, TimeUnit};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The settings of a table with which inserts and merges are on disk when they are acknowledged.
const SYNCED: &str = "fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, \
                      min_compressed_bytes_to_fsync_after_merge = 1";

/// The clause after the columns of a table, followed by its sort order.
const ENGINE: &str = " ENGINE = MergeTree ORDER BY ";

pub(super) struct ClickhouseSession {
    pipe: Pipe,
    durability: Durability,
    /// The folder for files of rows.
    folder: PathBuf,
    /// The number of loads so far.
    loads: u64,
    settings: Vec<String>,
}

impl ClickhouseSession {
    pub(super) fn open(python: &Path, workspace: &Workspace) -> Result<Self, Failure> {
        let mut pipe = Pipe::open(python, &workspace.directory.join("clickhouse"))?;
        let mut settings = vec!["engine = MergeTree".to_owned(), "rows in bulk = Parquet files".to_owned()];
        match workspace.durability {
            Durability::Full => settings.extend(SYNCED.split(", ").map(|setting| setting.trim().to_owned())),
            _ => settings.push("fsync_after_insert = 0".to_owned()),
        }
        let threads = pipe.run("SELECT getSetting('max_threads')")?;
        settings.push(format!("max_threads = {}", first(&threads).unwrap_or_default()));
        let (durability, folder) = (workspace.durability, workspace.directory.clone());
        Ok(Self { pipe, durability, folder, loads: 0, settings })
    }

    /// The statement with the settings of this contestant's tables. Without an order, rows stay as they come.
    fn create(&self, statement: &str) -> String {
        let order = if statement.contains(ENGINE) { "" } else { &format!("{ENGINE}tuple()") };
        let synced = if self.durability == Durability::Full { format!(", {SYNCED}") } else { String::new() };
        format!("{statement}{order} SETTINGS allow_nullable_key = 1{synced}")
    }

    pub(super) fn bytes(&mut self) -> Result<u64, Failure> {
        let select =
            "SELECT toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = currentDatabase()";
        let answer = self.pipe.run(select)?;
        Ok(first(&answer).and_then(Value::as_u64).unwrap_or(0))
    }
}

fn first(answer: &PipeAnswer) -> Option<&Value> {
    answer.rows.first()?.first()
}

/// A path as a text of SQL.
fn literal(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The columns by which rows are sorted.
fn order(table: &TableDefinition) -> String {
    let key = table.key.iter().filter_map(|id| table.column_by_id(*id));
    let series = table.columns.iter().find(|column| column.map.is_some());
    let series = series.filter(|_| table.key.is_empty() && table.time.is_some());
    let columns = key.chain(series).chain(table.time_column());
    let names: Vec<String> = columns.map(|column| Dialect::Clickhouse.quote(&column.name)).collect();
    if names.is_empty() { "tuple()".to_owned() } else { format!("({})", names.join(", ")) }
}

fn column_type(column: &Column) -> String {
    let plain = match column.column_type {
        ColumnType::Text | ColumnType::Binary => "String",
        ColumnType::Timestamp(TimeUnit::Second) => "DateTime('UTC')",
        ColumnType::Timestamp(TimeUnit::Millisecond) => "DateTime64(3, 'UTC')",
        ColumnType::Timestamp(TimeUnit::Microsecond) => "DateTime64(6, 'UTC')",
        ColumnType::Date => "Date",
        ColumnType::Float32 => "Float32",
        ColumnType::Float64 => "Float64",
        ColumnType::Bool | ColumnType::Int8 => "Int8",
        ColumnType::Int16 => "Int16",
        ColumnType::Int32 => "Int32",
        _ => "Int64",
    };
    let plain = if column.nullable { format!("Nullable({plain})") } else { plain.to_owned() };
    if column.map.is_some() { format!("LowCardinality({plain})") } else { plain }
}

/// Returns the kind of values that a column type has in an answer.
fn json_column(column_type: &str) -> JsonColumn {
    let inner = |text: &str, outer: &str| {
        text.strip_prefix(outer).and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).to_owned()
    };
    let plain = inner(&inner(column_type, "LowCardinality("), "Nullable(");
    match plain.as_str() {
        "Date" | "Date32" => JsonColumn::Date,
        plain if plain.starts_with("DateTime") => JsonColumn::Time,
        plain if plain.starts_with("Int") || plain.starts_with("UInt") || plain == "Bool" => JsonColumn::Integer,
        plain if plain.starts_with("Float") || plain.starts_with("Decimal") => JsonColumn::Float,
        _ => JsonColumn::Text,
    }
}

impl Session for ClickhouseSession {
    fn dialect(&self) -> Dialect {
        Dialect::Clickhouse
    }

    /// Without fsync it is unknown when the operating system writes the data.
    fn tier(&self) -> Tier {
        if self.durability == Durability::Full { Tier::Full } else { Tier::Off }
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let column = |column: &Column| format!("{} {}", Dialect::Clickhouse.quote(&column.name), column_type(column));
        let columns: Vec<String> = table.columns.iter().map(column).collect();
        let (name, order) = (Dialect::Clickhouse.quote(&table.name), order(table));
        let create = self.create(&format!("CREATE TABLE {name} ({}){ENGINE}{order}", columns.join(", ")));
        self.pipe.run(&create).map(drop)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        self.loads += 1;
        let folder = self.folder.join(format!("load-{}", self.loads));
        std::fs::create_dir_all(&folder).map_err(Failure::broken)?;
        Ok(Box::new(ClickhouseLoader { session: self, table: table.clone(), folder, files: 0 }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        for row in self.pipe.run("SHOW TABLES")?.rows {
            let name = row.first().and_then(Value::as_str).unwrap_or_default();
            self.pipe.run(&format!("OPTIMIZE TABLE {} FINAL", Dialect::Clickhouse.quote(name)))?;
        }
        Ok(())
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds rows by the order of its tables; there is no index to make"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| Dialect::Clickhouse.quote(&column.name)).collect();
        let (names, name) = (names.join(", "), Dialect::Clickhouse.quote(&table.name));
        let path = self.folder.join("read.parquet");
        let file = literal(&path);
        let write = format!("INSERT INTO FUNCTION file({file}, 'Parquet') SELECT {names} FROM {name}");
        self.pipe.run(&write)?;
        let digest = parquet_files::digest(&path, table)?;
        std::fs::remove_file(&path).map_err(Failure::broken)?;
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let answer = self.pipe.run(sql)?;
        let types: Vec<JsonColumn> = answer.types.iter().map(|name| json_column(name)).collect();
        let row = |row: &Vec<Value>| row.iter().zip(&types).map(|(value, column)| cell(value, *column)).collect();
        Ok(Answer { rows: answer.rows.iter().map(row).collect::<Result<_, _>>()? })
    }

    /// Tables that a statement creates are of this contestant's kind.
    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            if statement.starts_with("CREATE TABLE") {
                let create = self.create(statement);
                self.pipe.run(&create)?;
            } else {
                self.pipe.run(statement)?;
            }
        }
        Ok(())
    }

    fn transaction(&mut self, _statements: &[String]) -> Result<(), Failure> {
        Err(Failure::cannot("has no transactions"))
    }

    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        self.pipe.run(&format!("INSERT INTO {table} SELECT * FROM file({}, 'CSV')", literal(file))).map(drop)
    }
}

/// A load: each batch is a file, and one INSERT takes them all.
struct ClickhouseLoader<'a> {
    session: &'a mut ClickhouseSession,
    table: TableDefinition,
    folder: PathBuf,
    files: u64,
}

impl Loader for ClickhouseLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        self.batch(&parquet_files::batch_of(rows, &self.table)?)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.files += 1;
        parquet_files::write(&self.folder.join(format!("{}.parquet", self.files)), &self.table, batch)
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        let (table, files) = (Dialect::Clickhouse.quote(&self.table.name), literal(&self.folder.join("*.parquet")));
        self.session.pipe.run(&format!("INSERT INTO {table} SELECT * FROM file({files}, 'Parquet')")).map(drop)
    }
}

impl Drop for ClickhouseLoader<'_> {
    fn drop(&mut self) {
        // The run's folder is removed anyway.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_answers_are_known() {
        let types = ["LowCardinality(Nullable(String))", "Nullable(Float64)", "UInt64", "DateTime64(3, 'UTC')", "Date"];
        let expected = [JsonColumn::Text, JsonColumn::Float, JsonColumn::Integer, JsonColumn::Time, JsonColumn::Date];
        assert_eq!(types.map(json_column), expected);
    }
}
