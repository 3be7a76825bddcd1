//! Writes one table in a batch: its waiting rows, under one definition, and the strings of its mapped columns.

use crate::chunk::slice_buffer::SliceBuffer;
use crate::shared::Shared;
use crate::shared::definitions::changed_meanwhile;
use crate::shared::dictionary::Dictionary;
use crate::shared::interner::Interner;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{SchemaRef, UInt8Type, UInt16Type, UInt32Type};
use atsdb_codec::{stored_schema, to_stored};
use atsdb_core::{
    Column, DefinitionVersion, Enumeration, Error, ErrorKind, MapWidth, Result, Table, TableDefinition, TableId,
    refusal,
};
use std::sync::Arc;

/// The maximum size of an interner in bytes. A larger one is replaced by an empty one.
const INTERNER_BYTES_MAX: usize = 32 << 20;

/// The waiting rows of one table.
pub(crate) struct TableWriter {
    pub(crate) table: TableId,
    pub(crate) version: DefinitionVersion,
    pub(crate) definition: Arc<TableDefinition>,
    pub(crate) schema: SchemaRef,
    interners: Vec<Option<BorrowedInterner>>,
    pub(crate) slices: SliceBuffer,
}

/// The interner of a column.
struct BorrowedInterner {
    interner: Interner,
    /// The dictionary to which the interner returns when the writer no longer needs it. `None` for an enumerated
    /// column: its definition says which strings are allowed, so the next writer must check them anew.
    dictionary: Option<Arc<Dictionary>>,
}

impl BorrowedInterner {
    fn new(shared: &Shared, table: TableId, column: &Column) -> Self {
        let dictionary = column.enumeration.is_none().then(|| shared.dictionaries.get(table, column.id));
        let interner = dictionary.as_deref().map_or_else(Interner::new, Dictionary::interner);
        Self { interner, dictionary }
    }
}

impl Drop for BorrowedInterner {
    fn drop(&mut self) {
        if let Some(dictionary) = &self.dictionary {
            dictionary.keep(std::mem::replace(&mut self.interner, Interner::new()));
        }
    }
}

impl TableWriter {
    pub(crate) fn new(table: &Table) -> Self {
        let definition = Arc::new(table.definition.clone());
        let schema = stored_schema(&definition);
        let interners = definition.columns.iter().map(|_| None).collect();
        Self { table: table.id, version: table.version, definition, schema, interners, slices: SliceBuffer::default() }
    }

    /// Turns logical arrays, one for each column, into stored ones: the strings of mapped columns become indices.
    /// Tables in memory keep logical arrays.
    pub(crate) fn map_strings(&mut self, shared: &Shared, columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        columns.into_iter().enumerate().map(|(position, array)| self.map_column(shared, position, array)).collect()
    }

    pub(crate) fn map_column(&mut self, shared: &Shared, position: usize, array: ArrayRef) -> Result<ArrayRef> {
        let definition = Arc::clone(&self.definition);
        let column = &definition.columns[position];
        let Some(width) = column.map else {
            return if definition.is_in_memory() { Ok(array) } else { to_stored(column, &array) };
        };
        let table = self.table;
        let borrowed = self.interners[position].get_or_insert_with(|| BorrowedInterner::new(shared, table, column));
        let interner = &mut borrowed.interner;
        let (numbers, nulls) = intern_array(interner, &array)?;
        let mapped = MappedColumn { table, definition: &definition, column, width };
        let mapped = mapped.indices(shared, interner, &numbers, nulls);
        if mapped.is_err() {
            // Strings that got no index must not be requested again with the strings of later rows.
            interner.truncate(0);
        }
        mapped
    }
}

/// The local numbers of a string or dictionary array.
fn intern_array(interner: &mut Interner, array: &ArrayRef) -> Result<(Vec<u32>, Option<NullBuffer>)> {
    if let Some(strings) = array.as_string_opt::<i32>() {
        let numbers = strings.iter().map(|text| text.map_or(0, |text| interner.intern(text.as_bytes()))).collect();
        return Ok((numbers, strings.nulls().cloned()));
    }
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return Err(Error::internal(format!("{} for a mapped column", array.data_type())));
    };
    let nulls = array.logical_nulls();
    let strings = dictionary.values().as_string::<i32>();
    let keys = atsdb_codec::dictionary_keys(dictionary);
    // Only the strings that rows use go into the dictionary.
    let mut number_of = vec![None; strings.len()];
    let number = |(row, key): (usize, &usize)| {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return 0;
        }
        *number_of[*key].get_or_insert_with(|| interner.intern(strings.value(*key).as_bytes()))
    };
    let numbers = keys.iter().enumerate().map(number).collect();
    Ok((numbers, nulls))
}

/// A mapped column of a table, with the width of its indices.
#[derive(Clone, Copy)]
pub(crate) struct MappedColumn<'a> {
    pub(crate) table: TableId,
    pub(crate) definition: &'a TableDefinition,
    pub(crate) column: &'a Column,
    pub(crate) width: MapWidth,
}

