//! A condition that the engine does not evaluate, such as `url LIKE '%google%'`, over few of many columns. Its columns
//! are read first, and the others only of chunks with rows that match. The filter above the scan stays, so rows that do
//! not match may be returned as well.

use super::columns_left::{columns_of, over_left};
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_engine::Scan;
use datafusion::arrow::array::{AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::filter;
use datafusion::arrow::datatypes::{SchemaRef, UInt32Type};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use std::sync::Arc;

/// Fewer other columns are not worth a second read.
const OTHERS_MIN: usize = 4;
/// The condition may use at most one of this many columns.
const CONDITION_SHARE: usize = 2;
/// If at least one of this many rows matches, whole rows are read without picking them.
const WHOLE_SHARE: usize = 4;

/// A condition on the rows of a scan.
#[derive(Debug, Clone)]
pub(crate) struct RowFilter {
    /// Over the columns that it uses.
    condition: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    /// Reads the columns of the condition.
    scan: Arc<Scan>,
}

impl RowFilter {
    /// The filter for a condition over a scan with this schema. `None` if too little would be saved.
    pub(crate) fn new(condition: &Arc<dyn PhysicalExpr>, scan: &Scan, schema: &SchemaRef) -> Result<Option<Self>> {
        let columns: Vec<usize> = columns_of([condition]).into_iter().collect();
        let all = schema.fields().len();
        let is_worth_it = columns.len() * CONDITION_SHARE <= all && all - columns.len() >= OTHERS_MIN;
        // A condition that is different each time must not be evaluated twice.
        if columns.is_empty() || !is_worth_it || is_volatile(condition) {
            return Ok(None);
        }
        Ok(Some(Self {
            condition: over_left(condition, &columns)?,
            schema: Arc::new(schema.project(&columns)?),
            scan: Arc::new(scan.with_columns(&columns).map_err(external)?),
        }))
    }

    /// The names of the columns that are read first.
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The rows of a chunk of `whole` that match, or more. `None` if none match: then only the columns of the condition
    /// were read.
    pub(crate) fn read(&self, whole: &Scan, position: usize, batch_rows_max: usize) -> Result<Option<RecordBatch>> {
        let Some((rows, numbers)) = self.scan.read_numbered(position).map_err(external)? else { return Ok(None) };
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), rows.columns().to_vec())?;
        match self.matching(&rows, &numbers, batch_rows_max) {
            Ok(matching) if matching.is_empty() => Ok(None),
            Ok(matching) if matching.len() * WHOLE_SHARE < rows.num_rows() => {
                let located = whole.read_located(position, &UInt32Array::from(matching)).map_err(external)?;
                whole.rows_of_chunk(&located).map(Some).map_err(external)
            }
            // If the condition fails for a row, the filter above reports that, unless a limit ends the query before.
            Ok(_) | Err(_) => whole.read(position).map_err(external),
        }
    }

    /// The numbers of the rows that match. Rows are tested in batches of the usual size, as the filter above does.
    fn matching(&self, rows: &RecordBatch, numbers: &UInt32Array, batch_rows_max: usize) -> Result<Vec<u32>> {
        let mut matching = Vec::new();
        for start in (0..rows.num_rows()).step_by(batch_rows_max.max(1)) {
            let batch = rows.slice(start, batch_rows_max.min(rows.num_rows() - start));
            let matches = self.condition.evaluate(&batch)?.into_array(batch.num_rows())?;
            let kept = filter(&numbers.slice(start, batch.num_rows()), matches.as_boolean())?;
            matching.extend_from_slice(kept.as_primitive::<UInt32Type>().values());
        }
        Ok(matching)
    }
}
