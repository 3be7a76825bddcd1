//! One key of a table: which columns, and the values of rows in them.

use arrow::array::{ArrayRef, RecordBatch};
use atsdb_core::{Error, Result, TableDefinition, Unique};

/// The columns of a key, in stored form.
pub(crate) type KeyColumns = Vec<ArrayRef>;

/// One key of a table.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// Where its columns stand in the table's definition.
    pub(crate) positions: Vec<usize>,
    /// Which of them is the time column.
    pub(crate) time: Option<usize>,
}

impl Key {
    /// The keys of a table, in the order of its definition.
    pub(crate) fn all_of(definition: &TableDefinition) -> Result<Vec<Self>> {
        definition.unique.iter().map(|unique| Self::of(definition, unique)).collect()
    }

    pub(crate) fn of(definition: &TableDefinition, unique: &Unique) -> Result<Self> {
        let position = |id| {
            let position = definition.columns.iter().position(|column| column.id == id);
            position.ok_or_else(|| Error::internal(format!("table {}: no key column", definition.name)))
        };
        let positions = unique.columns.iter().map(|id| position(*id)).collect::<Result<_>>()?;
        let time = definition.time.and_then(|time| unique.columns.iter().position(|id| *id == time.column));
        Ok(Self { positions, time })
    }

    /// Which of its columns is expected to grow: the time, else the last that counts.
    pub(crate) fn growing(&self, definition: &TableDefinition) -> Option<usize> {
        let counts = |position: &usize| definition.columns[*position].column_type.can_be_time();
        self.time.or_else(|| self.positions.iter().rposition(counts))
    }

    pub(crate) fn columns(&self, rows: &RecordBatch) -> KeyColumns {
        self.positions.iter().map(|position| ArrayRef::clone(rows.column(*position))).collect()
    }
}

/// One value of a row, in a column of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyValue<'a> {
    /// The row is the same as no other.
    Null,
    /// A signed integer, a date, a time in its column's unit, or a boolean (0 and 1).
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating point number.
    Float(f64),
    /// Text, also of a mapped column, or bytes.
    Bytes(&'a [u8]),
}
