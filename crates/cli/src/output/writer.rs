//! What writes a result in a format.

use arrow::record_batch::RecordBatch;
use atsdb::Result;

/// Writes one result: its header when it is made, its rows as they come.
pub(crate) trait ResultWriter {
    /// Writes the rows of a batch of the schema it was made for.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what follows the last row. A writer that is dropped before leaves an incomplete output.
    fn finish(&mut self) -> Result<()>;
}
