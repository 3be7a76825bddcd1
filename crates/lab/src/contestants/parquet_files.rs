//! Rows that travel to and from a program as Parquet files, for contestants behind a pipe.

use crate::contestants::arrow_rows::ArrowRows;
use crate::contestants::time_unit::units_per_second;
use crate::data::columns::insert_rows;
use crate::data::digest::RowDigest;
use crate::data::rows::RowSet;
use crate::failure::Failure;
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit as ArrowUnit};
use atsdb::{ColumnType, TableDefinition};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Rows of structs as a batch.
pub(super) fn batch_of(rows: &RowSet, table: &TableDefinition) -> Result<RecordBatch, Failure> {
    let mut arrays = ArrowRows::new(table.columns.iter().map(|column| column.name.clone()).collect());
    insert_rows(rows, &mut arrays)?;
    arrays.finish()
}

/// Writes a batch to a new file.
pub(super) fn write(path: &Path, table: &TableDefinition, batch: &RecordBatch) -> Result<(), Failure> {
    let batch = with_microseconds(table, batch)?;
    let file = File::create(path).map_err(Failure::broken)?;
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).map_err(Failure::broken)?;
    writer.write(&batch).map_err(Failure::broken)?;
    writer.close().map_err(Failure::broken)?;
    Ok(())
}

/// The digest of a file's rows.
pub(super) fn digest(path: &Path, table: &TableDefinition) -> Result<RowDigest, Failure> {
    let file = File::open(path).map_err(Failure::broken)?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Failure::broken)?.with_batch_size(65_536);
    let mut digest = RowDigest::default();
    for batch in reader.build().map_err(Failure::broken)? {
        digest.add_batch(&with_times_in(table, &batch.map_err(Failure::broken)?)?)?;
    }
    Ok(digest)
}

/// The batch with times as microseconds without a zone, which every program reads.
fn with_microseconds(table: &TableDefinition, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    let scale = 1_000_000 / units_per_second(table).clamp(1, 1_000_000);
    let columns = table.columns.iter().zip(batch.columns()).map(|(column, array)| {
        let array = match (column.column_type, array.data_type()) {
            (ColumnType::Timestamp(_), _) if units_per_second(table) <= 1_000_000 => {
                let times = cast(array, &DataType::Int64).map_err(Failure::broken)?;
                let times: Int64Array = times.as_primitive::<Int64Type>().unary(|time| time * scale);
                let times = Arc::new(times) as ArrayRef;
                cast(&times, &DataType::Timestamp(ArrowUnit::Microsecond, None)).map_err(Failure::broken)?
            }
            (_, DataType::Dictionary(_, _)) => cast(array, &DataType::Utf8).map_err(Failure::broken)?,
            _ => Arc::clone(array),
        };
        Ok((column.name.clone(), array, true))
    });
    let columns = columns.collect::<Result<Vec<_>, Failure>>()?;
    RecordBatch::try_from_iter_with_nullable(columns).map_err(Failure::broken)
}

/// The batch with its times in the table's unit.
fn with_times_in(table: &TableDefinition, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    let scale = 1_000_000 / units_per_second(table).clamp(1, 1_000_000);
    let column = |(field, column): (&Arc<arrow::datatypes::Field>, &ArrayRef)| {
        let column = match column.data_type() {
            DataType::Timestamp(_, _) => {
                let microseconds =
                    cast(column, &DataType::Timestamp(ArrowUnit::Microsecond, None)).map_err(Failure::broken)?;
                let microseconds = cast(&microseconds, &DataType::Int64).map_err(Failure::broken)?;
                let times: Int64Array = microseconds.as_primitive::<Int64Type>().unary(|time| time.div_euclid(scale));
                Arc::new(times) as ArrayRef
            }
            DataType::Utf8View | DataType::LargeUtf8 => cast(column, &DataType::Utf8).map_err(Failure::broken)?,
            _ => Arc::clone(column),
        };
        Ok((field.name().clone(), column))
    };
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(column).collect::<Result<Vec<_>, Failure>>()?;
    RecordBatch::try_from_iter(columns).map_err(Failure::broken)
}
