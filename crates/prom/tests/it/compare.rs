//! Compares a result with the one that a script expects.

use super::series::Item;
use atsdb_prom::evaluate::{ResultSeries, ResultValue, STALE_BITS};
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
            for (place, (labels, _, number)) in found.iter().enumerate() {
                let wanted = expected.series.iter().position(|series| series.0 == *labels);
                let Some(wanted) = wanted else { return Err(format!("unexpected {labels} {number}")) };
                if expected.ordered && wanted != place {
                    return Err(format!("{labels} is at place {place} instead of {wanted}"));
                }
                match expected.series[wanted].1.first() {
                    Some(Item::Value(value)) if nearly_equal(*value, *number) => {}
                    other => return Err(format!("{labels}: expected {other:?}, got {number}")),
                }
            }
            missing(expected, |labels| found.iter().any(|series| series.0 == *labels))
        }
        ResultValue::Matrix(found) => {
            if found.windows(2).any(|pair| pair[0].labels >= pair[1].labels) {
                return Err("the series are not sorted".to_owned());
            }
            for ResultSeries { labels, points } in found {
                let Some((_, items)) = expected.series.iter().find(|series| series.0 == *labels) else {
                    return Err(format!("unexpected {labels} {points:?}"));
                };
                let items = items.iter().enumerate();
                let wanted: Vec<(i64, f64)> = items
                    .filter_map(|(place, item)| match item {
                        Item::Value(value) => Some((start + step * place as i64, *value)),
                        Item::Gap | Item::Native => None,
                    })
                    .collect();
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
