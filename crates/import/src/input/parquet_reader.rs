//! The rows of a Parquet file, with whole intervals.
//!
//! Parquet's INTERVAL holds months, days and milliseconds. Arrow's reader returns either the months or the rest, so
//! that a second reader of the same rows supplies the months. Arrow's reader returns enumerations as bytes, which are
//! texts here, and leaves out which bytes are UUIDs and which texts are JSON, unless the file has an Arrow schema.

use crate::input::parquet_bytes::ParquetBytes;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use ::parquet::basic::{ConvertedType, LogicalType};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use ::parquet::schema::types::{BasicTypeInfo, Type};
use arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use arrow::datatypes::{
    DataType, Field, IntervalDayTime, IntervalDayTimeType, IntervalMonthDayNano, IntervalUnit, IntervalYearMonthType,
    Schema, SchemaRef,
};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use atsdb_codec::{declared_field, declared_type, uuid_bytes_field};
use atsdb_core::ColumnType;
use std::ops::Range;
use std::sync::Arc;

const NANOSECONDS_OF_MILLISECOND: i64 = 1_000_000;

/// Reads the batches of a file.
pub(crate) struct ParquetReader {
    /// The rows of the whole file.
    pub(crate) row_count: u64,
    rows: ParquetRecordBatchReader,
    /// The months of the intervals, in batches of the same rows, if intervals are read.
    months: Option<ParquetRecordBatchReader>,
    /// Whether the parts of intervals have signs. Arrow writes signs, other writers follow Parquet, which has none.
    is_signed: bool,
}

impl ParquetReader {
    /// The schema of a file, and a reader of these columns, or of all if `columns` is `None`.
    pub(crate) fn open(
        bytes: ParquetBytes,
        columns: Option<&[usize]>,
        batch_rows: usize,
    ) -> Result<(SchemaRef, Self), ParquetError> {
        let reopened = bytes.reopened();
        let mut builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?;
        let metadata = Arc::clone(builder.metadata());
        let mask = |columns: &mut dyn Iterator<Item = usize>| {
            ProjectionMask::roots(metadata.file_metadata().schema_descr(), columns)
        };
        let rows_mask = columns.map_or_else(ProjectionMask::all, |columns| mask(&mut columns.iter().copied()));
        if let ParquetBytes::Pieces(pieces) = &reopened {
            pieces.plan(&wanted_ranges(&metadata, &rows_mask));
        }
        let schema = with_enumerations(builder.schema(), &metadata);
        let is_wanted = |position: &usize| columns.is_none_or(|columns| columns.contains(position));
        let intervals: Vec<usize> = positions_of_intervals(&schema).filter(is_wanted).collect();
        let with_schema = |schema: &SchemaRef| {
            let options = ArrowReaderOptions::new().with_schema(Arc::clone(schema));
            ArrowReaderMetadata::try_new(Arc::clone(&metadata), options)
        };
        let (mut months, mut rows_schema) = (None, Arc::clone(&schema));
        if !intervals.is_empty() {
            let months_mask = mask(&mut intervals.iter().copied());
            let months_schema = with_schema(&with_intervals(&schema, IntervalUnit::YearMonth))?;
            let of_months = ParquetRecordBatchReaderBuilder::new_with_metadata(reopened.reopened(), months_schema);
            months = Some(of_months.with_projection(months_mask).with_batch_size(batch_rows).build()?);
            rows_schema = with_intervals(&schema, IntervalUnit::DayTime);
        }
        if rows_schema != *builder.schema() {
            builder = ParquetRecordBatchReaderBuilder::new_with_metadata(reopened, with_schema(&rows_schema)?);
        }
        let rows = builder.with_projection(rows_mask).with_batch_size(batch_rows).build()?;
        let entries = metadata.file_metadata().key_value_metadata();
        let is_signed = entries.is_some_and(|entries| entries.iter().any(|entry| entry.key == ARROW_SCHEMA_META_KEY));
        let row_count = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        let schema = with_declared_types(&with_intervals(&schema, IntervalUnit::MonthDayNano), &metadata);
        Ok((schema, Self { row_count, rows, months, is_signed }))
    }

    /// The next batch.
    pub(crate) fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let batch = self.rows.next()?;
        let Some(months) = &mut self.months else { return Some(batch) };
        let months = months.next();
        Some(batch.and_then(|batch| match months {
            Some(months) => with_months(&batch, &months?, self.is_signed),
            None => Err(ArrowError::ParquetError("the months of intervals end before the rows".to_owned())),
        }))
    }
}

/// Returns whether a type has intervals within lists or structures, which are not put together.
pub(crate) fn has_inner_intervals(data_type: &DataType) -> bool {
    let is_or_has = |field: &Arc<Field>| is_interval(field.data_type()) || has_inner_intervals(field.data_type());
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _) => is_or_has(field),
        DataType::Struct(fields) => fields.iter().any(is_or_has),
        _ => false,
    }
}

fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_))
}

fn positions_of_intervals(schema: &Schema) -> impl Iterator<Item = usize> + '_ {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_interval(field.data_type())).map(|(position, _)| position)
}

