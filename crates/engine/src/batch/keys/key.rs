//! One key of a table: its columns, and the values of rows in them.

use arrow::array::{ArrayRef, RecordBatch};
use atsdb_core::{Error, Result, TableDefinition, Unique};

/// The columns of a key, in stored form.
pub(crate) type KeyColumns = Vec<ArrayRef>;

/// One key of a table.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// The positions of its columns in the table's definition.
    pub(crate) positions: Vec<usize>,
    /// The position among these of the time column, if it is part of the key.
    pub(crate) time: Option<usize>,
    /// Whether a NULL equals another NULL.
    pub(crate) nulls_equal: bool,
}

impl Key {
    /// The keys of a table, in the order of its definition.
    pub(crate) fn all_of(definition: &TableDefinition) -> Result<Vec<Self>> {
        definition.unique.iter().map(|unique| Self::of(definition, unique)).collect()
    }

    pub(crate) fn of(definition: &TableDefinition, unique: &Unique) -> Result<Self> {
        let position = |id| {
            let position = definition.columns.iter().position(|column| column.id == id);
            position.ok_or_else(|| {
                Error::internal(format!("table {}: a key has a column that does not exist", definition.name))
            })
        };
        let positions = unique.columns.iter().map(|id| position(*id)).collect::<Result<_>>()?;
        let time = definition.time.and_then(|time| unique.columns.iter().position(|id| *id == time.column));
        Ok(Self { positions, time, nulls_equal: unique.nulls_equal })
    }

    /// The column of the key that is expected to grow: the time column, else the last one that holds integers or times.
    pub(crate) fn growing(&self, definition: &TableDefinition) -> Option<usize> {
        let counts = |position: &usize| definition.columns[*position].column_type.can_be_time();
        self.time.or_else(|| self.positions.iter().rposition(counts))
    }

    pub(crate) fn columns(&self, rows: &RecordBatch) -> KeyColumns {
        self.positions.iter().map(|position| ArrayRef::clone(rows.column(*position))).collect()
    }
}

/// The value of a row in a column of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyValue<'a> {
    /// NULL: the row's key equals no other key, unless the key treats NULLs as equal.
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
