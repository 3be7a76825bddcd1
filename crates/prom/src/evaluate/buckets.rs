//! Quantiles and fractions of histograms. Classic ones are series with the label `le`.

use super::calls::present;
use super::columns::{Column, GAP, is_gap};
use super::elements::shown_open_metrics;
use super::evaluator::{Evaluator, Result};
use super::notes::Detail;
use crate::labels::Labels;
use crate::promql::Expr;
use std::collections::HashMap;

/// The label that holds a bucket's upper bound.
const BOUND: &str = "le";

/// The relative difference up to which counts are taken as equal.
const TOLERANCE: f64 = 1e-12;

/// The count of observations up to a bound.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    bound: f64,
    count: f64,
}

/// The bounds between which counts were raised to make them monotonic, and by how much.
struct RaisedCounts {
    bounds: (f64, f64),
    difference: f64,
}

/// The buckets of one histogram.
struct Histogram {
    labels: Labels,
    members: Vec<(f64, usize)>,
}

impl Evaluator<'_> {
    pub(super) fn histogram_quantile(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let q = self.scalar(&args[0])?;
        q.iter().for_each(|q| self.check_quantile(args[0].bare().start, *q));
        let mut columns = self.with_hints_kept().columns(&args[1])?;
        let histograms = self.histograms(args[1].bare().start, &mut columns);
        Ok(self.quantiles(&histograms, &columns, args[1].bare().start, &q))
    }

    pub(super) fn histogram_quantiles(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let mut columns = self.with_hints_kept().columns(&args[0])?;
        let start = args[0].bare().start;
        let label = super::calls::text(&args[1]);
        let histograms = self.histograms(start, &mut columns);
        let mut all = Vec::new();
        for arg in &args[2..] {
            let q = self.scalar(arg)?;
            q.iter().for_each(|q| self.check_quantile(arg.bare().start, *q));
            // The label holds the quantile of the first step; a constant in every sensible query.
            let value = shown_open_metrics(q.first().copied().unwrap_or(f64::NAN));
            for mut column in self.quantiles(&histograms, &columns, start, &q) {
                column.labels = column.labels.with(label, &value);
                all.push(column);
            }
        }
        Ok(all)
    }

    pub(super) fn histogram_fraction(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let (lower, upper) = (self.scalar(&args[0])?, self.scalar(&args[1])?);
        let mut columns = self.with_hints_kept().columns(&args[2])?;
        let start = args[2].bare().start;
        let histograms = self.histograms(start, &mut columns);
        let mut all = self.estimates(start, &columns, |step, histogram| histogram.fraction(lower[step], upper[step]));
        all.extend(
            self.of_buckets(&histograms, &columns, |_, step, buckets| fraction(lower[step], upper[step], buckets)),
        );
        Ok(all)
    }

    fn quantiles(&self, histograms: &[Histogram], columns: &[Column], start: usize, q: &[f64]) -> Vec<Column> {
        let mut all = self.estimates(start, columns, |step, histogram| histogram.quantile(q[step]));
        all.extend(self.of_buckets(histograms, columns, |histogram, step, buckets| {
            let (value, raised) = quantile(q[step], buckets);
            if let Some(RaisedCounts { bounds, difference }) = raised {
                let time = self.grid.at(step);
                let name = histogram.labels.metric();
                let name = if name.is_empty() { String::new() } else { format!(" for metric name {name:?}") };
                let page = "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile";
                let message =
                    format!("input to histogram_quantile needed to be fixed for monotonicity (see {page}){name}");
                let detail = Detail::Monotonicity { buckets: bounds, difference, count: 0, times: (time, time) };
                self.query.notes.borrow_mut().inform(start, message, detail);
            }
            value
        }));
        all
    }

    fn of_buckets(
        &self,
        histograms: &[Histogram],
        columns: &[Column],
        value: impl Fn(&Histogram, usize, &mut Vec<Bucket>) -> f64,
    ) -> Vec<Column> {
        let mut buckets = Vec::new();
        let of = |histogram: &Histogram| {
            let cells = (0..self.grid.count).map(|step| {
                buckets.clear();
                let counts = histogram.members.iter().map(|(bound, column)| (*bound, columns[*column].values[step]));
                let counted = counts.filter(|(_, count)| !is_gap(*count));
                buckets.extend(counted.map(|(bound, count)| Bucket { bound, count }));
                if buckets.is_empty() { GAP } else { value(histogram, step, &mut buckets) }
            });
            let values = cells.collect();
            Column::new(histogram.labels.clone(), true, values)
        };
        present(histograms.iter().map(of).collect())
    }

    /// Groups the columns of classic histograms by their labels without the bound. Where a native histogram has these
    /// labels, too, both are cleared.
    fn histograms(&self, start: usize, columns: &mut [Column]) -> Vec<Histogram> {
        let without = [BOUND.to_owned()];
        let mut numbers: HashMap<Labels, usize> = HashMap::new();
        let mut histograms: Vec<Histogram> = Vec::new();
        for (column, series) in columns.iter().enumerate() {
            if !series.histograms.is_empty() && series.values.iter().all(|value| is_gap(*value)) {
                continue;
            }
            let text = series.labels.get(BOUND);
            let Ok(bound) = text.parse::<f64>() else {
                let name = series.labels.metric();
                let name = if name.is_empty() { String::new() } else { format!(" for metric name {name:?}") };
                let message = format!("bucket label \"le\" is missing or has a malformed value of {text:?}{name}");
                self.query.warn(start, message);
                continue;
            };
            let labels = series.labels.without(&without);
            let number = *numbers.entry(labels.clone()).or_insert(histograms.len());
            if number == histograms.len() {
                histograms.push(Histogram { labels, members: Vec::new() });
            }
            histograms[number].members.push((bound, column));
        }
        for native in 0..columns.len() {
            let Some(number) = numbers.get(&columns[native].labels).filter(|_| !columns[native].histograms.is_empty())
            else {
                continue;
            };
            for step in 0..self.grid.count {
                let members = &histograms[*number].members;
                let classic = members.iter().any(|(_, column)| !is_gap(columns[*column].values[step]));
                if columns[native].histogram(step).is_some() && classic {
                    self.query.warn_classic_and_native(start, columns[native].labels.metric());
                    columns[native].clear(step);
                    members.iter().for_each(|(_, column)| columns[*column].values[step] = GAP);
                }
            }
        }
        histograms
    }
}

