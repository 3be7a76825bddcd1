//! Covariances, correlations and regressions of pairs in a sliding frame. DataFusion subtracts what leaves the frame:
//! an infinite value or a NaN stays in all later frames, and a large value takes the digits of small ones with it.
//!
//! Part of [`overflow`](super).

use super::counted_moments::CountedMoments;
use super::frame_accumulator::{FrameAccumulator, FrameAggregate};
use super::frame_values::FrameValues;
use super::one_nan;
use crate::functions::base::of_inner::of_inner;
use atsdb_engine::Moments;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator};
use std::sync::Arc;

/// Replaces DataFusion's functions.
pub(super) fn register(context: &SessionContext) {
    let state = context.state();
    for (name, statistic) in [
        ("covar_pop", PairStatistic::Covariance),
        ("covar_samp", PairStatistic::SampleCovariance),
        ("corr", PairStatistic::Correlation),
        ("regr_slope", PairStatistic::Slope),
        ("regr_intercept", PairStatistic::Intercept),
        ("regr_r2", PairStatistic::Fit),
        ("regr_count", PairStatistic::Count),
        ("regr_avgx", PairStatistic::MeanX),
        ("regr_avgy", PairStatistic::MeanY),
        ("regr_sxx", PairStatistic::SquaresX),
        ("regr_syy", PairStatistic::SquaresY),
        ("regr_sxy", PairStatistic::Products),
    ] {
        if let Some(inner) = state.aggregate_functions().get(name) {
            context.register_udaf(AggregateUDF::new_from_impl(OfPairs { inner: Arc::clone(inner), statistic }));
        }
    }
}

/// The statistic of pairs (y, x) that a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PairStatistic {
    Covariance,
    SampleCovariance,
    Correlation,
    Slope,
    Intercept,
    /// The coefficient of determination.
    Fit,
    Count,
    MeanX,
    MeanY,
    /// The sum of squared deviations of x.
    SquaresX,
    /// The sum of squared deviations of y.
    SquaresY,
    /// The sum of the products of both deviations.
    Products,
}

impl PairStatistic {
    /// The value for the pairs of a frame, by PostgreSQL's formulas.
    fn of(self, part: &PairsPart) -> ScalarValue {
        let PairsPart { deviations: CountedMoments { count, moments }, sum_x, sum_y } = *part;
        let Moments { sum_xx, sum_yy, sum_xy, .. } = moments;
        let pairs = count as f64;
        let value = match self {
            Self::Count => return ScalarValue::UInt64(Some(count)),
            Self::SampleCovariance => (count > 1).then(|| sum_xy / (pairs - 1.0)),
            _ if count == 0 => None,
            Self::Covariance => Some(sum_xy / pairs),
            Self::Correlation => (sum_xx != 0.0 && sum_yy != 0.0).then(|| sum_xy / (sum_xx * sum_yy).sqrt()),
            Self::Slope => (sum_xx != 0.0).then(|| sum_xy / sum_xx),
            Self::Intercept => (sum_xx != 0.0).then(|| (sum_y - sum_x * sum_xy / sum_xx) / pairs),
            Self::Fit if sum_xx == 0.0 => None,
            Self::Fit if sum_yy == 0.0 => Some(1.0),
            Self::Fit => Some(sum_xy * sum_xy / (sum_xx * sum_yy)),
            Self::MeanX => Some(sum_x / pairs),
            Self::MeanY => Some(sum_y / pairs),
            Self::SquaresX => Some(sum_xx),
            Self::SquaresY => Some(sum_yy),
            Self::Products => Some(sum_xy),
        };
        ScalarValue::Float64(value.map(one_nan::number))
    }
}

/// One of DataFusion's functions, replaced in sliding frames.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfPairs {
    inner: Arc<AggregateUDF>,
    statistic: PairStatistic,
}

impl AggregateUDFImpl for OfPairs {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args).map(one_nan::of_rows)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return self.inner.create_sliding_accumulator(args).map(one_nan::of_rows);
        }
        Ok(Box::new(FrameAccumulator::new(self.statistic)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args).map(one_nan::of_groups)
    }
}

