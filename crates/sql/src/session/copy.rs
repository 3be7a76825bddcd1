//! `COPY` from and to files, which is refused unless the session has a file reader or writer. A reader also supplies
//! the rows that a client sends.

use super::files::{FileWriter, WriteTarget};
use super::state::Session;
use crate::dml::conflict::OnDuplicate;
use crate::dml::copy::options::CopyLayout;
use crate::dml::copy::statement::{CopySource, CopyStatement, CopyTarget};
use crate::dml::files::{FileLayout, FileRequest, no_files};
use crate::dml::target::Target;
use crate::run::answer::Answer;
use crate::write::copy_condition::CopyCondition;
use crate::write::insert::{append_named, named_rows};
use atsdb_core::Result;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::params::{Parameters, bound};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::TableName;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use std::sync::Arc;

impl Session {
    /// Lets statements write files through a writer, for a session that runs with the rights of the program's user.
    pub fn with_file_writer(mut self, writer: Arc<dyn FileWriter>) -> Self {
        self.file_writer = Some(writer);
        self
    }

    pub(super) fn copy(&self, text: &str, position: SourcePosition, parameters: &Parameters) -> Result<Answer> {
        let copy = CopyStatement::parse(text)?;
        let path = match &copy.target {
            CopyTarget::File(path) => Some(path.clone()),
            CopyTarget::Parameter(name) => match parameters {
                Parameters::Texts(texts) => Some(bound(name, texts)?.to_owned()),
                _ => return Err(sql_error("the path of a COPY is a text").with_hint("write the path in quotes")),
            },
            CopyTarget::Client if copy.is_in => {
                return Err(not_supported("COPY FROM STDIN here")
                    .with_hint("name a file, or load what comes on stdin: atsdb import URL TABLE -"));
            }
            CopyTarget::Client => None,
            CopyTarget::Program(_) => return Err(not_supported("COPY with a program").with_hint("name a file")),
        };
        match (&copy.source, path) {
            (CopySource::Table { name, .. }, Some(path)) if copy.is_in => {
                self.copy_from(&copy, &name_of_table(name)?, &path, position, parameters)
            }
            (_, path) => self.copy_to(&copy, path.as_deref(), parameters),
        }
    }

    /// Writes a file, or the standard output if there is no path.
    fn copy_to(&self, copy: &CopyStatement, path: Option<&str>, parameters: &Parameters) -> Result<Answer> {
        let query = match &copy.source {
            CopySource::Query(query) => query.clone(),
            CopySource::Table { name, columns } => {
                let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
                let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
                let name: Vec<String> = name.iter().map(|part| quoted(part)).collect();
                format!("SELECT {columns} FROM {}", name.join("."))
            }
        };
        let Some(writer) = self.file_writer.as_ref().filter(|_| self.options.file_access) else {
            return Err(sql_error("SQL may not write files here").with_hint("use `atsdb export`"));
        };
        let layout = layout_of(copy, path);
        let rows = self.rows_of(&query, SourcePosition::START, parameters)?;
        if let CopyLayout::PostgreSql(options) = &layout {
            let schema = rows.schema();
            let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let relation = match &copy.source {
                CopySource::Table { name, .. } => name.last().map(String::as_str),
                CopySource::Query(_) => None,
            };
            options.check_columns(&columns, &columns, relation)?;
        }
        let target = match path {
            Some(path) => WriteTarget::File { path, may_replace: copy.may_replace },
            None => WriteTarget::Stdout,
        };
        let row_count = writer.write(target, &layout, rows)?;
        Ok(Answer::Done { verb: "COPY", row_count: Some(row_count) })
    }

    /// Adds all rows of a file that satisfy the condition, or none.
    fn copy_from(
        &self,
        copy: &CopyStatement,
        table: &TableName,
        path: &str,
        position: SourcePosition,
        parameters: &Parameters,
    ) -> Result<Answer> {
        let Some(files) = self.files.as_ref().filter(|_| self.options.file_access) else {
            return Err(no_files());
        };
        let CopySource::Table { columns, .. } = &copy.source else {
            return Err(sql_error("COPY ... FROM takes a table"));
        };
        let columns = (!columns.is_empty()).then(|| columns.clone());
        let tables = self.tables()?;
        let table = TableName::of_table(&self.table_of(table)?);
        let (table, positions) = Target::new(table, columns, OnDuplicate::default()).resolve_among(&tables)?;
        let all: Vec<&str> = table.definition.columns.iter().map(|column| column.name.as_str()).collect();
        copy.positions(&all)?;
        let layout = FileLayout::Copy(layout_of(copy, Some(path)));
        let definition = super::load::fields_of(&table, &positions);
        let request = FileRequest { path, definition: &definition, layout };
        let policy = table.definition.on_conflict;
        let mut row_count = 0_u64;
        self.with_batch(|batch| {
            let mut condition = match &copy.condition {
                Some(text) => Some(CopyCondition::new(text, position, &table, &tables, parameters)?),
                None => None,
            };
            let snapshot = match condition {
                Some(_) => Some(batch.snapshot()?),
                None => None,
            };
            files.read(&request, &mut |rows| {
                self.interrupt.check()?;
                match (&mut condition, &snapshot) {
                    (Some(condition), Some(snapshot)) => {
                        let rows = batch.complete(&table, &named_rows(&table, &positions, &rows)?)?;
                        let rows = condition.keep(&rows, &self.worker, snapshot, &self.interrupt)?;
                        row_count += rows.num_rows() as u64;
                        batch.append_with(&table, &rows, policy)
                    }
                    _ => {
                        row_count += rows.num_rows() as u64;
                        append_named(batch, &table, &positions, rows, policy)
                    }
                }
            })
        })?;
        Ok(Answer::Done { verb: "COPY", row_count: Some(row_count) })
    }
}

fn name_of_table(parts: &[String]) -> Result<TableName> {
    TableName::of(&ObjectName::from(parts.iter().map(|part| Ident::with_quote('"', part)).collect::<Vec<_>>()))
}

/// The format of the rows. Without options, the extension of a file says it.
fn layout_of(copy: &CopyStatement, path: Option<&str>) -> CopyLayout {
    match copy.file_format {
        Some(format) => CopyLayout::Named(format),
        None if !copy.has_options && path.is_some_and(names_a_format) => CopyLayout::Detected,
        None => CopyLayout::PostgreSql(copy.options.clone()),
    }
}

/// Returns whether a file's extension names a format of its own.
fn names_a_format(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    // A sheet of a workbook.
    let name = name.split_once('#').map_or(name.as_str(), |(file, _)| file);
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let endings = [
        ".csv",
        ".tsv",
        ".tab",
        ".json",
        ".jsonl",
        ".ndjson",
        ".md",
        ".markdown",
        ".parquet",
        ".arrow",
        ".feather",
        ".ipc",
        ".svg",
        ".html",
        ".htm",
        ".xlsx",
        ".xlsm",
        ".xlsb",
        ".xls",
        ".ods",
        ".zip",
    ];
    endings.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_may_name_a_format() {
        for path in ["a.csv", "b/A.CSV.gz", "c.parquet", "d.jsonl.zst", "e.xlsx#Sheet 1", "f.zip"] {
            assert!(names_a_format(path), "{path}");
        }
        for path in ["a.txt", "csv", "a.csv.old", "a.gz"] {
            assert!(!names_a_format(path), "{path}");
        }
    }
}
