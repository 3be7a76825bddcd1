//! The buckets of a rollup, as times of its source: the whole buckets around stale times.

use atsdb_core::{Result, Table};
use atsdb_dialect::functions::bucketing::cut::Cut;
use atsdb_dialect::functions::bucketing::time_bucket::TimeBucket;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::plan_walk::DynWalk;
use atsdb_engine::times::Times;
use atsdb_engine::times::joined;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, ExprSchema};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// How a rollup divides the times of its source into buckets.
pub(crate) struct Bucketing {
    cut: Cut,
    /// The length of a tick in the table's unit: 86,400 for a date.
    scale: i64,
}

impl Bucketing {
    pub(crate) fn new(cut: Cut, scale: i64) -> Self {
        Self { cut, scale }
    }

    /// The bucket of a time. If its start is out of range, it begins at the earliest time and ends at `time`.
    pub(crate) fn bucket(&self, time: i64) -> Times {
        let tick = time.div_euclid(self.scale);
        let bucket = match &self.cut {
            Cut::Times(buckets) => buckets.bucket(tick).map(|bucket| (bucket.start, bucket.last)),
            Cut::Integers { width, offset } => {
                let past = (tick.rem_euclid(*width) - offset).rem_euclid(*width);
                tick.checked_sub(past).map(|start| (start, start.saturating_add(width - 1)))
            }
        };
        match bucket {
            Some((start, last)) => {
                (start.saturating_mul(self.scale), last.saturating_mul(self.scale).saturating_add(self.scale - 1))
            }
            None => (i64::MIN, time),
        }
    }

    /// The time ranges of the buckets that contain the given times, with adjacent ranges merged.
    pub(crate) fn whole(&self, times: &[Times]) -> Vec<Times> {
        joined(times.iter().map(|(first, last)| (self.bucket(*first).0, self.bucket(*last).1)).collect())
    }
}

/// Reduces time ranges to at most `count_max` by merging those that are nearest to each other, including the gaps
/// between them.
pub(crate) fn at_most(mut times: Vec<Times>, count_max: usize) -> Vec<Times> {
    if times.len() <= count_max {
        return times;
    }
    let gap = |pair: &[Times]| i128::from(pair[1].0) - i128::from(pair[0].1);
    let mut gaps: Vec<i128> = times.windows(2).map(gap).collect();
    gaps.sort_unstable();
    let joined_max = gaps[times.len() - count_max - 1];
    let mut few: Vec<Times> = Vec::with_capacity(count_max);
    for time in times.drain(..) {
        match few.last_mut() {
            Some(before) if gap(&[*before, time]) <= joined_max => before.1 = time.1,
            _ => few.push(time),
        }
    }
    few
}

/// The buckets by which the plan of a rollup's query groups.
pub(crate) fn bucketing_of(plan: &LogicalPlan, source: &Table) -> Result<Bucketing> {
    let definition = &source.definition;
    let time = definition.time_column().ok_or_else(|| sql_error(format!("table {} has no time", definition.name)))?;
    let mut found = None;
    let seen = plan.dyn_apply(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            for expr in &aggregate.group_expr {
                let Expr::ScalarFunction(call) = expr else { continue };
                let Some(function) = call.func.inner().downcast_ref::<TimeBucket>() else { continue };
                if let Some(Expr::Column(column)) = call.args.get(1)
                    && atsdb_core::name::same_name(&column.name, &time.name)
                {
                    let data_type = aggregate.input.schema().data_type(column)?;
                    let cut = function.cut_of(data_type, &call.args);
                    found = cut.map_err(|error| DataFusionError::External(Box::new(error)))?;
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    seen.map_err(from_datafusion)?;
    let cut = found.ok_or_else(|| {
        sql_error("the query does not group by a bucket of constant width")
            .with_hint(format!("GROUP BY time_bucket('1 hour', {})", time.name))
    })?;
    Ok(Bucketing::new(cut, definition.time_scale()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_are_joined_first() {
        let times = vec![(0, 1), (3, 4), (100, 101), (110, 111)];
        assert_eq!(at_most(times.clone(), 4), times);
        assert_eq!(at_most(times.clone(), 3), [(0, 4), (100, 101), (110, 111)]);
        assert_eq!(at_most(times.clone(), 2), [(0, 4), (100, 111)]);
        assert_eq!(at_most(times, 1), [(0, 111)]);
    }

    #[test]
    fn whole_buckets_surround_stale_times() {
        let bucketing = Bucketing::new(Cut::Integers { width: 10, offset: 3 }, 1);
        assert_eq!(bucketing.whole(&[(5, 5), (14, 22), (-9, -9)]), [(-17, -8), (3, 22)]);
        assert_eq!(bucketing.bucket(i64::MIN).0, i64::MIN);
        let days = Bucketing::new(Cut::Integers { width: 1, offset: 0 }, 86_400);
        assert_eq!(days.bucket(86_405), (86_400, 172_799));
    }
}
