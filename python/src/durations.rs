//! Intervals as durations, for libraries that have no intervals: Polars.

use atsdb::arrow::array::{Array, ArrayRef, AsArray, ListArray, PrimitiveArray, RecordBatch, RecordBatchOptions};
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{
    DataType, DurationMicrosecondType, Field, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, Schema,
    SchemaRef, TimeUnit,
};
use atsdb::{Error, ErrorKind, Result};
use std::sync::Arc;

const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// A schema with durations in place of intervals and of the elements of arrays of them.
pub(crate) fn with_durations(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<Field> = schema.fields().iter().map(|field| field_with_durations(field)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn field_with_durations(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Interval(_) => DataType::Duration(TimeUnit::Microsecond),
        DataType::List(element) => DataType::List(Arc::new(field_with_durations(element))),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// A batch with the schema that [`with_durations`] makes of its own.
pub(crate) fn batch_with_durations(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(column_with_durations).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn column_with_durations(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Interval(_) => {
            let intervals = cast(column, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
            let durations: PrimitiveArray<DurationMicrosecondType> = intervals.try_unary(microseconds)?;
            Ok(Arc::new(durations))
        }
        DataType::List(element) => {
            let lists = column.as_list::<i32>();
            let (element, values) = (field_with_durations(element), column_with_durations(lists.values())?);
            let lists = ListArray::try_new(Arc::new(element), lists.offsets().clone(), values, lists.nulls().cloned())?;
            Ok(Arc::new(lists))
        }
        _ => Ok(Arc::clone(column)),
    }
}

fn microseconds(interval: IntervalMonthDayNano) -> Result<i64> {
    let IntervalMonthDayNano { months, days, nanoseconds } = interval;
    let refused = |message: &str| {
        let error = Error::new(ErrorKind::InvalidValue, message);
        error.with_hint("read it by .arrow() or .pandas(), or cast it in the query")
    };
    if months != 0 || nanoseconds % 1_000 != 0 {
        return Err(refused("a duration cannot hold an interval of months or nanoseconds"));
    }
    let of_days = i64::from(days).checked_mul(DAY_MICROSECONDS);
    let all = of_days.and_then(|of_days| of_days.checked_add(nanoseconds / 1_000));
    all.ok_or_else(|| refused("the interval is too long for a duration"))
}