/// Sorts the buckets and adds up those of the same bound. Whether the last is infinite.
fn arrange(buckets: &mut Vec<Bucket>) -> bool {
    buckets.sort_by(|one, other| one.bound.total_cmp(&other.bound));
    buckets.dedup_by(|next, kept| {
        let same = next.bound == kept.bound;
        if same {
            kept.count += next.count;
        }
        same
    });
    buckets.last().is_some_and(|bucket| bucket.bound == f64::INFINITY)
}

fn nearly_equal(one: f64, other: f64) -> bool {
    let (sum, difference) = (one.abs() + other.abs(), (one - other).abs());
    if one == 0.0 || other == 0.0 || sum < f64::MIN_POSITIVE {
        return difference < TOLERANCE * f64::MIN_POSITIVE;
    }
    difference / sum.min(f64::MAX) < TOLERANCE
}

/// Raises counts that are lower than that of a lower bound.
fn make_monotonic(buckets: &mut [Bucket]) -> Option<RaisedCounts> {
    let mut raised: Option<RaisedCounts> = None;
    let mut previous = buckets[0].count;
    for bucket in &mut buckets[1..] {
        if bucket.count == previous {
            continue;
        }
        if nearly_equal(previous, bucket.count) {
            bucket.count = previous;
        } else if bucket.count < previous {
            let difference = previous - bucket.count;
            bucket.count = previous;
            let all =
                raised.get_or_insert(RaisedCounts { bounds: (f64::INFINITY, f64::NEG_INFINITY), difference: 0.0 });
            all.bounds = (all.bounds.0.min(bucket.bound), all.bounds.1.max(bucket.bound));
            all.difference = all.difference.max(difference);
        } else {
            previous = bucket.count;
        }
    }
    raised
}

/// The quantile, interpolated linearly inside its bucket. The lowest bucket begins at 0 if its bound is positive.
fn quantile(q: f64, buckets: &mut Vec<Bucket>) -> (f64, Option<RaisedCounts>) {
    if q.is_nan() {
        return (f64::NAN, None);
    }
    if q < 0.0 {
        return (f64::NEG_INFINITY, None);
    }
    if q > 1.0 {
        return (f64::INFINITY, None);
    }
    if !arrange(buckets) {
        return (f64::NAN, None);
    }
    let raised = make_monotonic(buckets);
    let last = buckets.len() - 1;
    let observations = buckets[last].count;
    if last == 0 || observations == 0.0 {
        return (f64::NAN, raised);
    }
    let mut rank = q * observations;
    let index = buckets[..last].iter().position(|bucket| bucket.count >= rank).unwrap_or(last);
    let value = if index == last {
        buckets[last - 1].bound
    } else if index == 0 && buckets[0].bound <= 0.0 {
        buckets[0].bound
    } else {
        let end = buckets[index].bound;
        let (mut begin, mut count) = (0.0, buckets[index].count);
        if index > 0 {
            begin = buckets[index - 1].bound;
            count -= buckets[index - 1].count;
            rank -= buckets[index - 1].count;
        }
        begin + (end - begin) * (rank / count)
    };
    (value, raised)
}

/// The share of observations between two values.
fn fraction(lower: f64, upper: f64, buckets: &mut Vec<Bucket>) -> f64 {
    if !arrange(buckets) {
        return f64::NAN;
    }
    let count = buckets[buckets.len() - 1].count;
    if count == 0.0 || lower.is_nan() || upper.is_nan() {
        return f64::NAN;
    }
    if lower >= upper {
        return 0.0;
    }
    (rank_of(upper, buckets).min(count) - rank_of(lower, buckets).min(count)) / count
}

/// The number of observations below a value.
fn rank_of(value: f64, buckets: &[Bucket]) -> f64 {
    let mut rank = 0.0;
    let mut begin = if buckets[0].bound <= 0.0 { f64::NEG_INFINITY } else { 0.0 };
    for bucket in buckets {
        if begin >= value {
            return rank;
        }
        if bucket.bound > value {
            if begin == f64::NEG_INFINITY {
                return bucket.count;
            }
            return rank + (bucket.count - rank) * (value - begin) / (bucket.bound - begin);
        }
        rank = bucket.count;
        begin = bucket.bound;
    }
    f64::INFINITY
}
