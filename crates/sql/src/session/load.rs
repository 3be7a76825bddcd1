//! `LOAD DATA`, and the files that statements read, which are refused unless the session has a file reader.

use super::state::Session;
use crate::dml::conflict::OnDuplicate;
use crate::dml::files::{FileLayout, FileReader, FileRequest, no_files};
use crate::dml::load::load_data;
use crate::dml::target::Target;
use crate::plan::files::QueryFiles;
use crate::run::answer::Answer;
use crate::write::insert::append_named;
use atsdb_core::{Column, Result, Table, TableDefinition};
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::TableName;
use atsdb_temporary::TemporarySpace;
use std::sync::Arc;

impl Session {
    /// Lets statements read files through a reader, for a session that runs with the rights of the program's user.
    pub fn with_files(mut self, files: Arc<dyn FileReader>) -> Self {
        self.files = Some(files);
        self
    }

    /// The space of the temporary files of queries. A reader of files puts its own there, so that one limit holds for
    /// all.
    pub fn temporary_space(&self) -> &Arc<TemporarySpace> {
        self.worker.temporary_space()
    }

    /// The reader for files that queries name; `None` if statements may not name files.
    pub(super) fn query_files(&self) -> Option<QueryFiles> {
        let reader = self.files.as_ref().filter(|_| self.options.file_access)?;
        Some(QueryFiles { reader: Arc::clone(reader), bytes_max: self.options.memory_bytes })
    }

    /// `LOAD DATA`: all rows of the file, or none.
    pub(super) fn load(&self, text: &str, position: SourcePosition) -> Result<Answer> {
        let Some(files) = self.files.as_ref().filter(|_| self.options.file_access) else {
            return Err(no_files());
        };
        let load = load_data(text, position)?;
        let table = TableName::of_table(&self.table_of(&load.table)?);
        let target = Target::new(table, load.columns.clone(), OnDuplicate::default());
        let (table, positions) = target.resolve_among(&self.tables()?)?;
        let definition = fields_of(&table, &positions);
        let layout = FileLayout::Separated { delimiter: load.delimiter, has_header: load.has_header };
        let request = FileRequest { path: &load.path, definition: &definition, layout };
        let mut row_count = 0_u64;
        self.with_batch(|batch| {
            files.read(&request, &mut |rows| {
                self.interrupt.check()?;
                row_count += rows.num_rows() as u64;
                append_named(batch, &table, &positions, rows, table.definition.on_conflict)
            })
        })?;
        Ok(Answer::Done { verb: "LOAD DATA", row_count: Some(row_count) })
    }
}

/// The columns at some positions as a table definition without constraints.
pub(super) fn fields_of(table: &Table, positions: &[usize]) -> TableDefinition {
    let whole = &table.definition;
    let columns: Vec<Column> = positions.iter().map(|position| whole.columns[*position].clone()).collect();
    let time = whole.time.filter(|time| columns.iter().any(|column| column.id == time.column));
    TableDefinition { columns, time, slice: whole.slice, memory: whole.memory, ..TableDefinition::new(&whole.name) }
}
