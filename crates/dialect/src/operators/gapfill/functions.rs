//! The functions that request gap filling. They are only marks in a plan, which [`super::rule`] replaces. A mark that
//! is left is in a place where gaps cannot be filled.

use super::steps::{Steps, Ticks};
use crate::text::errors::sql_error;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};

pub(super) const GAPFILL: &str = "time_bucket_gapfill";
pub(super) const LOCF: &str = "locf";
pub(super) const INTERPOLATE: &str = "interpolate";

/// All of these functions, for registration.
pub fn functions() -> [Arc<ScalarUDF>; 3] {
    [GAPFILL, LOCF, INTERPOLATE].map(|name| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(GapfillMark { name, signature }))
    })
}

/// The arguments, if an expression is a call of this function.
pub(super) fn call_of<'a>(expr: &'a Expr, name: &str) -> Option<&'a [Expr]> {
    match expr {
        Expr::ScalarFunction(call) if is_mark(&call.func, name) => Some(&call.args),
        _ => None,
    }
}

/// Returns whether a function is one of these.
pub fn is_gapfill_mark(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<GapfillMark>().is_some()
}

fn is_mark(function: &ScalarUDF, name: &str) -> bool {
    function.name() == name && function.inner().downcast_ref::<GapfillMark>().is_some()
}

/// The error for a mark that nothing replaces.
pub(super) fn misplaced(name: &str) -> DataFusionError {
    let error = match name {
        GAPFILL => sql_error("time_bucket_gapfill must be used in GROUP BY")
            .with_hint("SELECT time_bucket_gapfill('1 hour', time), avg(x) ... GROUP BY 1"),
        _ => sql_error(format!("{name} needs time_bucket_gapfill in GROUP BY")).with_hint(format!(
            "SELECT time_bucket_gapfill('1 hour', t), {name}(avg(x)) ... GROUP BY 1; to sort by it, give it a name"
        )),
    };
    DataFusionError::External(Box::new(error))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GapfillMark {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for GapfillMark {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let wrong = |message: String, hint: &str| {
            Err(DataFusionError::External(Box::new(sql_error(message).with_hint(hint.to_owned()))))
        };
        match (self.name, types) {
            (GAPFILL, [_, time] | [_, time, _] | [_, time, _, _] | [_, time, _, _, _]) => match time {
                DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Ok(DataType::Int64),
                DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Ok(DataType::Int64),
                time if Ticks::of(time).is_some() => Ok(time.clone()),
                time => wrong(format!("time_bucket_gapfill needs a time, not {time}"), "CAST(x AS TIMESTAMP)"),
            },
            (GAPFILL, _) => wrong(
                "time_bucket_gapfill takes 2 to 5 arguments".into(),
                "time_bucket_gapfill(width, time [, zone] [, start, finish])",
            ),
            (LOCF, [value] | [value, _]) => Ok(value.clone()),
            (INTERPOLATE, [value] | [value, _]) if value.is_numeric() || value.is_null() => Ok(DataType::Float64),
            (INTERPOLATE, [value] | [value, _]) => {
                wrong(format!("interpolate needs a number, not {value}"), "locf takes any type")
            }
            (name, _) => {
                wrong(format!("{name} takes a value and optionally the longest gap"), "locf(avg(x), '1 hour')")
            }
        }
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(misplaced(self.name))
    }
}

/// The plain function that replaces `time_bucket_gapfill` in the aggregate, with width, time and zone.
pub(super) fn bucket(width: ScalarValue, time: Expr, zone: Option<&str>) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(3, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Bucket { signature }))
    });
    let zone = ScalarValue::Utf8(zone.map(str::to_owned));
    FUNCTION.call(vec![Expr::Literal(width, None), time, Expr::Literal(zone, None)])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bucket {
    signature: Signature,
}

impl ScalarUDFImpl for Bucket {
    fn name(&self) -> &str {
        "gapfill_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[1].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let external = |error| DataFusionError::External(Box::new(error));
        let [ColumnarValue::Scalar(width), time, ColumnarValue::Scalar(zone)] = args.args.as_slice() else {
            return Err(external(sql_error("the width of buckets is not the same for all rows")));
        };
        let zone = zone.try_as_str().flatten();
        let times = time.to_array(args.number_rows)?;
        let ty = times.data_type().clone();
        let ticks = Ticks::of(&ty).ok_or_else(|| misplaced(GAPFILL))?;
        let steps = Steps::new(width, zone, ticks).map_err(external)?;
        let counts = cast(&times, &DataType::Int64)?;
        let starts = steps.starts(counts.as_primitive::<Int64Type>()).map_err(|time| external(beyond(time)))?;
        Ok(ColumnarValue::Array(cast(&starts, &ty)?))
    }
}

/// The error for a time whose bucket begins or ends beyond the range of times.
pub(super) fn beyond(time: i64) -> atsdb_core::Error {
    atsdb_core::Error::invalid(format!("the bucket of the time {time} begins or ends beyond the range of times"))
}
