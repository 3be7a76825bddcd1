//! The rows for the `RETURNING` of a change: complete, and each once, with the values of other tables beside it.

use super::assign::plain;
use super::returning::other_field;
use crate::dml::change::Change;
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::{Field, Schema};
use atsdb_core::{Column, Error, Result};
use atsdb_engine::Batch;
use std::collections::HashSet;
use std::sync::Arc;

/// Collects the new rows, or the removed ones.
#[derive(Default)]
pub(crate) struct ReturningRows {
    pub(crate) rows: Vec<RecordBatch>,
    /// The locations of the rows collected so far.
    seen: HashSet<(u32, u32)>,
}

impl ReturningRows {
    /// Keeps rows of the change's query, if they are needed. `whole` has the assigned columns, by position, and the
    /// query's rows have the others. Returns the size of the rows in bytes.
    pub(crate) fn keep(
        &mut self,
        batch: &Batch,
        change: &Change,
        mut whole: Vec<Option<ArrayRef>>,
        rows: &RecordBatch,
        places: (&UInt32Array, &UInt32Array),
    ) -> Result<usize> {
        let Some(returning) = &change.returning else { return Ok(0) };
        let columns = &change.table.definition.columns;
        let others = rows.columns().iter().skip(2 + change.columns.len());
        for (array, position) in others.zip(&change.others) {
            let array = plain(array, &columns[*position])?;
            whole[*position] = Some(batch.completed(&change.table, *position, &array)?);
        }
        let Some(mut arrays) = whole.into_iter().collect::<Option<Vec<ArrayRef>>>() else {
            return Err(Error::internal("RETURNING without all columns"));
        };
        let field = |(array, column): (&ArrayRef, &Column)| Field::new(&column.name, array.data_type().clone(), true);
        let mut fields = arrays.iter().zip(columns).map(field).collect::<Vec<_>>();
        let of_others = rows.schema_ref().fields().iter().zip(rows.columns());
        let of_others = of_others.skip(2 + change.columns.len() + change.others.len());
        for ((found, array), name) in of_others.zip(returning.other_names()) {
            let field = other_field(found, name);
            arrays.push(cast(array, field.data_type())?);
            fields.push(field);
        }
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
        // USING may find a row several times.
        let places = places.0.values().iter().copied().zip(places.1.values().iter().copied());
        let first: BooleanArray = places.map(|place| Some(self.seen.insert(place))).collect();
        let rows = filter_record_batch(&rows, &first)?;
        let bytes = rows.get_array_memory_size();
        self.rows.push(rows);
        Ok(bytes)
    }
}
