//! The shortest and longest of intervals: `min` and `max`, `least` and `greatest`. DataFusion compares months, days and
//! the rest one by one.
//!
//! Waits for [#8468](https://github.com/apache/datafusion/issues/8468).

use super::order::nanos_of;
use crate::functions::base::answers::{answer, are_constant};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano as Interval, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::collections::BTreeMap;
use std::sync::Arc;

fn is_better(length: Interval, found: Interval, is_max: bool) -> bool {
    let (length, found) = (nanos_of(length), nanos_of(found));
    if is_max { length > found } else { length < found }
}

/// `min` or `max` of the intervals of a group.
#[derive(Debug)]
pub(crate) struct ExtremeLength {
    is_max: bool,
    found: Option<Interval>,
}

impl ExtremeLength {
    pub(crate) fn new(is_max: bool) -> Self {
        Self { is_max, found: None }
    }
}

impl Accumulator for ExtremeLength {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for length in values[0].as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
            // Of equal lengths, PostgreSQL keeps the last.
            if self.found.is_none_or(|found| !is_better(found, length, self.is_max)) {
                self.found = Some(length);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::IntervalMonthDayNano(self.found))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// `min` or `max` of the intervals in a window: the lengths in it, each with an interval and the number of its rows.
#[derive(Debug)]
pub(crate) struct ExtremeLengthOfWindow {
    is_max: bool,
    lengths: BTreeMap<i128, (Interval, u64)>,
}

impl ExtremeLengthOfWindow {
    pub(crate) fn new(is_max: bool) -> Self {
        Self { is_max, lengths: BTreeMap::new() }
    }
}

impl Accumulator for ExtremeLengthOfWindow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for length in values[0].as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
            let entry = self.lengths.entry(nanos_of(length)).or_insert((length, 0));
            *entry = (length, entry.1 + 1);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for length in values[0].as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
            let nanos = nanos_of(length);
            if let Some((_, count)) = self.lengths.get_mut(&nanos) {
                *count -= 1;
                if *count == 0 {
                    self.lengths.remove(&nanos);
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = if self.is_max { self.lengths.last_key_value() } else { self.lengths.first_key_value() };
        Ok(ScalarValue::IntervalMonthDayNano(found.map(|(_, (length, _))| *length)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.lengths.len() * size_of::<(i128, (Interval, u64))>()
    }
}

/// `least` or `greatest` of intervals. NULLs are skipped.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ExtremeOfRow {
    is_max: bool,
    signature: Signature,
}

impl ExtremeOfRow {
    pub(super) fn new(is_max: bool) -> Self {
        Self { is_max, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ExtremeOfRow {
    fn name(&self) -> &str {
        if self.is_max { "greatest_interval" } else { "least_interval" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let columns: Vec<_> = arrays.iter().map(|array| array.as_primitive::<IntervalMonthDayNanoType>()).collect();
        let rows = arrays.first().map_or(0, |array| array.len());
        let better = |found: Interval, length: Interval| {
            if is_better(length, found, self.is_max) { length } else { found }
        };
        let of_row = |row: usize| {
            let lengths = columns.iter().filter(|column| column.is_valid(row)).map(|column| column.value(row));
            lengths.reduce(better)
        };
        let found: IntervalMonthDayNanoArray = (0..rows).map(of_row).collect();
        answer(are_constant(&args.args), Arc::new(found))
    }
}
