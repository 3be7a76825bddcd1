//! Binary operators on two samples.

use super::columns::GAP;
use super::outcome::Sample;
use super::remarks::{Purpose, bounds_reconciled, resets_conflict};
use crate::histogram::{AdditionRemarks, ResetHint, Trim};
use crate::promql::BinaryOp;
use std::sync::Arc;

/// A remark on an operation.
#[derive(Debug, Clone)]
pub(super) enum Remark {
    Warning(String),
    Info(String),
}

/// The result of an operation.
#[derive(Debug)]
pub(super) struct Operated {
    /// The sample, and whether a comparison holds; `None` if the operator does not take these samples.
    pub(super) sample: Option<(Sample, bool)>,
    pub(super) remark: Option<Remark>,
}

impl Operated {
    fn of(sample: Sample, holds: bool) -> Self {
        Self { sample: Some((sample, holds)), remark: None }
    }

    fn without(remark: Remark) -> Self {
        Self { sample: None, remark: Some(remark) }
    }
}

/// The value of an operation on numbers, and whether a comparison holds.
pub(super) fn apply_numbers(op: BinaryOp, left: f64, right: f64) -> (f64, bool) {
    let value = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div => left / right,
        BinaryOp::Mod => left % right,
        BinaryOp::Pow => left.powf(right),
        BinaryOp::Atan2 => left.atan2(right),
        BinaryOp::Equal => return (left, left == right),
        BinaryOp::NotEqual => return (left, left != right),
        BinaryOp::Greater => return (left, left > right),
        BinaryOp::Less => return (left, left < right),
        BinaryOp::GreaterEqual => return (left, left >= right),
        BinaryOp::LessEqual => return (left, left <= right),
        BinaryOp::TrimUpper | BinaryOp::TrimLower => return (GAP, false),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Unless => return (left, true),
    };
    (value, true)
}

/// The number for whether a comparison holds.
pub(super) fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Returns whether the operator trims histograms.
pub(super) fn is_trim(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::TrimLower | BinaryOp::TrimUpper)
}

/// The remark that an operator does not take numbers or histograms.
pub(super) fn incompatible(op: BinaryOp, left: &Sample, right: &Sample) -> Remark {
    let word = |sample: &Sample| match sample {
        Sample::Number(_) => "float",
        Sample::Histogram(_) => "histogram",
    };
    let (symbol, left, right) = (op.symbol(), word(left), word(right));
    let message = "incompatible sample types encountered for binary operator";
    Remark::Info(format!("{message} {symbol:?}: {left} {symbol} {right}"))
}

/// Applies an operator to two samples, of which at least one is a histogram.
pub(super) fn apply_samples(op: BinaryOp, left: &Sample, right: &Sample) -> Operated {
    match (left, right) {
        (Sample::Histogram(histogram), Sample::Number(number)) => {
            let result = match op {
                BinaryOp::Mul => histogram.times(*number),
                BinaryOp::Div => histogram.divided_by(*number),
                BinaryOp::TrimUpper => histogram.trimmed(*number, Trim::Above),
                BinaryOp::TrimLower => histogram.trimmed(*number, Trim::Below),
                _ => return Operated::without(incompatible(op, left, right)),
            };
            Operated::of(Sample::Histogram(Arc::new(result)), true)
        }
        (Sample::Number(number), Sample::Histogram(histogram)) if op == BinaryOp::Mul => {
            Operated::of(Sample::Histogram(Arc::new(histogram.times(*number))), true)
        }
        (Sample::Histogram(one), Sample::Histogram(other)) => {
            let (result, purpose) = match op {
                BinaryOp::Equal => return Operated::of(left.clone(), one.same_as(other)),
                BinaryOp::NotEqual => return Operated::of(left.clone(), !one.same_as(other)),
                BinaryOp::Add => (one.plus(other), Purpose::Addition),
                BinaryOp::Sub => {
                    let gauge = |(difference, added): (crate::histogram::Histogram, AdditionRemarks)| {
                        (difference.with_hint(ResetHint::Gauge), added)
                    };
                    (one.minus(other).map(gauge), Purpose::Subtraction)
                }
                _ => return Operated::without(incompatible(op, left, right)),
            };
            match result {
                Err(_) => Operated::without(Remark::Warning(format!(
                    "incompatible bucket layout encountered for binary operator {}",
                    op.symbol()
                ))),
                // As in Prometheus, counters that contradict each other have no sum.
                Ok((_, added)) if added.resets_conflict => Operated::without(Remark::Warning(resets_conflict(purpose))),
                Ok((histogram, added)) => Operated {
                    sample: Some((Sample::Histogram(Arc::new(histogram)), true)),
                    remark: added.bounds_reconciled.then(|| Remark::Info(bounds_reconciled(purpose))),
                },
            }
        }
        _ => Operated::without(incompatible(op, left, right)),
    }
}
