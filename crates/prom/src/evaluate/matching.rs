//! Finds the series of two vectors that belong together.

use super::columns::Column;
use crate::labels::{Labels, METRIC_NAME};
use crate::promql::{BinaryOp, Cardinality, Matching};
use std::collections::HashMap;

/// The number of each series' match group, for both sides.
pub(super) struct Groups {
    pub(super) left: Vec<usize>,
    pub(super) right: Vec<usize>,
    pub(super) count: usize,
}

/// The labels by which series are matched.
pub(super) fn signature(labels: &Labels, matching: &Matching) -> Labels {
    if matching.on {
        return labels.keep(&matching.labels);
    }
    let mut names = matching.labels.clone();
    names.push(METRIC_NAME.to_owned());
    labels.without(&names)
}

impl Groups {
    pub(super) fn new(left: &[Column], right: &[Column], matching: &Matching) -> Self {
        let mut numbers: HashMap<Labels, usize> = HashMap::new();
        let mut number = |column: &Column| {
            let next = numbers.len();
            *numbers.entry(signature(&column.labels, matching)).or_insert(next)
        };
        let left = left.iter().map(&mut number).collect();
        let right = right.iter().map(&mut number).collect();
        Self { left, right, count: numbers.len() }
    }
}

/// The labels of a result. `many` is the side with several matching series.
pub(super) fn result_labels(many: &Labels, one: &Labels, op: BinaryOp, matching: &Matching) -> Labels {
    let mut labels = if op.changes_meaning() { many.without_metadata() } else { many.clone() };
    if matching.cardinality == Cardinality::OneToOne {
        labels = if matching.on { labels.keep(&matching.labels) } else { labels.without(&matching.labels) };
    }
    for name in &matching.include {
        labels = labels.with(name, one.get(name));
    }
    labels
}

/// All labels in braces, as Prometheus shows them in messages.
pub(super) fn spaced(labels: &Labels) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    format!("{{{}}}", pairs.join(", "))
}