/// Some pairs. The sums make the means, which an infinite value would turn into NaN among the moments.
#[derive(Debug, Clone, Copy, Default)]
struct PairsPart {
    deviations: CountedMoments,
    sum_x: f64,
    sum_y: f64,
}

impl PairsPart {
    fn of(y: f64, x: f64) -> Self {
        Self { deviations: CountedMoments::of(x, y), sum_x: x, sum_y: y }
    }

    fn with(self, other: Self) -> Self {
        Self {
            deviations: self.deviations.with(other.deviations),
            sum_x: self.sum_x + other.sum_x,
            sum_y: self.sum_y + other.sum_y,
        }
    }
}

impl FrameAggregate for PairStatistic {
    type Part = PairsPart;

    fn parts(arguments: &[ArrayRef]) -> impl Iterator<Item = PairsPart> {
        let (ys, xs) = (arguments[0].as_primitive::<Float64Type>(), arguments[1].as_primitive::<Float64Type>());
        ys.iter().zip(xs.iter()).filter_map(|(y, x)| Some(PairsPart::of(y?, x?)))
    }

    fn join(first: PairsPart, next: PairsPart) -> PairsPart {
        first.with(next)
    }

    fn value(&self, frame: &FrameValues<PairsPart>) -> ScalarValue {
        self.of(&frame.joined().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Float64Array;

    fn columns(y: Option<f64>, x: f64) -> Vec<ArrayRef> {
        vec![Arc::new(Float64Array::from(vec![y])), Arc::new(Float64Array::from(vec![x]))]
    }

    /// The values of a statistic in a frame of two rows.
    fn in_frames(statistic: PairStatistic, rows: &[(Option<f64>, f64)]) -> Vec<String> {
        let mut frame = FrameAccumulator::new(statistic);
        let mut found = Vec::new();
        for (at, (y, x)) in rows.iter().enumerate() {
            frame.update_batch(&columns(*y, *x)).unwrap();
            if at >= 2 {
                let (y, x) = rows[at - 2];
                frame.retract_batch(&columns(y, x)).unwrap();
            }
            found.push(frame.evaluate().unwrap().to_string());
        }
        found
    }

    #[test]
    fn what_has_left_a_frame_leaves_nothing_behind() {
        let rows = [
            (Some(f64::INFINITY), 1.0),
            (Some(1e20), 2.0),
            (None, 2.5),
            (Some(2.0), 3.0),
            (Some(4.0), 4.0),
            (Some(4.0), 5.0),
        ];
        for (statistic, expected) in [
            (PairStatistic::Covariance, ["NaN", "NaN", "0", "0", "0.5", "0"]),
            (PairStatistic::SampleCovariance, ["NULL", "NaN", "NULL", "NULL", "1", "0"]),
            (PairStatistic::Correlation, ["NULL", "NaN", "NULL", "NULL", "1", "NULL"]),
            (PairStatistic::Slope, ["NULL", "NaN", "NULL", "NULL", "2", "0"]),
            (PairStatistic::Intercept, ["NULL", "NaN", "NULL", "NULL", "-4", "4"]),
            (PairStatistic::Fit, ["NULL", "NaN", "NULL", "NULL", "1", "1"]),
            (PairStatistic::Count, ["1", "2", "1", "1", "2", "2"]),
            (PairStatistic::MeanX, ["1", "1.5", "2", "3", "3.5", "4.5"]),
            (PairStatistic::MeanY, ["inf", "inf", "100000000000000000000", "2", "3", "4"]),
            (PairStatistic::SquaresX, ["0", "0.5", "0", "0", "0.5", "0.5"]),
            (PairStatistic::SquaresY, ["NaN", "NaN", "0", "0", "2", "0"]),
            (PairStatistic::Products, ["NaN", "NaN", "0", "0", "1", "0"]),
        ] {
            assert_eq!(in_frames(statistic, &rows), expected, "{statistic:?}");
        }
    }

    #[test]
    fn a_frame_without_pairs_has_their_number_alone() {
        let rows = [(None, 1.0)];
        assert_eq!(in_frames(PairStatistic::Count, &rows), ["0"]);
        assert_eq!(in_frames(PairStatistic::MeanX, &rows), ["NULL"]);
    }
}
