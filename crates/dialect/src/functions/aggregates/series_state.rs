//! Collects points, for one group or window, and for many groups. Points may arrive in any order, and are sorted when
//! the result is needed. If points arrive in order and none is removed, the result is computed incrementally.

use super::lttb::largest_triangles;
use super::points::{Measure, Number, Point, Running};
use crate::functions::base::arguments::{is_wanted, strictly};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, LargeListArray, ListArray, StructArray,
    UInt64Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::collections::VecDeque;
use std::sync::Arc;

/// The result that is computed from points.
#[derive(Debug, Clone)]
pub(crate) enum Summary {
    Measure(Measure),
    Lttb { count: usize, time_type: DataType },
}

impl Summary {
    pub(crate) fn answer_type(&self) -> DataType {
        match self {
            Self::Measure(_) => DataType::Float64,
            Self::Lttb { time_type, .. } => DataType::List(Arc::new(point_field(time_type))),
        }
    }

    /// The answers for groups of points, which are sorted.
    fn answers<'a>(&self, number: Number, groups: impl Iterator<Item = &'a mut [Point]>) -> Result<ArrayRef> {
        let sorted = groups.map(|points| {
            number.sort(points);
            &*points
        });
        match self {
            Self::Measure(measure) => {
                let answers: Float64Array = sorted.map(|points| measure.over(number, points)).collect();
                Ok(Arc::new(answers))
            }
            Self::Lttb { count, time_type } => {
                let groups: Vec<Vec<Point>> = sorted.map(|points| largest_triangles(points, number, *count)).collect();
                lists(&groups, number, time_type)
            }
        }
    }
}

fn point_field(time_type: &DataType) -> Field {
    Field::new_list_field(DataType::Struct(point_fields(time_type)), true)
}

fn point_fields(time_type: &DataType) -> Fields {
    let time = Field::new("time", time_type.clone(), true);
    vec![time, Field::new("value", DataType::Float64, true)].into()
}

/// A list of `{time, value}` for each group; NULL without points.
fn lists(groups: &[Vec<Point>], number: Number, time_type: &DataType) -> Result<ArrayRef> {
    let points = || groups.iter().flatten();
    let times: ArrayRef = Arc::new(points().map(|point| Some(point.time)).collect::<Int64Array>());
    let times = match time_type {
        DataType::Date32 => cast(&cast(&times, &DataType::Int32)?, time_type)?,
        _ => strictly(&times, time_type)?,
    };
    let values: Float64Array = points().map(|point| Some(number.float(point.bits))).collect();
    let structs = StructArray::try_new(point_fields(time_type), vec![times, Arc::new(values)], None)?;
    let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
    let nulls: NullBuffer = groups.iter().map(|points| !points.is_empty()).collect();
    Ok(Arc::new(ListArray::try_new(Arc::new(point_field(time_type)), offsets, Arc::new(structs), Some(nulls))?))
}

/// The types of a state: the times, and the bits of the values.
pub(crate) fn state_types() -> [DataType; 2] {
    [DataType::Int64, DataType::UInt64].map(|item| DataType::LargeList(Arc::new(Field::new_list_field(item, false))))
}

fn state_of(groups: &[&[Point]]) -> Result<[Arc<LargeListArray>; 2]> {
    let points = || groups.iter().copied().flatten();
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(points().map(|point| point.time)));
    let bits: ArrayRef = Arc::new(UInt64Array::from_iter_values(points().map(|point| point.bits)));
    let list = |items: ArrayRef| -> Result<Arc<LargeListArray>> {
        let field = Field::new_list_field(items.data_type().clone(), false);
        let offsets = OffsetBuffer::from_lengths(groups.iter().map(|points| points.len()));
        Ok(Arc::new(LargeListArray::try_new(Arc::new(field), offsets, items, None)?))
    };
    Ok([list(times)?, list(bits)?])
}

/// The points of a row of a state.
fn points_of(states: &[ArrayRef], row: usize) -> impl Iterator<Item = Point> {
    let times = states[0].as_list::<i64>().value(row).as_primitive::<Int64Type>().clone();
    let bits = states[1].as_list::<i64>().value(row).as_primitive::<UInt64Type>().clone();
    (0..times.len().min(bits.len())).map(move |index| Point { time: times.value(index), bits: bits.value(index) })
}

/// How the arguments are used.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub summary: Summary,
    pub number: Number,
    /// The positions of value and time among the arguments.
    pub value: usize,
    pub time: usize,
}

impl Plan {
    fn points(&self, values: &[ArrayRef]) -> Result<impl Iterator<Item = Option<Point>> + use<>> {
        self.number.points(&values[self.value], &values[self.time])
    }

    fn answer(&self, points: &mut [Point]) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.summary.answers(self.number, std::iter::once(points))?, 0)
    }
}

