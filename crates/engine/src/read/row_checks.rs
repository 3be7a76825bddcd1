//! Testing rows that are read, or rewritten, against CHECK constraints, and existing rows against lengths of texts.

use crate::chunk::plain::plain;
use crate::chunk::text_length::require_stored;
use crate::read::scan::Scan;
use crate::read::strings::with_strings;
use crate::shared::Shared;
use crate::shared::row_checks::positions_of;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::{cast, max};
use arrow::datatypes::{DataType, UInt32Type};
use atsdb_codec::to_logical;
use atsdb_core::{Check, Column, MapWidth, Result, Table, TableDefinition};
use atsdb_resident::TableState;

/// The maximum number of rows of a table in memory that are tested at once.
const TESTED_ROWS_MAX: usize = 131_072;

/// A column in stored form as a condition takes it. Tables in memory keep logical arrays.
pub(crate) fn plain_of_stored(shared: &Shared, table: &Table, column: &Column, array: &ArrayRef) -> Result<ArrayRef> {
    if table.definition.is_in_memory() {
        return plain(array, column);
    }
    if column.map.is_none() {
        return plain(&to_logical(column, array)?, column);
    }
    let width = match array.data_type() {
        DataType::UInt8 => MapWidth::U8,
        DataType::UInt16 => MapWidth::U16,
        _ => MapWidth::U32,
    };
    let indices = cast(array, &DataType::UInt32)?;
    let count = max(indices.as_primitive::<UInt32Type>()).map_or(0, |largest| largest as usize + 1);
    let strings = shared.dictionaries.get(table.id, column.id).strings_in_use(shared.store.as_ref(), count)?;
    plain(&with_strings(width, array, &strings)?, column)
}

/// Refuses rows in stored form that were made under an older definition, if a text does not fit a length that was
/// declared since.
pub(crate) fn require_lengths(
    shared: &Shared,
    table: &Table,
    older: &TableDefinition,
    columns: &[ArrayRef],
) -> Result<()> {
    let definition = &table.definition;
    for position in definition.lengths_added_to(older) {
        let column = &definition.columns[position];
        require_stored(definition, column, &plain_of_stored(shared, table, column, &columns[position])?)?;
    }
    Ok(())
}

/// Returns a constraint that the rows of a table in memory violate, if they may, having been added under an older
/// definition.
///
/// Errors: [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue) for a text that does not fit a length declared since.
pub(crate) fn violated_in_memory<'a>(
    shared: &Shared,
    table: &'a Table,
    older: &TableDefinition,
    state: &TableState,
) -> Result<Option<&'a Check>> {
    let added = table.definition.checks_validated_since(older);
    let lengths = table.definition.lengths_added_to(older);
    if added.is_empty() && lengths.is_empty() {
        return Ok(None);
    }
    for (part, rows) in state.row_ranges(TESTED_ROWS_MAX) {
        let (_, numbers) = state.read(part, rows.clone(), &[])?;
        let column = |position: usize| {
            let (mut arrays, _) = state.read(part, rows.clone(), &[position])?;
            plain(&arrays.remove(0), &table.definition.columns[position])
        };
        for position in &lengths {
            require_stored(&table.definition, &table.definition.columns[*position], &column(*position)?)?;
        }
        let wanted = |check: &Check| added.contains(&check);
        if let Some(check) = shared.row_checks.first_violated(table, wanted, numbers.len(), column)? {
            return Ok(Some(check));
        }
    }
    Ok(None)
}

impl Scan {
    /// Returns a constraint that the rows of a chunk violate, if they may, having been added under an older definition.
    ///
    /// Errors: [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue) for a text that does not fit a length declared
    /// since.
    pub(crate) fn violated_in(&self, position: usize, older: &TableDefinition) -> Result<Option<&Check>> {
        let definition = &self.table.definition;
        let added = definition.checks_validated_since(older);
        let lengths = definition.lengths_added_to(older);
        if added.is_empty() && lengths.is_empty() {
            return Ok(None);
        }
        let shared = &self.snapshot.shared;
        let row_count = self.chunk(position)?.entry.row_count as usize;
        let column = |at: usize| {
            let array = self.read_stored(position, &[at])?.remove(0);
            self.plain_column(at, &array)
        };
        for at in lengths {
            require_stored(definition, &definition.columns[at], &column(at)?)?;
        }
        shared.row_checks.first_violated(&self.table, |check| added.contains(&check), row_count, column)
    }

    /// Refuses rows in which some columns get other values, if these violate a constraint. `rows_of` returns the rows'
    /// values in the column at a position, in stored form.
    pub(crate) fn check_rewritten(
        &self,
        set: &[usize],
        row_count: usize,
        rows_of: impl Fn(usize) -> Result<ArrayRef>,
    ) -> Result<()> {
        let definition = &self.table.definition;
        let is_touched = |check: &Check| positions_of(definition, check).any(|position| set.contains(&position));
        let column = |position: usize| self.plain_column(position, &rows_of(position)?);
        match self.snapshot.shared.row_checks.first_violated(&self.table, is_touched, row_count, column)? {
            Some(check) => Err(definition.check_violation(check)),
            None => Ok(()),
        }
    }

    /// A column of a chunk in stored form, as a condition takes it. The chunks of a table in memory are stored, too.
    pub(crate) fn plain_column(&self, position: usize, array: &ArrayRef) -> Result<ArrayRef> {
        let column = &self.table.definition.columns[position];
        match column.map {
            None => plain(&to_logical(column, array)?, column),
            Some(_) => plain_of_stored(&self.snapshot.shared, &self.table, column, array),
        }
    }
}
