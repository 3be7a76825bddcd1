//! The numbers of identity columns that added rows lack. All ways into a table come by here.

use crate::batch::Batch;
use crate::shared::session_numbers::SessionNumbers;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema};
use atsdb_codec::logical_type;
use atsdb_core::name::same_name;
use atsdb_core::{Result, Table};
use std::borrow::Cow;
use std::sync::Arc;

impl Batch {
    /// Notes the numbers that the batch gives to rows as drawn by a session.
    pub fn with_numbers(mut self, session: &SessionNumbers) -> Self {
        self.numbers = Some(session.clone());
        self
    }

    /// Adds the identity columns that rows lack. No number is given again if the rows are not stored after all.
    pub(crate) fn numbered<'a>(&self, table: &Table, rows: &'a RecordBatch) -> Result<Cow<'a, RecordBatch>> {
        let schema = rows.schema();
        let is_given = |name: &str| schema.fields().iter().any(|field| same_name(field.name(), name));
        let mut added: Vec<(Field, ArrayRef)> = Vec::new();
        for (position, _) in table.definition.identities() {
            let column = &table.definition.columns[position];
            if !is_given(&column.name) {
                let numbers = match &self.numbers {
                    Some(session) => session.draw(table, position, rows.num_rows())?,
                    None => self.handle.shared.draw_numbers(table, position, rows.num_rows())?,
                };
                let array = cast(&Int64Array::from(numbers), &logical_type(column))?;
                added.push((Field::new(&column.name, array.data_type().clone(), false), array));
            }
        }
        if added.is_empty() {
            return Ok(Cow::Borrowed(rows));
        }
        let fields = schema.fields().iter().map(|field| field.as_ref().clone());
        let (new_fields, new_arrays): (Vec<Field>, Vec<ArrayRef>) = added.into_iter().unzip();
        let fields: Vec<Field> = fields.chain(new_fields).collect();
        let arrays: Vec<ArrayRef> = rows.columns().iter().cloned().chain(new_arrays).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(Cow::Owned(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?))
    }
}
