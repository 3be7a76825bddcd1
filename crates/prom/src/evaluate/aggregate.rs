//! Aggregations over groups of series.

use super::calls::{present, text};
use super::columns::{Column, GAP, is_gap};
use super::elements::shown;
use super::evaluator::{Evaluator, Result, fail};
use super::histogram_totals::{Total, total};
use super::outcome::Sample;
use super::sums::{Mean, Sum, quantile};
use crate::histogram::Histogram;
use crate::labels::{Labels, METRIC_NAME};
use crate::promql::{Aggregate, AggregateOp};
use std::collections::HashMap;
use std::sync::Arc;

/// Series that are aggregated to one.
pub(super) struct Group {
    pub(super) labels: Labels,
    /// The positions of the group's columns.
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
    pub(super) fn aggregate(&self, start: usize, aggregate: &Aggregate) -> Result<Vec<Column>> {
        match aggregate.op {
            AggregateOp::CountValues => return self.count_values(aggregate),
            AggregateOp::Topk | AggregateOp::Bottomk | AggregateOp::Limitk | AggregateOp::LimitRatio => {
                return self.chosen(start, aggregate);
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
            let mut result = Column::new(group.labels, drop_name, values);
            let members: Vec<&Column> = group.members.iter().map(|member| &columns[*member]).collect();
            if members.iter().any(|member| !member.histograms.is_empty()) {
                self.aggregate_histograms(aggregate, &members, &mut result)?;
            }
            results.push(result);
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

    /// Completes the aggregate of a group in which some members have histograms. The numbers are aggregated already.
    fn aggregate_histograms(&self, aggregate: &Aggregate, members: &[&Column], result: &mut Column) -> Result<()> {
        let offset = aggregate.expr.bare().start;
        for step in 0..self.grid.count {
            let native: Vec<(&Column, &Arc<Histogram>)> =
                members.iter().filter_map(|member| Some((*member, member.histogram(step)?))).collect();
            if native.is_empty() {
                continue;
            }
            let kind = match aggregate.op {
                AggregateOp::Sum => Total::Sum,
                AggregateOp::Avg => Total::Mean,
                AggregateOp::Count => {
                    let numbers = result.values[step];
                    result.values[step] = native.len() as f64 + if is_gap(numbers) { 0.0 } else { numbers };
                    continue;
                }
                AggregateOp::Group => {
                    result.values[step] = 1.0;
                    continue;
                }
                other => {
                    self.query.inform_ignored_in_group(offset, other.name());
                    continue;
                }
            };
            if members.iter().any(|member| !is_gap(member.values[step])) {
                result.clear(step);
                self.query.warn_mixed_group(offset);
                continue;
            }
            let histograms: Vec<&Arc<Histogram>> = native.iter().map(|member| member.1).collect();
            match total(&histograms, kind) {
                Ok(Some((histogram, added))) => {
                    self.query.remark_on_total(offset, added);
                    self.query.charge_histogram(&histogram)?;
                    // The step is empty, because there are no numbers.
                    let _ = result.set(step, Sample::Histogram(Arc::new(histogram)));
                }
                Ok(None) => {}
                Err(wrong) => self.query.warn_incompatible(offset, native[wrong].0.labels.metric()),
            }
        }
        Ok(())
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
            for step in 0..self.grid.count {
                let value = match column.sample(step) {
                    Some(Sample::Number(value)) => shown(value),
                    Some(Sample::Histogram(histogram)) => histogram.to_string(),
                    None => continue,
                };
                let labels = group_labels(&column.labels.with(label, &value), &grouping, &without);
                let number = *numbers.entry(labels.clone()).or_insert(results.len());
                if number == results.len() {
                    self.query.charge(self.grid.count)?;
                    results.push(Column::new(labels, false, vec![GAP; self.grid.count]));
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