/// The points of one group, or of a window that only grows.
#[derive(Debug)]
pub(crate) struct SeriesGroup {
    plan: Plan,
    points: Vec<Point>,
    /// The measure over all points, as long as they arrived in order.
    running: Option<Running>,
}

impl SeriesGroup {
    pub(crate) fn new(plan: Plan) -> Self {
        let running = match plan.summary {
            Summary::Measure(measure) => Some(Running::new(measure, plan.number)),
            Summary::Lttb { .. } => None,
        };
        Self { plan, points: Vec::new(), running }
    }

    fn push(&mut self, point: Point) {
        self.points.push(point);
        if self.running.as_mut().is_some_and(|running| !running.push(point)) {
            self.running = None;
        }
    }
}

impl Accumulator for SeriesGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.plan.points(values)?.flatten().for_each(|point| self.push(point));
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for row in 0..states[0].len() {
            points_of(states, row).for_each(|point| self.push(point));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match &self.running {
            Some(running) => Ok(ScalarValue::Float64(running.answer())),
            // Sorted in place: a window that grows by a few points stays nearly in order.
            None => self.plan.answer(&mut self.points),
        }
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(state_of(&[self.points.as_slice()])?.into_iter().map(ScalarValue::LargeList).collect())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.points.capacity() * size_of::<Point>()
    }
}

/// The rows of a sliding window, in the order in which they entered it; `None` is a row without a point.
#[derive(Debug)]
pub(crate) struct SeriesWindow {
    plan: Plan,
    rows: VecDeque<Option<Point>>,
}

impl SeriesWindow {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, rows: VecDeque::new() }
    }
}

impl Accumulator for SeriesWindow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows.extend(self.plan.points(values)?);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows.drain(..values[0].len().min(self.rows.len()));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        datafusion::common::internal_err!("a window is not merged")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut points: Vec<Point> = self.rows.iter().flatten().copied().collect();
        self.plan.answer(&mut points)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        datafusion::common::internal_err!("a window has no state")
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.rows.capacity() * size_of::<Option<Point>>()
    }
}

/// The points of many groups.
pub(crate) struct SeriesGroups {
    plan: Plan,
    groups: Vec<Vec<Point>>,
    /// The size of the groups' points in bytes.
    bytes: usize,
}

impl SeriesGroups {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, groups: Vec::new(), bytes: 0 }
    }

    fn extend(&mut self, group: usize, points: impl Iterator<Item = Point>) {
        let own = &mut self.groups[group];
        let before = own.capacity();
        own.extend(points);
        self.bytes += (own.capacity() - before) * size_of::<Point>();
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Vec<Point>> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.bytes -= groups.iter().map(Vec::capacity).sum::<usize>() * size_of::<Point>();
        groups
    }
}