impl MappedColumn<'_> {
    /// Turns local numbers into the store's indices, as an array of the column's stored type. New strings are committed
    /// to the dictionary first. After an error the interner still has the strings of these numbers.
    pub(crate) fn indices(
        self,
        shared: &Shared,
        interner: &mut Interner,
        numbers: &[u32],
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let unresolved = interner.unresolved();
        if !unresolved.is_empty() {
            if let Some(enumeration) = &self.column.enumeration {
                require_labels(enumeration, &unresolved)?;
            }
            let dictionary = shared.dictionaries.get(self.table, self.column.id);
            let store = shared.store.as_ref();
            dictionary.check_room(store, &unresolved).map_err(|error| self.explain_large(error))?;
            let resolved = dictionary.indices(store, self.width, &unresolved);
            let resolved = resolved.map_err(|error| self.explain_full(error))?;
            interner.resolve(&resolved);
        }
        let array = match self.width {
            MapWidth::U8 => gather::<UInt8Type>(interner.indices(), numbers, nulls),
            MapWidth::U16 => gather::<UInt16Type>(interner.indices(), numbers, nulls),
            MapWidth::U32 => gather::<UInt32Type>(interner.indices(), numbers, nulls),
        };
        let Some(array) = array else { return Err(self.explain_narrow(shared)?) };
        if interner.byte_count() > INTERNER_BYTES_MAX {
            *interner = Interner::new();
        }
        Ok(array)
    }

    /// The error for an index that does not fit the width: another writer has widened the column, or has done so in a
    /// transaction that was rolled back, which leaves its strings.
    fn explain_narrow(self, shared: &Shared) -> Result<Error> {
        let tables = shared.store.snapshot()?.tables()?;
        let now = tables.iter().find(|other| other.id == self.table);
        let now = now.and_then(|now| now.definition.column_by_id(self.column.id)).and_then(|column| column.map);
        Ok(match now {
            Some(present) if present <= self.width => {
                self.explain_full(refusal::dictionary_full(self.width.capacity()))
            }
            _ => changed_meanwhile(self.definition),
        })
    }

    fn explain_large(self, error: Error) -> Error {
        let (table, name) = (&self.definition.name, &self.column.name);
        match error.kind() {
            ErrorKind::Limit => error
                .context(format_args!("table {table}: the dictionary of column {name} is full"))
                .with_hint(format!("declare {name} as plain TEXT, without map")),
            _ => error.context(format_args!("table {table}, column {name}")),
        }
    }

    fn explain_full(self, error: Error) -> Error {
        let (table, name, width) = (&self.definition.name, &self.column.name, self.width);
        if error.kind() != ErrorKind::Limit {
            return error.context(format_args!("table {table}, column {name}"));
        }
        let wider = match width {
            MapWidth::U8 => format!("declare it wider: map = '{name}:u16'"),
            MapWidth::U16 => format!("declare it wider: map = '{name}:u32'"),
            MapWidth::U32 => format!("declare {name} as plain TEXT, without map"),
        };
        let most = width.capacity();
        let message = format!(
            "table {table}: the dictionary of column {name} is full: {width} holds at most {most} different strings"
        );
        Error::new(ErrorKind::Limit, message).with_hint(wider)
    }
}

/// Refuses strings that are not labels of the column's type.
fn require_labels(enumeration: &Enumeration, strings: &[&[u8]]) -> Result<()> {
    strings.iter().try_for_each(|string| enumeration.require(&String::from_utf8_lossy(string)))
}

/// The indices of rows. `None` if one of them does not fit the width.
fn gather<T: ArrowPrimitiveType>(indices: &[u32], numbers: &[u32], nulls: Option<NullBuffer>) -> Option<ArrayRef>
where
    T::Native: TryFrom<u32>,
{
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let mut fits = true;
    let index = |(row, number): (usize, &u32)| {
        // A NULL has number 0, which may belong to no string, or to one whose index does not fit.
        let index = indices.get(*number as usize).copied().unwrap_or_default();
        T::Native::try_from(index).unwrap_or_else(|_| {
            fits &= is_null(row);
            T::Native::default()
        })
    };
    let values: Vec<T::Native> = numbers.iter().enumerate().map(index).collect();
    fits.then(|| -> ArrayRef { Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use arrow::array::{StringArray, UInt8Array};
    use atsdb_core::ColumnType;
    use atsdb_memory::MemoryStore;

    #[test]
    fn strings_that_do_not_fit_are_forgotten_and_no_others() {
        let options = EngineOptions { maintenance: false, ..EngineOptions::default() };
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).unwrap();
        let definition = TableDefinition::new("t").with_column("s", ColumnType::Text, Some(MapWidth::U8));
        let mut writer = TableWriter::new(&engine.create_table(&definition).unwrap());
        let mut map = |numbers: std::ops::Range<u32>| {
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(numbers.map(|number| number.to_string())));
            let mapped = writer.map_column(engine.shared(), 0, texts);
            let interner = &writer.interners[0].as_ref().unwrap().interner;
            assert!(interner.is_resolved());
            (mapped.map(|array| array.len()).map_err(|error| error.kind()), interner.indices().len())
        };
        assert_eq!(map(0..200), (Ok(200), 200));
        assert_eq!(map(100..300), (Err(ErrorKind::Limit), 200));
        assert_eq!(map(150..220), (Ok(70), 220));
    }

    #[test]
    fn the_indices_of_rows_must_fit_the_width_and_no_others() {
        let nulls = NullBuffer::from(vec![true, false]);
        let gathered = gather::<UInt8Type>(&[300, 7], &[1, 0], Some(nulls)).unwrap();
        assert_eq!(gathered.as_primitive::<UInt8Type>(), &UInt8Array::from(vec![Some(7), None]));
        assert!(gather::<UInt8Type>(&[300, 7], &[1, 0], None).is_none());
    }
}
