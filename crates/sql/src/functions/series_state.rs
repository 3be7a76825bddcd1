//! Points while they are gathered: of one group or window, and of many groups. They come in any order and are sorted
//! when the answer is due; points in order that only grow in number are summed up at once.

use super::arguments::strictly;
use super::lttb::largest_triangles;
use super::points::{Fold, Measure, Number, Point};
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

/// What becomes of points.
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
                let answers: Float64Array = sorted.map(|points| Fold::over(*measure, number, points)).collect();
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

/// The points of one group or window, in the order in which they came.
#[derive(Debug)]
pub(crate) struct SeriesWindow {
    summary: Summary,
    number: Number,
    /// Where value and time stand among the arguments.
    value: usize,
    time: usize,
    points: VecDeque<Option<Point>>,
    /// Over all points, as long as they came in order and none has left.
    fold: Option<Fold>,
    is_broken: bool,
}

impl SeriesWindow {
    pub(crate) fn new(summary: Summary, number: Number, value: usize, time: usize) -> Self {
        let points = VecDeque::new();
        Self { summary, number, value, time, points, fold: None, is_broken: false }
    }

    fn push(&mut self, point: Point) {
        let Summary::Measure(measure) = self.summary else { return };
        match &mut self.fold {
            _ if self.is_broken => {}
            None => self.fold = Some(Fold::new(measure, self.number, point)),
            Some(fold) if fold.takes(&point) => fold.push(point),
            Some(_) => (self.fold, self.is_broken) = (None, true),
        }
    }
}

impl Accumulator for SeriesWindow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for point in self.number.points(&values[self.value], &values[self.time])? {
            if let Some(point) = point {
                self.push(point);
            }
            // Rows without a point count when rows leave.
            self.points.push_back(point);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for row in 0..states[0].len() {
            for point in points_of(states, row) {
                self.push(point);
                self.points.push_back(Some(point));
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.points.drain(..values[0].len().min(self.points.len()));
        (self.fold, self.is_broken) = (None, true);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if let Some(fold) = &self.fold {
            return Ok(ScalarValue::Float64(fold.answer()));
        }
        let mut points: Vec<Point> = self.points.iter().flatten().copied().collect();
        let answers = self.summary.answers(self.number, std::iter::once(points.as_mut_slice()))?;
        ScalarValue::try_from_array(&answers, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let points: Vec<Point> = self.points.iter().flatten().copied().collect();
        Ok(state_of(&[points.as_slice()])?.into_iter().map(ScalarValue::LargeList).collect())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.points.capacity() * size_of::<Option<Point>>()
    }
}

/// The points of many groups.
pub(crate) struct SeriesGroups {
    summary: Summary,
    number: Number,
    value: usize,
    time: usize,
    groups: Vec<Vec<Point>>,
    /// What the groups' points take.
    bytes: usize,
}

impl SeriesGroups {
    pub(crate) fn new(window: SeriesWindow) -> Self {
        let SeriesWindow { summary, number, value, time, .. } = window;
        Self { summary, number, value, time, groups: Vec::new(), bytes: 0 }
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

fn is_wanted(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
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
        let points = self.number.points(&values[self.value], &values[self.time])?;
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
        self.summary.answers(self.number, groups.iter_mut().map(Vec::as_mut_slice))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit_to);
        let groups: Vec<&[Point]> = groups.iter().map(Vec::as_slice).collect();
        Ok(state_of(&groups)?.into_iter().map(|list| list as ArrayRef).collect())
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let points = self.number.points(&values[self.value], &values[self.time])?;
        let points: Vec<Option<Point>> =
            points.enumerate().map(|(row, point)| point.filter(|_| is_wanted(opt_filter, row))).collect();
        let rows: Vec<&[Point]> = points.iter().map(Option::as_slice).collect();
        Ok(state_of(&rows)?.into_iter().map(|list| list as ArrayRef).collect())
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<Point>>() + self.bytes
    }
}
