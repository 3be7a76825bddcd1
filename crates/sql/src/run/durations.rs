//! Intervals as durations, for libraries that have no intervals: Polars.

use arrow::array::{Array, ArrayRef, AsArray, ListArray, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, DurationMicrosecondType, Field, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, Schema,
    SchemaRef, TimeUnit,
};
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Returns a schema with durations in microseconds in place of intervals and of the elements of arrays of them.
pub fn with_durations(schema: &SchemaRef) -> SchemaRef {
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

/// Converts a batch to the schema that [`with_durations`] makes of its own.
///
/// Errors: [`InvalidValue`](ErrorKind::InvalidValue) for an interval that is no duration: one of months, of nanoseconds
/// or of more than 292,000 years.
pub fn batch_with_durations(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
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
        error.with_hint("read it as an interval, or cast it in the query")
    };
    if months != 0 || nanoseconds % 1_000 != 0 {
        return Err(refused("a duration cannot hold an interval of months or nanoseconds"));
    }
    let of_days = i64::from(days).checked_mul(DAY_MICROSECONDS);
    let all = of_days.and_then(|of_days| of_days.checked_add(nanoseconds / 1_000));
    all.ok_or_else(|| refused("the interval is too long for a duration"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(intervals: Vec<Option<IntervalMonthDayNano>>) -> Result<Vec<Option<i64>>> {
        let array: ArrayRef = Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::from(intervals));
        let batch = RecordBatch::try_from_iter_with_nullable([("length", array, true)])?;
        let found = batch_with_durations(&batch, &with_durations(&batch.schema()))?;
        Ok(found.column(0).as_primitive::<DurationMicrosecondType>().iter().collect())
    }

    #[test]
    fn intervals_of_days_and_microseconds_are_durations() {
        let interval = IntervalMonthDayNano::new;
        assert_eq!(
            durations(vec![Some(interval(0, 1, 5_000)), None, Some(interval(0, -1, 0))]).unwrap(),
            [Some(DAY_MICROSECONDS + 5), None, Some(-DAY_MICROSECONDS)]
        );
        for refused in [interval(1, 0, 0), interval(0, 0, 1), interval(0, i32::MAX, 0)] {
            assert_eq!(durations(vec![Some(refused)]).unwrap_err().kind(), ErrorKind::InvalidValue);
        }
    }
}
