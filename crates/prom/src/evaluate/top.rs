//! Aggregations that choose some of the series of each group: `topk`, `bottomk`, `limitk`, `limit_ratio`.

use super::aggregate::groups;
use super::calls::present;
use super::columns::{Column, GAP, is_gap};
use super::elements::shown;
use super::evaluator::{Evaluator, Result, fail};
use super::sorting::compare;
use crate::histogram::Histogram;
use crate::labels::Labels;
use crate::promql::{Aggregate, AggregateOp};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

impl Evaluator<'_> {
    pub(super) fn chosen(&self, start: usize, aggregate: &Aggregate) -> Result<Vec<Column>> {
        let param = match &aggregate.param {
            Some(param) => self.scalar(param)?,
            None => return fail("parameter is missing"),
        };
        let columns = self.columns(&aggregate.expr)?;
        if !self.check_param(aggregate, &param)? {
            return Ok(Vec::new());
        }
        let mut kept: Vec<Vec<f64>> = vec![vec![GAP; self.grid.count]; columns.len()];
        let mut kept_native: HashMap<usize, Vec<Option<Arc<Histogram>>>> = HashMap::new();
        // The chosen columns of the first step, in the order of an instant query's result.
        let mut order = Vec::new();
        for group in groups(&columns, aggregate) {
            let offsets: Vec<f64> = match aggregate.op {
                AggregateOp::LimitRatio => {
                    group.members.iter().map(|member| offset(&columns[*member].labels)).collect()
                }
                _ => Vec::new(),
            };
            for step in 0..self.grid.count {
                let all = group.members.iter().enumerate();
                let mut there: Vec<(usize, usize, f64)> =
                    all.map(|(nth, member)| (nth, *member, columns[*member].values[step])).collect();
                if matches!(aggregate.op, AggregateOp::Topk | AggregateOp::Bottomk) {
                    let ignored = there.iter().any(|(_, member, _)| columns[*member].histogram(step).is_some());
                    if ignored && param[step] >= 1.0 {
                        self.query.inform_ignored_in_group(start, aggregate.op.name());
                    }
                    there.retain(|(_, _, value)| !is_gap(*value));
                } else {
                    there.retain(|(_, member, _)| columns[*member].has(step));
                }
                let count = param[step].clamp(0.0, columns.len() as f64) as usize;
                match aggregate.op {
                    AggregateOp::Topk | AggregateOp::Bottomk => {
                        let descending = aggregate.op == AggregateOp::Topk;
                        there.sort_by(|one, other| compare(one.2, other.2, descending));
                        there.truncate(count);
                    }
                    AggregateOp::Limitk => there.truncate(count),
                    _ => there.retain(|(nth, ..)| is_in_ratio(param[step].clamp(-1.0, 1.0), offsets[*nth])),
                }
                for (_, member, value) in there {
                    kept[member][step] = value;
                    if let Some(histogram) = columns[member].histogram(step) {
                        let kept = kept_native.entry(member).or_insert_with(|| vec![None; self.grid.count]);
                        kept[step] = Some(Arc::clone(histogram));
                    }
                    if step == 0 {
                        order.push(member);
                    }
                }
            }
        }
        let mut columns: Vec<Option<Column>> = columns.into_iter().map(Some).collect();
        let rest = 0..columns.len();
        let mut results = Vec::new();
        for number in order.into_iter().chain(rest) {
            if let Some(mut column) = columns[number].take() {
                column.values = std::mem::take(&mut kept[number]);
                column.histograms = kept_native.remove(&number).unwrap_or_default();
                results.push(column);
            }
        }
        Ok(present(results))
    }

    /// Returns whether any series can be chosen.
    fn check_param(&self, aggregate: &Aggregate, param: &[f64]) -> Result<bool> {
        let max = param.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let min = param.iter().copied().fold(f64::INFINITY, f64::min);
        let nan = param.iter().any(|value| value.is_nan());
        if aggregate.op == AggregateOp::LimitRatio {
            if max == 0.0 && min == 0.0 {
                return Ok(false);
            }
            if nan {
                return fail("Ratio value is NaN");
            }
            let start = aggregate.param.as_ref().map_or(0, |param| param.bare().start);
            for (wrong, cap) in
                [(max > 1.0).then_some((max, 1)), (min < -1.0).then_some((min, -1))].into_iter().flatten()
            {
                let wrong = shown(wrong);
                self.query
                    .warn(start, format!("ratio value should be between -1 and 1, got {wrong}, capping to {cap}"));
            }
            return Ok(true);
        }
        if max < 1.0 && !(nan && max == f64::NEG_INFINITY) {
            return Ok(false);
        }
        if nan {
            return fail("Parameter value is NaN");
        }
        let limit = i64::MAX as f64;
        if min <= -limit {
            return fail(format!("Scalar value {} underflows int64", shown(min)));
        }
        if max >= limit {
            return fail(format!("Scalar value {} overflows int64", shown(max)));
        }
        Ok(true)
    }
}

/// A number between 0 and 1 for a series, always the same for the same labels.
fn offset(labels: &Labels) -> f64 {
    let mut hasher = DefaultHasher::new();
    labels.hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64
}

/// Returns whether a ratio includes a series. A negative ratio includes the series that its positive complement leaves
/// out.
fn is_in_ratio(ratio: f64, offset: f64) -> bool {
    if ratio >= 0.0 { offset < ratio } else { offset >= 1.0 + ratio }
}
