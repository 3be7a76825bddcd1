//! A date plus or minus a number of days. DataFusion makes an interval of nanoseconds of the number, which has 292
//! years at most.
//!
//! Part of [`arithmetic`](super::arithmetic).

use crate::functions::base::answers::{answer, are_constant};
use crate::workarounds::shared::operator::{Kernel, OperatorFunction};
use datafusion::arrow::array::{Array, AsArray, Date32Array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Date32Type, Int64Type};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::{ColumnarValue, Expr};
use std::sync::Arc;

/// Moves a date by days. One operand is the date, the other an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DayShift {
    Later,
    Earlier,
}

impl DayShift {
    pub(super) fn call(self, left: &Expr, right: &Expr) -> Expr {
        OperatorFunction::call(self, vec![left.clone(), right.clone()])
    }

    fn moved(self, date: i32, days: i64) -> Result<i32> {
        let moved = match self {
            Self::Later => i64::from(date).checked_add(days),
            Self::Earlier => i64::from(date).checked_sub(days),
        };
        let moved = moved.and_then(|moved| i32::try_from(moved).ok());
        match moved.filter(|moved| Date32Type::to_naive_date_opt(*moved).is_some()) {
            Some(moved) => Ok(moved),
            None => exec_err!("date out of range"),
        }
    }
}

impl Kernel for DayShift {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Later => "+",
            Self::Earlier => "-",
        }
    }

    fn result_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Date32)
    }

    fn compute(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(operands)?;
        let (dates, days) = match arrays.as_slice() {
            [dates, days] if *dates.data_type() == DataType::Date32 => (dates, days),
            [days, dates] => (dates, days),
            others => return internal_err!("{} of {} operands", self.symbol(), others.len()),
        };
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let days = cast_with_options(days, &DataType::Int64, &exact)?;
        let pairs = dates.as_primitive::<Date32Type>().iter().zip(days.as_primitive::<Int64Type>());
        let moved = pairs.map(|(date, days)| match date.zip(days) {
            Some((date, days)) => self.moved(date, days).map(Some),
            None => Ok(None),
        });
        let moved = moved.collect::<Result<Date32Array>>()?;
        answer(are_constant(operands), Arc::new(moved))
    }
}
