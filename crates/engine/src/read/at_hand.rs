//! Whether the rows of a chunk can be read without waiting for the store.

use crate::read::scan::Scan;
use atsdb_codec::stored_type;
use atsdb_core::{Column, Result};

impl Scan {
    /// Whether all columns that [`read`](Self::read) may need of a chunk are in the memory of this process.
    pub fn is_in_memory(&self, position: usize) -> Result<bool> {
        let (definition, descriptor) = (&self.table.definition, &self.chunk(position)?.descriptor);
        let of_conditions = self.conditions.iter().map(|condition| &definition.columns[condition.predicate.column]);
        let mut columns = self.requested_columns().into_iter().chain(of_conditions).chain(definition.time_column());
        let shared = &self.snapshot.shared;
        let is_there = |column: &Column| {
            let kept = shared.preloaded.get(descriptor.uid, column.id);
            kept.or_else(|| shared.cache.peek(descriptor.uid, column.id))
                .is_some_and(|array| *array.data_type() == stored_type(column))
        };
        Ok(columns.all(|column| descriptor.page(column.id).is_none() || is_there(column)))
    }
}
