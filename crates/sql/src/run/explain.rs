//! The answer of EXPLAIN: one row for each line of a plan.

use crate::workarounds::output_names::without_marks;
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use atsdb_core::{Error, Result};
use std::sync::Arc;

/// Splits the rows of DataFusion's EXPLAIN, which have a whole plan in one cell, into one row for each line.
pub(crate) fn one_row_a_line(plans: &RecordBatch) -> Result<RecordBatch> {
    let columns =
        (plans.column(0).as_string_opt::<i32>(), plans.columns().get(1).and_then(|array| array.as_string_opt::<i32>()));
    let (Some(kinds), Some(texts)) = columns else { return Ok(plans.clone()) };
    let lines = kinds.iter().zip(texts).flat_map(|(kind, text)| {
        let lines = text.unwrap_or_default().trim_end_matches('\n').split('\n');
        lines.map(move |line| (kind, Some(without_marks(line))))
    });
    let (kinds, lines): (Vec<Option<&str>>, Vec<Option<String>>) = lines.unzip();
    let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(kinds)), Arc::new(StringArray::from(lines))];
    RecordBatch::try_new(plans.schema(), columns).map_err(Error::from)
}
