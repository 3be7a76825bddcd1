//! Statistics of a scan that are known without reading rows, in DataFusion's form. Statistics that are marked as exact
//! must be exact, because aggregates are answered from them.

use atsdb_codec::{logical_type, time_unit_of};
use atsdb_core::{Bound, Column};
use atsdb_dialect::functions::times::types::timestamp;
use atsdb_engine::{Scan, ScanRequest};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

pub(crate) fn statistics_of(scan: &Scan, request: &ScanRequest, limit: Option<usize>) -> Statistics {
    let row_count = match scan.row_count_exact() {
        Some(exact) if limit.is_none() => Precision::Exact(exact as usize),
        _ => Precision::Inexact((scan.row_count_max() as usize).min(limit.unwrap_or(usize::MAX))),
    };
    let of_column = |position: &usize| match scan.column_bounds(*position) {
        Some(bounds) if limit.is_none() => column_statistics(&scan.table().definition.columns[*position], bounds),
        _ => ColumnStatistics::new_unknown(),
    };
    Statistics {
        num_rows: row_count,
        total_byte_size: Precision::Absent,
        column_statistics: request.columns.iter().map(of_column).collect(),
    }
}

fn column_statistics(column: &Column, bounds: (Option<Bound>, Option<Bound>, u64)) -> ColumnStatistics {
    let (min, max, null_count) = bounds;
    let ty = logical_type(column);
    let exact = |bound: Option<Bound>| match bound.and_then(|bound| exact_scalar(bound, &ty)) {
        Some(value) => Precision::Exact(value),
        None => Precision::Absent,
    };
    let mut statistics = ColumnStatistics::new_unknown();
    statistics.null_count = Precision::Exact(null_count as usize);
    statistics.min_value = exact(min);
    statistics.max_value = exact(max);
    statistics
}

/// A bound as a value of the column's type. `None` for a zero float, because a bound does not distinguish 0.0 from
/// -0.0, and for text, because bounds may be truncated.
pub(crate) fn exact_scalar(bound: Bound, ty: &DataType) -> Option<ScalarValue> {
    Some(match (bound, ty) {
        (Bound::Int(value), DataType::Boolean) => ScalarValue::Boolean(Some(value != 0)),
        (Bound::Int(value), DataType::Int8) => ScalarValue::Int8(Some(i8::try_from(value).ok()?)),
        (Bound::Int(value), DataType::Int16) => ScalarValue::Int16(Some(i16::try_from(value).ok()?)),
        (Bound::Int(value), DataType::Int32) => ScalarValue::Int32(Some(i32::try_from(value).ok()?)),
        (Bound::Int(value), DataType::Int64) => ScalarValue::Int64(Some(value)),
        (Bound::Int(value), DataType::Date32) => ScalarValue::Date32(Some(i32::try_from(value).ok()?)),
        (Bound::Int(value), DataType::Timestamp(unit, zone)) => timestamp(time_unit_of(*unit), value, zone.clone()),
        (Bound::Int(value), DataType::Time64(TimeUnit::Microsecond)) => ScalarValue::Time64Microsecond(Some(value)),
        (Bound::Int(value), DataType::Decimal128(precision, scale)) => {
            ScalarValue::Decimal128(Some(value.into()), *precision, *scale)
        }
        (Bound::UInt(value), DataType::UInt8) => ScalarValue::UInt8(Some(u8::try_from(value).ok()?)),
        (Bound::UInt(value), DataType::UInt16) => ScalarValue::UInt16(Some(u16::try_from(value).ok()?)),
        (Bound::UInt(value), DataType::UInt32) => ScalarValue::UInt32(Some(u32::try_from(value).ok()?)),
        (Bound::UInt(value), DataType::UInt64) => ScalarValue::UInt64(Some(value)),
        (Bound::Float(value), DataType::Float64) if value != 0.0 => ScalarValue::Float64(Some(value)),
        (Bound::Float(value), DataType::Float32) if value != 0.0 => ScalarValue::Float32(Some(value as f32)),
        _ => return None,
    })
}