impl GroupsAccumulator for SeriesGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Vec::new());
        let points = self.plan.points(values)?;
        for (row, point) in points.enumerate() {
            if is_wanted(opt_filter, row) {
                self.extend(group_indices[row], point.into_iter());
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups.resize(total_num_groups, Vec::new());
        for (row, group) in group_indices.iter().enumerate() {
            self.extend(*group, points_of(values, row));
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut groups = self.take(emit_to);
        self.plan.summary.answers(self.plan.number, groups.iter_mut().map(Vec::as_mut_slice))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit_to);
        let groups: Vec<&[Point]> = groups.iter().map(Vec::as_slice).collect();
        Ok(state_of(&groups)?.into_iter().map(|list| list as ArrayRef).collect())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let points = self.plan.points(values)?;
        let points: Vec<Option<Point>> =
            points.enumerate().map(|(row, point)| point.filter(|_| is_wanted(opt_filter, row))).collect();
        let rows: Vec<&[Point]> = points.iter().map(Option::as_slice).collect();
        Ok(state_of(&rows)?.into_iter().map(|list| list as ArrayRef).collect())
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<Point>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURES: [Measure; 5] = [
        Measure::Delta,
        Measure::Increase,
        Measure::Rate { counts_per_second: 10.0 },
        Measure::TimeWeightedAverage { linear: false },
        Measure::TimeWeightedAverage { linear: true },
    ];

    type Row = (Option<i64>, Option<i64>);

    /// A naive implementation to compare with. Values are whole, so that sums are exact.
    fn naive(measure: Measure, rows: &[Row]) -> Option<f64> {
        let mut points: Vec<(i64, i64)> = rows.iter().filter_map(|(value, time)| Some(((*time)?, (*value)?))).collect();
        points.sort_unstable();
        let (first, last) = (*points.first()?, *points.last()?);
        let span = (last.0 - first.0) as f64;
        let rise: i64 = points.windows(2).map(|p| if p[1].1 < p[0].1 { p[1].1 } else { p[1].1 - p[0].1 }).sum();
        match measure {
            Measure::TimeWeightedAverage { .. } if span == 0.0 => {
                Some(points.iter().map(|point| point.1 as f64).sum::<f64>() / points.len() as f64)
            }
            Measure::TimeWeightedAverage { linear } => {
                let doubled = |p: &[(i64, i64)]| if linear { p[0].1 + p[1].1 } else { 2 * p[0].1 };
                let area: i64 = points.windows(2).map(|p| (p[1].0 - p[0].0) * doubled(p)).sum();
                Some(area as f64 / 2.0 / span)
            }
            _ if points.len() < 2 => None,
            Measure::Delta => Some((last.1 - first.1) as f64),
            Measure::Increase => Some(rise as f64),
            Measure::Rate { .. } => (span > 0.0).then(|| rise as f64 / (span / 10.0)),
        }
    }

    fn arrays(rows: &[Row]) -> Vec<ArrayRef> {
        let values: Int64Array = rows.iter().map(|row| row.0).collect();
        let times: Int64Array = rows.iter().map(|row| row.1).collect();
        vec![Arc::new(values), Arc::new(times)]
    }

    fn plan(measure: Measure) -> Plan {
        Plan { summary: Summary::Measure(measure), number: Number::Signed, value: 0, time: 1 }
    }

    #[test]
    fn all_ways_to_gather_points_agree_with_the_plain_one() {
        let mut seed = 3_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for round in 0..600 {
            let measure = MEASURES[round % MEASURES.len()];
            let mut rows: Vec<Row> = (0..random(30))
                .map(|_| ((random(8) > 0).then(|| random(9) as i64), (random(8) > 0).then(|| random(40) as i64 - 20)))
                .collect();
            if round % 2 == 0 {
                rows.sort_by_key(|row| row.1);
            }
            let expected = ScalarValue::Float64(naive(measure, &rows));

            let (a, b) = rows.split_at(rows.len() / 2);
            let mut merged = SeriesGroup::new(plan(measure));
            for part in [b, a] {
                let mut own = SeriesGroup::new(plan(measure));
                own.update_batch(&arrays(part)).unwrap();
                let state: Vec<ArrayRef> = own.state().unwrap().iter().map(|value| value.to_array().unwrap()).collect();
                merged.merge_batch(&state).unwrap();
            }
            assert_eq!(merged.evaluate().unwrap(), expected, "{rows:?} {measure:?}");

            let (mut running, mut moving) = (SeriesGroup::new(plan(measure)), SeriesWindow::new(plan(measure)));
            for row in 0..rows.len() {
                running.update_batch(&arrays(&rows[row..=row])).unwrap();
                let expected = ScalarValue::Float64(naive(measure, &rows[..=row]));
                assert_eq!(running.evaluate().unwrap(), expected, "{:?} {measure:?}", &rows[..=row]);
                moving.update_batch(&arrays(&rows[row..=row])).unwrap();
                if row >= 6 {
                    moving.retract_batch(&arrays(&rows[row - 6..row - 5])).unwrap();
                }
                let frame = &rows[row.saturating_sub(5)..=row];
                let expected = ScalarValue::Float64(naive(measure, frame));
                assert_eq!(moving.evaluate().unwrap(), expected, "{frame:?} {measure:?}");
            }

            let groups_of: Vec<usize> = rows.iter().map(|_| random(3) as usize).collect();
            let filter: BooleanArray =
                rows.iter().map(|_| [Some(true), Some(true), Some(false), None][random(4) as usize]).collect();
            let (mut groups, mut last) = (SeriesGroups::new(plan(measure)), SeriesGroups::new(plan(measure)));
            groups.update_batch(&arrays(&rows), &groups_of, Some(&filter), 3).unwrap();
            // The state of the first group is merged first, then the others'; then one row at a time.
            for (state, into) in
                [(groups.state(EmitTo::First(1)).unwrap(), vec![0]), (groups.state(EmitTo::All).unwrap(), vec![1, 2])]
            {
                last.merge_batch(&state, &into, 3).unwrap();
            }
            assert_eq!(groups.size() - groups.groups.capacity() * size_of::<Vec<Point>>(), 0);
            let mut converted = SeriesGroups::new(plan(measure));
            let state = converted.convert_to_state(&arrays(&rows), Some(&filter)).unwrap();
            converted.merge_batch(&state, &groups_of, 3).unwrap();
            let (last, converted) = (last.evaluate(EmitTo::All).unwrap(), converted.evaluate(EmitTo::All).unwrap());
            assert_eq!(last.as_ref(), converted.as_ref());
            for group in 0..3 {
                let is_own = |row: &usize| groups_of[*row] == group && is_wanted(Some(&filter), *row);
                let own: Vec<Row> = (0..rows.len()).filter(is_own).map(|row| rows[row]).collect();
                let expected = ScalarValue::Float64(naive(measure, &own));
                assert_eq!(ScalarValue::try_from_array(&last, group).unwrap(), expected, "{own:?} {measure:?}");
            }
        }
    }
}