/// The schema with all its columns of intervals in one unit.
fn with_intervals(schema: &SchemaRef, unit: IntervalUnit) -> SchemaRef {
    let field = |field: &Arc<Field>| {
        if is_interval(field.data_type()) {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Interval(unit)))
        } else {
            Arc::clone(field)
        }
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The schema with texts for the values that are enumerations in Parquet.
fn with_enumerations(schema: &SchemaRef, metadata: &ParquetMetaData) -> SchemaRef {
    with_parquet_types(schema, metadata, |field, parquet_type, _| {
        let is_enumeration = parquet_type.logical_type_ref() == Some(&LogicalType::Enum)
            || parquet_type.converted_type() == ConvertedType::ENUM;
        if is_enumeration && *field.data_type() == DataType::Binary {
            field.with_data_type(DataType::Utf8)
        } else {
            field
        }
    })
}

/// The schema with the types that only Parquet declares: UUIDs with Arrow's extension type, and JSON. Tables have no
/// arrays of JSON.
fn with_declared_types(schema: &SchemaRef, metadata: &ParquetMetaData) -> SchemaRef {
    with_parquet_types(schema, metadata, |field, parquet_type, is_element| {
        let logical_type = parquet_type.logical_type_ref();
        let is_json = logical_type == Some(&LogicalType::Json) || parquet_type.converted_type() == ConvertedType::JSON;
        if logical_type == Some(&LogicalType::Uuid) {
            uuid_bytes_field(field)
        } else if is_json && !is_element && declared_type(&field).is_none() {
            declared_field(field, ColumnType::Json)
        } else {
            field
        }
    })
}

/// The schema with a change of each field, or of the elements of a list, by the type of the values in Parquet. The
/// last argument of the change says whether these are elements.
fn with_parquet_types(
    schema: &SchemaRef,
    metadata: &ParquetMetaData,
    change: impl Fn(Field, &BasicTypeInfo, bool) -> Field,
) -> SchemaRef {
    let columns = metadata.file_metadata().schema_descr().root_schema().get_fields();
    let field = |field: &Arc<Field>| {
        let Some(column) = columns.iter().find(|column| column.name() == field.name()) else {
            return Arc::clone(field);
        };
        let values = value_type(column).get_basic_info();
        Arc::new(match field.data_type() {
            DataType::List(element) => {
                let element = change(element.as_ref().clone(), values, true);
                field.as_ref().clone().with_data_type(DataType::List(Arc::new(element)))
            }
            DataType::Struct(_) | DataType::Map(..) => field.as_ref().clone(),
            _ => change(field.as_ref().clone(), values, false),
        })
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The type of the values of a column; of a list, that of its elements.
fn value_type(column: &Type) -> &Type {
    let mut inner = column;
    while inner.is_group()
        && let [only] = inner.get_fields()
    {
        inner = only.as_ref();
    }
    inner
}

/// The batch with the months of its intervals, which the columns of `months` hold in the same order.
fn with_months(batch: &RecordBatch, months: &RecordBatch, is_signed: bool) -> Result<RecordBatch, ArrowError> {
    let mut columns = batch.columns().to_vec();
    for (position, months) in positions_of_intervals(&batch.schema()).zip(months.columns()) {
        columns[position] = whole_intervals(&columns[position], months, is_signed)?;
    }
    RecordBatch::try_new(with_intervals(&batch.schema(), IntervalUnit::MonthDayNano), columns)
}

fn whole_intervals(rest: &dyn Array, months: &dyn Array, is_signed: bool) -> Result<ArrayRef, ArrowError> {
    let parts = rest.as_primitive_opt::<IntervalDayTimeType>().zip(months.as_primitive_opt::<IntervalYearMonthType>());
    let (rest, months) = parts
        .filter(|(rest, months)| rest.len() == months.len())
        .ok_or_else(|| ArrowError::ParquetError("the months of intervals are not those of the rows".to_owned()))?;
    let interval = |(rest, months): (Option<IntervalDayTime>, Option<i32>)| match rest.zip(months) {
        Some((rest, months)) => whole_interval(rest, months, is_signed).map(Some),
        None => Ok(None),
    };
    let intervals = rest.iter().zip(months).map(interval).collect::<Result<Vec<_>, ArrowError>>()?;
    Ok(Arc::new(IntervalMonthDayNanoArray::from(intervals)))
}

fn whole_interval(rest: IntervalDayTime, months: i32, is_signed: bool) -> Result<IntervalMonthDayNano, ArrowError> {
    let part = |value: i32| if is_signed { i64::from(value) } else { i64::from(value.cast_unsigned()) };
    let short = |value: i32| {
        i32::try_from(part(value))
            .map_err(|_| ArrowError::ParquetError("an interval has too many months or days".to_owned()))
    };
    Ok(IntervalMonthDayNano::new(
        short(months)?,
        short(rest.days)?,
        part(rest.milliseconds) * NANOSECONDS_OF_MILLISECOND,
    ))
}

/// Returns the ranges of bytes with the values of the wanted columns.
fn wanted_ranges(metadata: &ParquetMetaData, mask: &ProjectionMask) -> Vec<Range<u64>> {
    let of_group = |group: &RowGroupMetaData| {
        let wanted = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let range = |column: &ColumnChunkMetaData| {
            let (start, length) = column.byte_range();
            start..start.saturating_add(length)
        };
        wanted.map(|(_, column)| range(column)).collect::<Vec<_>>()
    };
    metadata.row_groups().iter().flat_map(of_group).collect()
}
