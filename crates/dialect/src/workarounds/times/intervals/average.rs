//! `avg` of intervals, which DataFusion does not have. Months, days and the rest are averaged one by one; a fraction of
//! a month becomes days, and a fraction of a day hours and smaller units. A time of day is the interval since midnight.
//!
//! Waits for [#13850](https://github.com/apache/datafusion/issues/13850).

use super::product::quotient;
use crate::workarounds::times::time_types::TIME_OF_DAY;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, UInt64Type,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::utils::format_state_name;
use std::sync::Arc;

pub(crate) const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

const MICROSECOND_NANOS: i128 = 1_000;

/// The type in which values of a type are added up, if they are intervals or times of day.
pub(crate) fn length_type(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Interval(_) => Some(INTERVAL),
        DataType::Time32(_) | DataType::Time64(_) => Some(TIME_OF_DAY),
        _ => None,
    }
}

/// Returns whether the one argument of an aggregate is an interval or a time of day.
pub(crate) fn is_length(arguments: &[FieldRef]) -> bool {
    matches!(arguments, [field] if length_type(field.data_type()).is_some())
}

/// The sums of the parts of intervals, and their number.
#[derive(Debug, Default)]
pub(crate) struct AverageLength {
    months: i64,
    days: i64,
    nanos: i128,
    count: u64,
}

impl AverageLength {
    /// The fields of its state.
    pub(crate) fn state_fields(name: &str) -> Vec<FieldRef> {
        let field = |what: &str, data_type: DataType| -> FieldRef {
            Arc::new(Field::new(format_state_name(name, what), data_type, true))
        };
        vec![
            field("months", DataType::Int64),
            field("days", DataType::Int64),
            field("nanos", DataType::Decimal128(38, 0)),
            field("count", DataType::UInt64),
        ]
    }

    /// The sums of months, days and nanoseconds; `None` if there was no interval.
    pub(super) fn sums(&self) -> Option<(i64, i64, i128)> {
        (self.count > 0).then_some((self.months, self.days, self.nanos))
    }

    fn add(&mut self, lengths: &ArrayRef, sign: i64) {
        if let Some(times) = lengths.as_primitive_opt::<Time64MicrosecondType>() {
            let micros: i128 = times.iter().flatten().map(i128::from).sum();
            self.nanos += i128::from(sign) * micros * MICROSECOND_NANOS;
            return;
        }
        for length in lengths.as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
            self.months += sign * i64::from(length.months);
            self.days += sign * i64::from(length.days);
            self.nanos += i128::from(sign) * i128::from(length.nanoseconds);
        }
    }
}

impl Accumulator for AverageLength {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], 1);
        self.count += (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], -1);
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.months += states[0].as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
        self.days += states[1].as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
        self.nanos += states[2].as_primitive::<Decimal128Type>().iter().flatten().sum::<i128>();
        self.count += states[3].as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![
            ScalarValue::Int64(Some(self.months)),
            ScalarValue::Int64(Some(self.days)),
            ScalarValue::Decimal128(Some(self.nanos), 38, 0),
            ScalarValue::UInt64(Some(self.count)),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.count == 0 {
            return Ok(ScalarValue::IntervalMonthDayNano(None));
        }
        let parts = (self.months as f64, self.days as f64, self.nanos as f64);
        quotient(parts, self.count as f64).map(|length| ScalarValue::IntervalMonthDayNano(Some(length)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
