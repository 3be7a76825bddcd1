//! `time_bucket(width, t [, time zone | origin | offset])` and `date_bin(width, t [, origin])`: the start of the bucket
//! that contains a time. `date_bin` behaves like DataFusion's, except that DataFusion's counts nanoseconds, which only
//! cover 1677 to 2262.

use super::cut::{Arguments, Cut};
use crate::functions::base::arguments::{plain_type, text_of, type_name};
use crate::functions::times::interval::interval_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, new_empty_array, new_null_array};
use datafusion::arrow::compute::{concat, partition};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::date_bin;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name {
    /// `time_bucket`.
    TimeBucket,
    /// `date_bin`.
    DateBin,
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TimeBucket {
    name: Name,
    signature: Signature,
}

/// The default origin of `date_bin`.
const EPOCH: ScalarValue = ScalarValue::TimestampSecond(Some(0), None);

impl TimeBucket {
    /// Returns the function of this name.
    pub fn new(name: Name) -> Self {
        Self { name, signature: Signature::variadic_any(Volatility::Immutable) }
    }

    /// The type of the answer: that of the time, without its dictionary; text becomes a time.
    fn answer_type(&self, types: &[DataType]) -> Result<DataType, Error> {
        let (most, usage) = match self.name {
            Name::TimeBucket => (5, "time_bucket(width, t [, timezone [, origin [, offset]]])"),
            Name::DateBin => (3, "date_bin(width, t [, origin])"),
        };
        if !(2..=most).contains(&types.len()) {
            return Err(
                sql_error(format!("{} takes 2 to {most} arguments, not {}", self.name(), types.len())).with_hint(usage)
            );
        }
        let microseconds = |zone: Option<Arc<str>>| DataType::Timestamp(TimeUnit::Microsecond, zone);
        match (plain_type(&types[1]), self.name) {
            (time @ DataType::Timestamp(..), _) => Ok(time.clone()),
            (date @ (DataType::Date32 | DataType::Date64), Name::TimeBucket) => Ok(date.clone()),
            (DataType::Date32 | DataType::Date64, Name::DateBin) => Ok(microseconds(None)),
            (integer, Name::TimeBucket) if integer.is_integer() => Ok(integer.clone()),
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null, Name::TimeBucket) => {
                Ok(microseconds(Some("UTC".into())))
            }
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null, Name::DateBin) => {
                Ok(microseconds(None))
            }
            (time @ (DataType::Time32(_) | DataType::Time64(_)), Name::DateBin) => Ok(time.clone()),
            (other, _) => {
                Err(sql_error(format!("{}: {} is not a time", self.name(), type_name(other))).with_hint(usage))
            }
        }
    }

    /// The buckets for constant arguments; `None` if the width is NULL, or the origin of `date_bin`. A constant for the
    /// time is ignored.
    pub fn cut(&self, answer: &DataType, constants: &[Option<&ScalarValue>]) -> Result<Option<Cut>, Error> {
        let constant = |place: usize| constants.get(place).copied().flatten().filter(|value| !value.is_null());
        let mut arguments = Arguments { width: constant(0), origin: constant(3), offset: constant(4), zone: None };
        match (self.name, constant(2)) {
            (Name::DateBin, None) if constants.get(2).is_some_and(Option::is_some) => return Ok(None),
            (Name::DateBin, origin) => arguments.origin = Some(origin.unwrap_or(&EPOCH)),
            (Name::TimeBucket, None) => {}
            (Name::TimeBucket, Some(third)) if constants.len() == 3 => arguments.guess(third),
            (Name::TimeBucket, Some(zone)) => match text_of(zone) {
                Some(zone) => arguments.zone = Some(zone),
                None => return Err(sql_error(format!("{zone} is not a time zone"))),
            },
        }
        arguments.cut(answer)
    }

    /// The buckets of a call whose arguments other than the time are constants; `None` if they are not.
    pub fn cut_of(&self, times: &DataType, args: &[Expr]) -> Result<Option<Cut>, Error> {
        let answer = self.answer_type(&[DataType::Utf8, times.clone()])?;
        let constants: Vec<Option<&ScalarValue>> = args.iter().map(Expr::as_literal).collect();
        let is_known = constants.iter().enumerate().all(|(place, value)| place == 1 || value.is_some());
        if is_known { self.cut(&answer, &constants) } else { Ok(None) }
    }

    fn invoke(&self, args: &ScalarFunctionArgs, constants: &[Option<&ScalarValue>]) -> Result<ColumnarValue> {
        let answer = args.return_field.data_type();
        let Some(cut) = self.cut(answer, constants).map_err(external)? else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(answer)?));
        };
        match &args.args[1] {
            ColumnarValue::Array(times) => Ok(ColumnarValue::Array(cut.starts(times, answer)?)),
            ColumnarValue::Scalar(time) => {
                let starts = cut.starts(&time.to_array()?, answer)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&starts, 0)?))
            }
        }
    }
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &str {
        match self.name {
            Name::TimeBucket => "time_bucket",
            Name::DateBin => "date_bin",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.answer_type(types).map_err(external)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let answer = self.answer_type(&types).map_err(external)?;
        // Errors in the constants are reported before a row is read.
        let is_known = args.scalar_arguments.iter().enumerate().all(|(place, value)| place == 1 || value.is_some());
        if is_known && !is_time_of_day(&answer) {
            self.cut(&answer, args.scalar_arguments).map_err(|error| external(self.named(error)))?;
        }
        Ok(Arc::new(Field::new(self.name(), answer, true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if is_time_of_day(args.return_field.data_type()) {
            if let ColumnarValue::Scalar(width) = &args.args[0] {
                args.args[0] = ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(
                    interval_of(width).map_err(|error| external(self.named(error)))?,
                ));
            }
            return date_bin().invoke_with_args(args);
        }
        let constants: Vec<Option<&ScalarValue>> = args.args.iter().map(scalar).collect();
        let varies = constants.iter().enumerate().any(|(place, value)| place != 1 && value.is_none());
        match self.name {
            Name::TimeBucket if varies => {
                Err(external(sql_error(format!("{}: all but the time must be constants", self.name()))))
            }
            Name::DateBin if varies => self.invoke_by_rows(&args),
            Name::TimeBucket | Name::DateBin => self.invoke(&args, &constants),
        }
    }

    /// Turns `time_bucket('1 day', t) = '2024-03-01'` into a range of `t`, with which chunks are skipped.
    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        let Some(time) = args.get(1) else { return Ok(PreimageResult::None) };
        let constants: Vec<Option<&ScalarValue>> = args.iter().map(Expr::as_literal).collect();
        let is_known = constants.iter().enumerate().all(|(place, value)| place == 1 || value.is_some());
        let times = info.get_data_type(time)?;
        if !is_known || !matches!(times, DataType::Timestamp(..)) {
            return Ok(PreimageResult::None);
        }
        match self.cut(&times, &constants).map_err(|error| external(self.named(error)))? {
            Some(cut) => preimage_of(&cut, time, literal, info),
            None => Ok(PreimageResult::None),
        }
    }

    /// Later times are in later buckets, so the order is preserved.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let constant =
            |(place, input): (usize, &ExprProperties)| place == 1 || input.sort_properties == SortProperties::Singleton;
        match inputs.get(1) {
            Some(time) if inputs.iter().enumerate().all(constant) => Ok(time.sort_properties),
            _ => Ok(SortProperties::Unordered),
        }
    }
}

