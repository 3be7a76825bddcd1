//! A database that the program has open.

use super::pipe::Pipe;
use crate::contestant::{Dialect, Loader, Session, Workspace};
use crate::contestants::json_cells::{JsonColumn, cell};
use crate::contestants::parquet_files;
use crate::data::answer::Answer;
use crate::data::digest::RowDigest;
use crate::data::rows::RowSet;
use crate::failure::Failure;
use crate::measure::Tier;
use arrow::array::RecordBatch;
use atsdb::{ColumnType, TableDefinition, TimeUnit};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A workspace's database.
const FILE: &str = "duck.db";

/// The number of statements, and of their bytes, that are sent before waiting for the program, as in a script. The
/// possible error messages fit into a pipe.
const GROUP: (usize, usize) = (100, 32 << 10);

pub(super) struct DuckdbSession {
    pipe: Pipe,
    /// The folder for files of rows.
    folder: PathBuf,
    /// The number of files so far.
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
        ColumnType::Date => "DATE",
        ColumnType::Float32 => "FLOAT",
        ColumnType::Float64 => "DOUBLE",
        ColumnType::Bool | ColumnType::Int8 => "TINYINT",
        ColumnType::Int16 => "SMALLINT",
        ColumnType::Int32 => "INTEGER",
        _ => "BIGINT",
    }
}

/// Returns the kind of values that a column type has in an answer.
fn json_column(column_type: &str) -> JsonColumn {
    match column_type {
        "DATE" => JsonColumn::Date,
        "DOUBLE" | "FLOAT" => JsonColumn::Float,
        "BOOLEAN" | "INTEGER" | "UINTEGER" => JsonColumn::Integer,
        name if name.ends_with("INT") => JsonColumn::Integer,
        name if name.starts_with("DECIMAL") => JsonColumn::Float,
        name if name.starts_with("TIMESTAMP") => JsonColumn::Time,
        _ => JsonColumn::Text,
    }
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
        let digest = parquet_files::digest(&path, table)?;
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
            let cells = columns.iter().map(|(name, column_type)| cell(&row[name.as_str()], json_column(column_type)));
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

/// A load: each batch is a file, all of them one transaction.
struct DuckdbLoader<'a> {
    session: &'a mut DuckdbSession,
    table: TableDefinition,
    finished: bool,
}

impl Loader for DuckdbLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        self.batch(&parquet_files::batch_of(rows, &self.table)?)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let path = self.session.next_file();
        parquet_files::write(&path, &self.table, batch)?;
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
    fn types_of_answers_are_known() {
        let types = ["HUGEINT", "DECIMAL(38,2)", "TIMESTAMP WITH TIME ZONE", "VARCHAR", "DATE"];
        let expected = [JsonColumn::Integer, JsonColumn::Float, JsonColumn::Time, JsonColumn::Text, JsonColumn::Date];
        assert_eq!(types.map(json_column), expected);
    }
}
