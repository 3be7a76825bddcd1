//! Adds rows to an appender, together or one by one.

use crate::outcome::Answer;
use crate::shape::{ColumnKind, batch_of, kind, seconds, text, value};
use crate::subject::Cells;
use atsdb_core::{Error, Result, TableDefinition};
use atsdb_engine::{Appender, ColumnSpec, Engine, Record, RowReader, RowWriter};

/// A row, written as a record of a definition.
struct Pushed<'a>(&'a TableDefinition, &'a Cells);

impl Record for Pushed<'_> {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        use atsdb_engine::Field;
        let columns = self.0.columns.iter().filter(|column| kind(column) != ColumnKind::Time);
        for (position, column) in columns.enumerate() {
            match (value(self.1, column), kind(column)) {
                (None, _) => row.put_null(position),
                (Some(number), ColumnKind::Sensor | ColumnKind::Note) => row.put_text(position, &text(number)),
                (Some(number), _) => (number as i32).write(row, position),
            }
        }
    }

    fn read(_: &RowReader<'_>) -> Result<Self> {
        Err(Error::internal("rows are only written here"))
    }
}

pub(crate) fn push(
    engine: &Engine,
    definition: &TableDefinition,
    appender: &mut Appender,
    together: bool,
    rows: &[Cells],
) -> Result<Answer> {
    // A batch has the column names of one definition only.
    let is_present = || -> Result<bool> {
        let tables = engine.tables()?;
        Ok(tables.iter().any(|table| table.id == appender.table().id && table.definition == *definition))
    };
    if together && is_present()? {
        return appender.append(&batch_of(definition, rows)).map(|()| Answer::Done);
    }
    for row in rows {
        let record = Pushed(definition, row);
        match definition.time {
            Some(_) => appender.push(seconds(row.time), &record)?,
            None => appender.push_plain(&record)?,
        }
    }
    Ok(Answer::Done)
}
