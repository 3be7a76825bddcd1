//! Compares a result with the one that a script expects.

use super::series::Item;
use atsdb_prom::evaluate::{ResultSeries, ResultValue, STALE_BITS, Sample};
use atsdb_prom::histogram::{Buckets, Histogram};
use atsdb_prom::labels::Labels;

/// The expected result of a query.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) series: Vec<(Labels, Vec<Item>)>,
    pub(crate) scalar: Option<f64>,
    pub(crate) text: Option<String>,
    pub(crate) ordered: bool,
}

pub(crate) fn nearly_equal(one: f64, other: f64) -> bool {
    let stale = |value: f64| value.to_bits() == STALE_BITS;
    if stale(one) || stale(other) {
        return stale(one) && stale(other);
    }
    if (one.is_nan() && other.is_nan()) || one == other {
        return true;
    }
    let (sum, difference) = (one.abs() + other.abs(), (one - other).abs());
    if one == 0.0 || other == 0.0 || sum < f64::MIN_POSITIVE {
        return difference < 1e-6 * f64::MIN_POSITIVE;
    }
    difference / sum.min(f64::MAX) < 1e-6
}

/// Compares histograms without their empty buckets; hints only if one is expected.
fn nearly_same(wanted: &Histogram, found: &Histogram, hint_given: bool) -> bool {
    let side = |one: &Buckets, other: &Buckets| {
        let of = |buckets: &Buckets| buckets.indexed().filter(|bucket| bucket.1 != 0.0).collect::<Vec<_>>();
        let (one, other) = (of(one), of(other));
        one.len() == other.len()
            && one.iter().zip(&other).all(|(one, other)| one.0 == other.0 && nearly_equal(one.1, other.1))
    };
    wanted.schema == found.schema
        && wanted.zero_threshold == found.zero_threshold
        && wanted.custom_bounds == found.custom_bounds
        && nearly_equal(wanted.zero_count, found.zero_count)
        && nearly_equal(wanted.count, found.count)
        && nearly_equal(wanted.sum, found.sum)
        && side(&wanted.positive, &found.positive)
        && side(&wanted.negative, &found.negative)
        && (!hint_given || wanted.reset_hint == found.reset_hint)
}

/// Compares a result with steps at `start`, `start + step` and so on.
pub(crate) fn compare(value: &ResultValue, expected: &Expected, start: i64, step: i64) -> Result<(), String> {
    match value {
        ResultValue::Scalar(_, number) => match expected.scalar {
            Some(wanted) if nearly_equal(*number, wanted) => Ok(()),
            Some(wanted) => Err(format!("expected {wanted}, got {number}")),
            None => Err(format!("expected no scalar, got {number}")),
        },
        ResultValue::Text(_, text) if Some(text) == expected.text.as_ref() => Ok(()),
        ResultValue::Text(_, text) => Err(format!("expected {:?}, got {text:?}", expected.text)),
        ResultValue::Vector(_) | ResultValue::Matrix(_) if expected.scalar.is_some() => {
            Err(format!("expected a scalar, got {value:?}"))
        }
        ResultValue::Vector(found) => {
            for (place, (labels, _, sample)) in found.iter().enumerate() {
                let wanted = expected.series.iter().position(|series| series.0 == *labels);
                let Some(wanted) = wanted else { return Err(format!("unexpected {labels} {sample:?}")) };
                if expected.ordered && wanted != place {
                    return Err(format!("{labels} is at place {place} instead of {wanted}"));
                }
                match (expected.series[wanted].1.first(), sample) {
                    (Some(Item::Value(value)), Sample::Number(number)) if nearly_equal(*value, *number) => {}
                    (Some(Item::Histogram(wanted, hint_given)), Sample::Histogram(histogram))
                        if nearly_same(wanted, histogram, *hint_given) => {}
                    (other, _) => return Err(format!("{labels}: expected {other:?}, got {sample:?}")),
                }
            }
            missing(expected, |labels| found.iter().any(|series| series.0 == *labels))
        }
        ResultValue::Matrix(found) => {
            if found.windows(2).any(|pair| pair[0].labels >= pair[1].labels) {
                return Err("the series are not sorted".to_owned());
            }
            for ResultSeries { labels, points, histograms } in found {
                let Some((_, items)) = expected.series.iter().find(|series| series.0 == *labels) else {
                    return Err(format!("unexpected {labels} {points:?}"));
                };
                let mut wanted: Vec<(i64, f64)> = Vec::new();
                let mut wanted_histograms = Vec::new();
                for (place, item) in items.iter().enumerate() {
                    let time = start + step * place as i64;
                    match item {
                        Item::Gap => {}
                        Item::Value(value) => wanted.push((time, *value)),
                        Item::Histogram(histogram, hint_given) => {
                            wanted_histograms.push((time, histogram, *hint_given));
                        }
                    }
                }
                let same_histograms = wanted_histograms.len() == histograms.len()
                    && wanted_histograms.iter().zip(histograms).all(
                        |((time, wanted, hint_given), (found, histogram))| {
                            time == found && nearly_same(wanted, histogram, *hint_given)
                        },
                    );
                if !same_histograms {
                    return Err(format!("{labels}: expected {wanted_histograms:?}, got {histograms:?}"));
                }
                let same = wanted.len() == points.len()
                    && wanted.iter().zip(points).all(|(one, other)| one.0 == other.0 && nearly_equal(one.1, other.1));
                if !same {
                    return Err(format!("{labels}: expected {wanted:?}, got {points:?}"));
                }
            }
            missing(expected, |labels| found.iter().any(|series| series.labels == *labels))
        }
    }
}

fn missing(expected: &Expected, there: impl Fn(&Labels) -> bool) -> Result<(), String> {
    match expected.series.iter().find(|(labels, _)| !there(labels)) {
        Some((labels, _)) => Err(format!("{labels} is missing")),
        None => Ok(()),
    }
}