impl TimeBucket {
    /// The buckets if other arguments than the time have rows, too. Rows in sequence with the same arguments are cut
    /// together.
    fn invoke_by_rows(&self, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (answer, row_count) = (args.return_field.data_type(), args.number_rows);
        let mut others = args.args.iter().map(|arg| arg.to_array(row_count)).collect::<Result<Vec<ArrayRef>>>()?;
        let times = others.remove(1);
        let mut runs = vec![new_empty_array(answer)];
        for rows in partition(&others)?.ranges() {
            let value = |column: &ArrayRef| ScalarValue::try_from_array(column, rows.start);
            let values = others.iter().map(value).collect::<Result<Vec<ScalarValue>>>()?;
            let mut constants: Vec<Option<&ScalarValue>> = values.iter().map(Some).collect();
            constants.insert(1, None);
            let cut = self.cut(answer, &constants).map_err(|error| external(self.named(error)))?;
            runs.push(match cut {
                Some(cut) => cut.starts(&times.slice(rows.start, rows.len()), answer)?,
                None => new_null_array(answer, rows.len()),
            });
        }
        let runs: Vec<&dyn Array> = runs.iter().map(|run| run.as_ref()).collect();
        Ok(ColumnarValue::Array(concat(&runs)?))
    }

    fn named(&self, error: Error) -> Error {
        let named = sql_error(format!("{}: {}", self.name(), error.message()));
        match error.hint() {
            Some(hint) => named.with_hint(hint),
            None => named,
        }
    }
}

/// The times of the bucket that begins at a literal. If no bucket begins there, the comparison is left as it is.
pub fn preimage_of(cut: &Cut, time: &Expr, start: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
    let times = info.get_data_type(time)?;
    let (Cut::Times(buckets), Some(start)) = (cut, start.as_literal()) else { return Ok(PreimageResult::None) };
    if start.data_type() != times {
        return Ok(PreimageResult::None);
    }
    let ScalarValue::Int64(Some(count)) = start.cast_to(&DataType::Int64)? else { return Ok(PreimageResult::None) };
    match buckets.bucket(count) {
        Some(bucket) if bucket.start == count && bucket.last < i64::MAX => {
            let end = ScalarValue::Int64(Some(bucket.last + 1)).cast_to(&times)?;
            let interval = Box::new(Interval::try_new(start.clone(), end)?);
            Ok(PreimageResult::Range { expr: time.clone(), interval })
        }
        _ => Ok(PreimageResult::None),
    }
}

fn scalar(value: &ColumnarValue) -> Option<&ScalarValue> {
    match value {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(_) => None,
    }
}

fn is_time_of_day(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}
