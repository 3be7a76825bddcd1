//! The rows of another database's table in a temporary file, as an Arrow stream: an import may read them twice.

use crate::options::report::Progress;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use atsdb_codec::arrow_schema;
use atsdb_core::{Result, TableDefinition};
use atsdb_foreign::ForeignTable;
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace, cannot_copy};
use std::io::{self, BufWriter};
use std::sync::Arc;

/// Writes all rows. The progress has no bytes, because their number is unknown.
pub(crate) fn table_file(
    table: ForeignTable,
    space: &Arc<TemporarySpace>,
    progress: &dyn Fn(Progress),
) -> Result<PositionedFile> {
    let ForeignTable { name, columns, batches, .. } = table;
    let failed = |error: ArrowError| match error {
        ArrowError::IoError(_, error) => cannot_copy(&name, error),
        error => cannot_copy(&name, io::Error::other(error)),
    };
    let definition = columns.iter().fold(TableDefinition::new(&name), |definition, column| {
        definition.with_column(&column.name, column.column_type, None)
    });
    let schema: Arc<Schema> = arrow_schema(&definition);
    let file = TemporaryFile::new(space)?;
    let mut writer = StreamWriter::try_new(BufWriter::new(file), &schema).map_err(failed)?;
    let mut row_count = 0;
    for arrays in batches {
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays?)?;
        writer.write(&batch).map_err(failed)?;
        row_count += batch.num_rows() as u64;
        progress(Progress { bytes_read: 0, bytes_total: 0, row_count });
    }
    writer.finish().map_err(failed)?;
    let file = writer.into_inner().map_err(failed)?;
    let file = file.into_inner().map_err(|error| cannot_copy(&name, error.into_error()))?;
    Ok(PositionedFile::from(Arc::new(file)))
}
