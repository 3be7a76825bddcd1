//! Tables in memory without SQL: batched lookups in their hash indexes.

use crate::database::Database;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use atsdb_codec::{arrow_schema, logical_type};
use atsdb_core::{Error, Result};
use atsdb_resident::{RowKeys, TableMatches, TableState};
use std::sync::Arc;

/// A snapshot of a table in memory. Clones are cheap. Later changes do not affect it.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    state: Arc<TableState>,
}

/// Finds rows of a table's snapshot by one of its indexes. Threads can share it.
#[derive(Debug, Clone)]
pub struct MemoryLookup {
    state: Arc<TableState>,
    index: usize,
}

impl Database {
    /// Takes a snapshot of a table in memory.
    ///
    /// ```
    /// use atsdb::arrow::array::{ArrayRef, AsArray, Int32Array};
    /// use std::sync::Arc;
    ///
    /// # fn main() -> atsdb::Result<()> {
    /// let db = atsdb::open("memory:")?;
    /// db.sql("CREATE TABLE cities (id INT, name TEXT, INDEX (id)) WITH (engine = 'memory')")?;
    /// db.sql("INSERT INTO cities VALUES (7, 'Oslo'), (8, 'Bergen'), (7, 'Kristiania')")?;
    /// let lookup = db.memory_table("cities")?.lookup(&["id"])?;
    /// let keys: ArrayRef = Arc::new(Int32Array::from(vec![8, 9, 7]));
    /// let found = lookup.find(&[keys])?;
    /// assert_eq!(found.probes, [0, 2, 2]); // 8 has one row, 9 none, 7 two
    /// let names = lookup.rows(&found, &["name"])?;
    /// assert_eq!(names.column(0).as_string::<i32>().value(0), "Bergen");
    /// # Ok(())
    /// # }
    /// ```
    pub fn memory_table(&self, name: &str) -> Result<MemoryTable> {
        let snapshot = self.engine().snapshot()?;
        let table = snapshot.table(name)?;
        match table.definition.is_in_memory() {
            true => Ok(MemoryTable { state: snapshot.resident(table)? }),
            false => Err(Error::usage(format!("table {} is not in memory", table.definition.name))
                .with_hint("declare it WITH (engine = 'memory')")),
        }
    }
}

impl Database {
    /// Saves the rows of tables in memory to the store, all or none. They replace the rows saved before, and every
    /// process that opens the store starts with them. Returns the number of rows saved.
    pub fn checkpoint(&self, tables: &[&str]) -> Result<u64> {
        let tables = tables.iter().map(|name| self.engine().table(name)).collect::<Result<Vec<_>>>()?;
        self.engine().save_resident(&tables)
    }
}

impl MemoryTable {
    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.state.row_count()
    }

    /// The size of rows and indexes in bytes.
    pub fn byte_count(&self) -> usize {
        self.state.byte_count()
    }

    /// Prepares lookups by the index over exactly these columns, in this order.
    pub fn lookup(&self, columns: &[&str]) -> Result<MemoryLookup> {
        let definition = self.state.definition();
        let wanted = columns.iter().map(|name| definition.position(name)).collect::<Result<Vec<_>>>()?;
        match self.state.indexes().iter().position(|spec| spec.positions == wanted) {
            Some(index) => Ok(MemoryLookup { state: Arc::clone(&self.state), index }),
            None => {
                let message = format!("table {} has no index ({})", definition.name, columns.join(", "));
                Err(Error::usage(message).with_hint("CREATE INDEX ON it, with the columns in this order"))
            }
        }
    }
}

impl MemoryLookup {
    /// Finds the rows of many keys, given as one array for each column of the index, of the column's type. Lookups are
    /// fastest with some thousands of keys at a time, because their memory accesses overlap.
    pub fn find(&self, keys: &[ArrayRef]) -> Result<TableMatches> {
        let definition = self.state.definition();
        let columns = self.state.indexes()[self.index].positions.iter().map(|position| &definition.columns[*position]);
        if let Some((column, key)) = columns.zip(keys).find(|(column, key)| logical_type(column) != *key.data_type()) {
            let message =
                format!("column {} is {}, the keys are {}", column.name, logical_type(column), key.data_type());
            return Err(Error::usage(message));
        }
        let keys = RowKeys::new(keys)?;
        Ok(self.state.find(self.index, &keys))
    }

    /// Returns some columns of the rows found.
    pub fn rows(&self, found: &TableMatches, columns: &[&str]) -> Result<RecordBatch> {
        let definition = self.state.definition();
        let wanted = columns.iter().map(|name| definition.position(name)).collect::<Result<Vec<_>>>()?;
        let schema: Schema = arrow_schema(definition).project(&wanted)?;
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(found.rows.len()));
        let columns = self.state.gather(found, &wanted)?;
        Ok(RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)?)
    }
}
