//! Turns a call of `time_bucket`, `date_bin` or `date_trunc` in a physical plan into buckets of a column.

use atsdb_dialect::functions::bucketing::cut::Cut;
use atsdb_dialect::functions::bucketing::time_bucket::TimeBucket;
use atsdb_dialect::workarounds::{DateTrunc, cut_by_unit};
use atsdb_engine::BucketOf;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use std::sync::Arc;

/// The buckets of a call over times of a type. `None` for other functions, and if an argument other than the time is
/// not a constant.
pub(super) fn bucket_of_call(call: &ScalarFunctionExpr, times: &DataType) -> Option<BucketOf> {
    let constants: Vec<Option<&ScalarValue>> =
        call.args().iter().map(|argument| argument.downcast_ref::<Literal>().map(Literal::value)).collect();
    let is_constant = constants.iter().enumerate().all(|(position, value)| position == 1 || value.is_some());
    if !is_constant || !matches!(times, DataType::Timestamp(..)) {
        return None;
    }
    let function = call.fun().inner();
    let cut = if let Some(bucket) = function.downcast_ref::<TimeBucket>() {
        bucket.cut(times, &constants).ok()
    } else if function.downcast_ref::<DateTrunc>().is_some() && constants.len() == 2 {
        cut_by_unit(constants.first().copied()??, times).ok()
    } else {
        None
    };
    match cut?? {
        Cut::Times(buckets) => {
            Some(Arc::new(move |time| buckets.bucket(time).map(|bucket| (bucket.start, bucket.last))))
        }
        Cut::Integers { .. } => None,
    }
}
