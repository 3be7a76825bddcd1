//! `date_trunc(unit, t)`, which truncates times in UTC as `time_bucket` does and leaves all others to DataFusion.
//! DataFusion goes through the calendar for each time that has a zone, as all times of tables have, and through
//! nanoseconds, whose range ends in 1677 and 2262.
//!
//! Waits for [#25432](https://github.com/apache/datafusion/issues/25432) (the years); for the speed of times with a
//! zone no upstream issue is known.

use crate::functions::arguments::text_of;
use crate::functions::cut::{Arguments, Cut};
use crate::functions::time_bucket::preimage_of;
use crate::functions::time_types::is_utc;
use crate::text::datafusion_errors::external;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

/// The units and their widths.
const UNITS: [(&str, &str); 10] = [
    ("microsecond", "1 microsecond"),
    ("millisecond", "1 millisecond"),
    ("second", "1 second"),
    ("minute", "1 minute"),
    ("hour", "1 hour"),
    ("day", "1 day"),
    ("week", "1 week"),
    ("month", "1 month"),
    ("quarter", "3 months"),
    ("year", "1 year"),
];

/// Replaces DataFusion's `date_trunc`.
pub(super) fn register(context: &SessionContext) {
    context.register_udf(ScalarUDF::new_from_impl(DateTrunc::new()));
}

/// `date_trunc`, with DataFusion's behind it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateTrunc {
    inner: Arc<ScalarUDF>,
}

impl DateTrunc {
    pub(crate) fn new() -> Self {
        Self { inner: date_trunc() }
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let cut = match &args.args[..] {
            [ColumnarValue::Scalar(unit), ColumnarValue::Array(times)] => cut(unit, times.data_type())?,
            [ColumnarValue::Scalar(unit), ColumnarValue::Scalar(time)] => cut(unit, &time.data_type())?,
            _ => None,
        };
        match (cut, &args.args[..]) {
            (Some(cut), [_, ColumnarValue::Array(times)]) => {
                Ok(ColumnarValue::Array(cut.starts(times, times.data_type())?))
            }
            (Some(cut), [_, ColumnarValue::Scalar(time)]) => {
                let starts = cut.starts(&time.to_array()?, &time.data_type())?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&starts, 0)?))
            }
            _ => self.inner.invoke_with_args(args),
        }
    }

    /// Turns `date_trunc('day', t) = '2024-03-01'` into a range of `t`, by which chunks are skipped.
    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        let [Expr::Literal(unit, _), time] = args else { return Ok(PreimageResult::None) };
        match cut(unit, &info.get_data_type(time)?)? {
            Some(cut) => preimage_of(&cut, time, literal, info),
            None => Ok(PreimageResult::None),
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }
}

/// How to truncate these times; `None` if DataFusion's function does it: other zones and types, and unknown units,
/// which it refuses.
pub(crate) fn cut(unit: &ScalarValue, times: &DataType) -> Result<Option<Cut>> {
    let is_utc = match times {
        DataType::Timestamp(_, zone) => zone.as_deref().is_none_or(is_utc),
        _ => false,
    };
    let width = text_of(unit).and_then(|text| UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)));
    match width {
        Some((_, width)) if is_utc => {
            let width = ScalarValue::from(*width);
            Arguments { width: Some(&width), ..Arguments::default() }.cut(times).map_err(external)
        }
        _ => Ok(None),
    }
}
