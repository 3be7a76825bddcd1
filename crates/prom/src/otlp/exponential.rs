//! Converts exponential histograms to native ones, as Prometheus does.

use super::points::{ConsecutiveBuckets, ExponentialPoint};
use crate::evaluate::STALE_BITS;
use crate::histogram::{Buckets, Histogram, ResetHint};
use crate::remote::buckets::buckets_of;
use crate::remote::histogram::check_whole;

/// The coarsest scale that a native histogram can have, and the finest. Buckets of finer scales are merged.
const SCALE_MIN: i32 = -4;
const SCALE_MAX: i32 = 8;

/// The bound of the zero bucket. Prometheus ignores the sender's, too.
const ZERO_THRESHOLD: f64 = 1e-128;

/// The error is the reason why a point can never be stored.
pub(super) fn histogram_of(point: &ExponentialPoint) -> Result<Histogram, String> {
    let scale = point.scale;
    if scale < SCALE_MIN {
        return Err(format!("an exponential histogram has the scale {scale}, the least is {SCALE_MIN}"));
    }
    let mut histogram = Histogram {
        schema: i8::try_from(scale.min(SCALE_MAX)).map_err(|error| error.to_string())?,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: 0.0,
        count: 0.0,
        sum: f64::from_bits(STALE_BITS),
        positive: Buckets::default(),
        negative: Buckets::default(),
        custom_bounds: Vec::new(),
        reset_hint: ResetHint::Unknown,
    };
    if point.head.is_empty {
        return Ok(histogram);
    }
    let by = (scale - SCALE_MAX.min(scale)).unsigned_abs().min(63);
    histogram.sum = point.sum.unwrap_or_default();
    let total = |side: &ConsecutiveBuckets| side.counts.iter().copied().fold(0, u64::saturating_add);
    check_whole(point.count, [total(&point.positive), total(&point.negative), point.zero_count], histogram.sum)?;
    (histogram.count, histogram.zero_count) = (point.count as f64, point.zero_count as f64);
    histogram.positive = side(&point.positive, by)?;
    histogram.negative = side(&point.negative, by)?;
    histogram.check().map(|()| histogram)
}

/// The bucket 0 of OTLP begins at 1, and that of native histograms ends there.
fn side(buckets: &ConsecutiveBuckets, by: u32) -> Result<Buckets, String> {
    let counts = (i64::from(buckets.offset)..).zip(&buckets.counts);
    let made = buckets_of(counts.map(|(index, count)| ((index >> by) + 1, *count as f64)));
    made.ok_or_else(|| "a bucket has no index of 32 bits".to_owned())
}
