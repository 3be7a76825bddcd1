//! Aggregations over groups of series.

use super::calls::{present, text};
use super::columns::{Column, GAP, is_gap};
use super::elements::shown;
use super::evaluator::{Evaluator, Result, fail};
use super::sums::{Mean, Sum, quantile};
use crate::labels::{Labels, METRIC_NAME};
use crate::promql::{Aggregate, AggregateOp};
use std::collections::HashMap;

/// Series that are aggregated to one.
pub(super) struct Group {
    pub(super) labels: Labels,
    /// Which columns.
    pub(super) members: Vec<usize>,
}

/// The labels of the group that a series belongs to.
fn group_labels(labels: &Labels, aggregate: &Aggregate, without: &[String]) -> Labels {
    if aggregate.without { labels.without(without) } else { labels.keep(&aggregate.labels) }
}

/// The labels that `without` drops, including the metric's name.
fn dropped(aggregate: &Aggregate) -> Vec<String> {
    let mut names = aggregate.labels.clone();
    names.push(METRIC_NAME.to_owned());
    names
}

/// Groups columns, in order of appearance.
pub(super) fn groups(columns: &[Column], aggregate: &Aggregate) -> Vec<Group> {
    let without = dropped(aggregate);
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let labels = group_labels(&column.labels, aggregate, &without);
        let group = *numbers.entry(labels.clone()).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Group { labels, members: Vec::new() });
        }
        groups[group].members.push(number);
    }
    groups
}

impl Evaluator<'_> {
    pub(super) fn aggregate(&self, aggregate: &Aggregate) -> Result<Vec<Column>> {
        match aggregate.op {
            AggregateOp::CountValues => return self.count_values(aggregate),
            AggregateOp::Topk | AggregateOp::Bottomk | AggregateOp::Limitk | AggregateOp::LimitRatio => {
                return self.chosen(aggregate);
            }
            _ => {}
        }
        let quantiles = match (&aggregate.param, aggregate.op) {
            (Some(param), AggregateOp::Quantile) => {
                let values = self.scalar(param)?;
                values.iter().for_each(|q| self.check_quantile(param.bare().start, *q));
                values
            }
            _ => Vec::new(),
        };
        let columns = self.columns(&aggregate.expr)?;
        let mut results = Vec::new();
        for group in groups(&columns, aggregate) {
            self.query.check()?;
            let members: Vec<&[f64]> = group.members.iter().map(|member| columns[*member].values.as_slice()).collect();
            let values = self.aggregated(aggregate.op, &members, &quantiles);
            let drop_name = group.members.iter().any(|member| columns[*member].drop_name);
            results.push(Column { labels: group.labels, drop_name, values });
        }
        self.query.charge(results.len() * self.grid.count)?;
        Ok(present(results))
    }

    /// The aggregate of some columns at each step.
    fn aggregated(&self, op: AggregateOp, members: &[&[f64]], quantiles: &[f64]) -> Vec<f64> {
        let mut values = Vec::with_capacity(members.len());
        let cells = (0..self.grid.count).map(|step| {
            values.clear();
            values.extend(members.iter().map(|member| member[step]).filter(|value| !is_gap(*value)));
            let Some((first, rest)) = values.split_first() else { return GAP };
            let first = *first;
            match op {
                AggregateOp::Sum => {
                    let mut sum = Sum { sum: first, lost: 0.0 };
                    rest.iter().for_each(|value| sum.add(*value));
                    sum.sum + sum.lost
                }
                AggregateOp::Avg => {
                    let mut mean = Mean::of(first);
                    rest.iter().for_each(|value| mean.add(*value));
                    mean.value()
                }
                AggregateOp::Count => values.len() as f64,
                AggregateOp::Group => 1.0,
                AggregateOp::Min => best(first, rest, |value, best| value < best),
                AggregateOp::Max => best(first, rest, |value, best| value > best),
                AggregateOp::Stddev => variance(&values).sqrt(),
                AggregateOp::Stdvar => variance(&values),
                AggregateOp::Quantile => quantile(quantiles[step], &mut values),
                AggregateOp::Topk
                | AggregateOp::Bottomk
                | AggregateOp::CountValues
                | AggregateOp::Limitk
                | AggregateOp::LimitRatio => GAP,
            }
        });
        cells.collect()
    }

    /// Counts how often each value occurs. The value becomes a label of the result.
    fn count_values(&self, aggregate: &Aggregate) -> Result<Vec<Column>> {
        let label = aggregate.param.as_ref().map(text).unwrap_or_default();
        if label.is_empty() {
            return fail(format!("invalid label name {label:?}"));
        }
        let mut grouping = aggregate.clone();
        if !grouping.without {
            grouping.labels.push(label.to_owned());
        }
        let without = dropped(&grouping);
        let mut numbers: HashMap<Labels, usize> = HashMap::new();
        let mut results: Vec<Column> = Vec::new();
        for column in self.columns(&aggregate.expr)? {
            for (step, value) in column.values.iter().enumerate().filter(|(_, value)| !is_gap(**value)) {
                let labels = group_labels(&column.labels.with(label, &shown(*value)), &grouping, &without);
                let number = *numbers.entry(labels.clone()).or_insert(results.len());
                if number == results.len() {
                    self.query.charge(self.grid.count)?;
                    results.push(Column { labels, drop_name: false, values: vec![GAP; self.grid.count] });
                }
                let count = &mut results[number].values[step];
                *count = if is_gap(*count) { 1.0 } else { *count + 1.0 };
            }
        }
        Ok(results)
    }
}

/// The value that no other beats. A NaN is beaten by every value.
fn best(first: f64, rest: &[f64], beats: impl Fn(f64, f64) -> bool) -> f64 {
    rest.iter().fold(first, |best, value| if beats(*value, best) || best.is_nan() { *value } else { best })
}

/// The mean square distance from the mean, by Welford's method.
fn variance(values: &[f64]) -> f64 {
    if !values[0].is_finite() {
        return f64::NAN;
    }
    let (mut mean, mut squares) = (values[0], 0.0);
    for (index, value) in values.iter().enumerate().skip(1) {
        let difference = value - mean;
        mean += difference / (index + 1) as f64;
        squares += difference * (value - mean);
    }
    squares / values.len() as f64
}
