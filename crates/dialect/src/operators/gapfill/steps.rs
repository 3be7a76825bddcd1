//! The buckets of `time_bucket_gapfill`, one after the other.

use crate::functions::bucketing::buckets::Buckets;
use crate::functions::bucketing::grid::Grid;
use crate::functions::times::interval::interval_of;
use crate::text::errors::sql_error;
use crate::text::zone::Zone;
use atsdb_codec::time_unit_of;
use atsdb_core::{Result, TimeUnit};
use datafusion::arrow::array::{Array, Int64Array};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::ScalarValue;

/// The unit of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ticks {
    /// A time unit since the epoch.
    Of(TimeUnit),
    /// An integer column without a unit; the width of its buckets is an integer.
    Plain,
}

impl Ticks {
    /// The unit of a column of this type; `None` if the type cannot be a time.
    pub(crate) fn of(ty: &DataType) -> Option<Self> {
        Some(match ty {
            DataType::Timestamp(unit, _) => Self::Of(time_unit_of(*unit)),
            DataType::Int64 => Self::Plain,
            _ => return None,
        })
    }
}

/// Divides times into adjacent buckets.
#[derive(Debug, Clone)]
pub(crate) enum Steps {
    Times(Buckets),
    /// Buckets of this width, starting at 0.
    Integers(i64),
}

impl Steps {
    /// Creates buckets of a width, which is an interval, text that names one, or an integer for plain integers.
    pub(crate) fn new(width: &ScalarValue, zone: Option<&str>, ticks: Ticks) -> Result<Self> {
        let Ticks::Of(unit) = ticks else {
            return match width.cast_to(&DataType::Int64) {
                Ok(ScalarValue::Int64(Some(width @ 1..))) => Ok(Self::Integers(width)),
                Ok(ScalarValue::Int64(Some(width))) => Err(sql_error(format!("a width of {width} is not positive"))),
                _ => Err(sql_error("the width of buckets of an integer time must be an integer")
                    .with_hint("or convert the integer to a time: to_timestamp_seconds(n)")),
            };
        };
        let width = interval_of(width)?.ok_or_else(|| sql_error("the width of buckets is NULL"))?;
        let none = IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 0 };
        let grid = Grid::new(width, i128::from(1_000_000_000 / unit.per_second()), None, none)?;
        let zone = zone.map(Zone::named).transpose()?;
        Ok(Self::Times(Buckets::new(grid, zone, unit.per_second())))
    }

    /// The start of the bucket that contains a time; `None` if it is out of the range of i64.
    pub(crate) fn bucket_of(&self, time: i64) -> Option<i64> {
        match self {
            Self::Times(buckets) => buckets.bucket(time).map(|bucket| bucket.start),
            Self::Integers(width) => time.checked_sub(time.rem_euclid(*width)),
        }
    }

    /// The start of the next bucket; `None` if it is out of the range of i64.
    pub(crate) fn next(&self, bucket: i64) -> Option<i64> {
        match self {
            Self::Times(buckets) => buckets.bucket(bucket)?.last.checked_add(1),
            Self::Integers(width) => bucket.checked_add(*width),
        }
    }

    /// Returns the start of the bucket of each time. `Err` has the first time without a bucket.
    pub(crate) fn starts(&self, times: &Int64Array) -> std::result::Result<Int64Array, i64> {
        match self {
            Self::Times(buckets) => {
                let starts = buckets.starts(times.values(), |row| times.is_null(row))?;
                Ok(Int64Array::new(starts.into(), times.nulls().cloned()))
            }
            Self::Integers(_) => times.try_unary(|time| self.bucket_of(time).ok_or(time)),
        }
    }
}
