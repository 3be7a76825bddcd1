//! The measures that are computed for each group.

use super::bits::{integer_width, nulls, values};
use super::moments::{Moments, add_pairs, has_moments};
use super::number::{Number, largest, smallest};
use super::runs::{Runs, Spans};
use super::values::GroupValues;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema};
use std::ops::Range;

/// A measure that is computed for each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The aggregate function.
    pub kind: MeasureKind,
    /// The column's position in the batches.
    pub column: usize,
}

/// The aggregate function of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureKind {
    /// The number of rows. The column is not read.
    CountRows,
    /// The number of values that are not NULL, for a column of any type.
    Count,
    /// The sum, exact for integers, and the number of values that are not NULL.
    Sum,
    /// The smallest value, in the total order of floating-point numbers.
    Min,
    /// The largest value, in the total order of floating-point numbers.
    Max,
    /// The moments of numbers, or of pairs of numbers: their means and deviations.
    Moments {
        /// The position of the column with the second number of each pair.
        with: Option<usize>,
    },
    /// All numbers that are not NULL.
    Values,
}

/// The results for a range of groups.
#[derive(Debug, Clone, Copy)]
pub enum Measured<'a> {
    /// Counts.
    Counts(&'a [u64]),
    /// Integers, and for each the number of values that are not NULL.
    Integers(&'a [i128], &'a [u64]),
    /// Floating-point numbers, and for each the number of values that are not NULL.
    Floats(&'a [f64], &'a [u64]),
    /// Moments, and for each the number of pairs without NULL.
    Moments(&'a [Moments], &'a [u64]),
    /// The numbers of each group, in no particular order.
    Values(&'a [Vec<f64>]),
}

/// The contribution of one chunk to a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ChunkMeasure {
    /// The number of rows, or of values that are not NULL.
    Count,
    Integer(i128),
    Float(f64),
}

/// The intermediate results of one measure for all groups.
#[derive(Debug, Clone)]
pub(super) struct MeasureState {
    kind: MeasureKind,
    /// The column's type. Not used if only counts are kept.
    data_type: DataType,
    wide: Accumulators,
    /// The number of values that are not NULL, by group; `None` if that is the number of rows, because there was no
    /// NULL yet. Rows are counted once for all measures.
    counts: Option<Vec<u64>>,
}

/// The sums, extremes or moments so far. No sum exceeds its type. A group without values has the value that leaves
/// others unchanged.
#[derive(Debug, Clone)]
enum Accumulators {
    None,
    Integers(Vec<i128>),
    Floats(Vec<f64>),
    /// The moments, and for each group the number of pairs without NULL.
    Moments {
        with: Option<usize>,
        moments: Vec<Moments>,
        counts: Vec<u64>,
    },
    Values(GroupValues),
}

impl MeasureState {
    /// Creates the state without groups. `None` if the measure cannot be computed for the column's type.
    pub(super) fn new(schema: &Schema, measure: &Measure) -> Option<Self> {
        let kind = measure.kind;
        if kind == MeasureKind::CountRows {
            return Some(Self { kind, data_type: DataType::Null, wide: Accumulators::None, counts: None });
        }
        let data_type = schema.fields().get(measure.column)?.data_type().clone();
        let wide = match (kind, &data_type) {
            (MeasureKind::Count, _) => Accumulators::None,
            (MeasureKind::Moments { with }, first) => {
                let is_number =
                    |column: usize| schema.fields().get(column).is_some_and(|it| has_moments(it.data_type()));
                if !has_moments(first) || !with.is_none_or(is_number) {
                    return None;
                }
                Accumulators::Moments { with, moments: Vec::new(), counts: Vec::new() }
            }
            (MeasureKind::Values, of) => has_moments(of).then(|| Accumulators::Values(GroupValues::default()))?,
            (_, DataType::Float32 | DataType::Float64) => Accumulators::Floats(Vec::new()),
            (_, integer) if integer.is_integer() => Accumulators::Integers(Vec::new()),
            (MeasureKind::Min | MeasureKind::Max, time) if integer_width(time).is_some() => {
                Accumulators::Integers(Vec::new())
            }
            _ => return None,
        };
        Some(Self { kind, data_type, wide, counts: None })
    }

    pub(super) fn resize(&mut self, group_count: usize) {
        if let Some(counts) = &mut self.counts {
            counts.resize(group_count, 0);
        }
        match &mut self.wide {
            Accumulators::None => {}
            Accumulators::Integers(wide) => wide.resize(group_count, neutral_integer(self.kind)),
            Accumulators::Floats(wide) => wide.resize(group_count, neutral_float(self.kind)),
            Accumulators::Moments { moments, counts, .. } => {
                moments.resize(group_count, Moments::default());
                counts.resize(group_count, 0);
            }
            Accumulators::Values(values) => values.resize(group_count),
        }
    }

    /// Moves the results of some groups to a new state.
    pub(super) fn take(&mut self, groups: &[u32]) -> Self {
        let wide = match &mut self.wide {
            Accumulators::None => Accumulators::None,
            Accumulators::Integers(wide) => Accumulators::Integers(of_groups(wide, groups)),
            Accumulators::Floats(wide) => Accumulators::Floats(of_groups(wide, groups)),
            Accumulators::Moments { with, moments, counts } => Accumulators::Moments {
                with: *with,
                moments: of_groups(moments, groups),
                counts: of_groups(counts, groups),
            },
            Accumulators::Values(values) => Accumulators::Values(values.take(groups)),
        };
        let counts = self.counts.as_ref().map(|counts| of_groups(counts, groups));
        Self { kind: self.kind, data_type: self.data_type.clone(), wide, counts }
    }

    /// Removes all groups, and keeps the memory.
    pub(super) fn clear(&mut self) {
        match &mut self.wide {
            Accumulators::Values(values) => values.clear(),
            _ => self.resize(0),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let wide = match &self.wide {
            Accumulators::None => 0,
            Accumulators::Integers(wide) => wide.capacity() * size_of::<i128>(),
            Accumulators::Floats(wide) => wide.capacity() * size_of::<f64>(),
            Accumulators::Moments { moments, counts, .. } => {
                moments.capacity() * size_of::<Moments>() + counts.capacity() * size_of::<u64>()
            }
            Accumulators::Values(values) => values.memory_bytes(),
        };
        wide + self.counts.as_ref().map_or(0, |counts| counts.capacity() * size_of::<u64>())
    }

    /// Adds the values of spans to their groups. `columns` are those of the batch, and `column` is the measure's.
    /// `row_counts` has the number of earlier rows of each group.
    pub(super) fn add(
        &mut self,
        columns: &[ArrayRef],
        column: usize,
        spans: Spans<'_>,
        groups: &[u32],
        row_counts: &[u64],
    ) {
        let kind = self.kind;
        let Some(column) = columns.get(column).filter(|_| kind != MeasureKind::CountRows) else { return };
        match &mut self.wide {
            Accumulators::Moments { with, moments, counts } => {
                return add_pairs(column, with.map(|with| &columns[with]), spans, groups, moments, counts);
            }
            Accumulators::Values(values) => return values.add(column, spans, groups),
            Accumulators::None | Accumulators::Integers(_) | Accumulators::Floats(_) => {}
        }
        if nulls(column).is_some() {
            self.ensure_counts(row_counts);
        }
        if let Some(counts) = &mut self.counts {
            count_values(column, spans, groups, counts);
        }
        match (&mut self.wide, &self.data_type) {
            (Accumulators::None | Accumulators::Moments { .. } | Accumulators::Values(_), _) => {}
            (Accumulators::Integers(wide), DataType::Int8) => add_values::<i8>(kind, column, spans, groups, wide),
            (Accumulators::Integers(wide), DataType::Int16) => add_values::<i16>(kind, column, spans, groups, wide),
            (Accumulators::Integers(wide), DataType::UInt8) => add_values::<u8>(kind, column, spans, groups, wide),
            (Accumulators::Integers(wide), DataType::UInt16) => add_values::<u16>(kind, column, spans, groups, wide),
            (Accumulators::Integers(wide), DataType::UInt32) => add_values::<u32>(kind, column, spans, groups, wide),
            (Accumulators::Integers(wide), DataType::UInt64) => add_values::<u64>(kind, column, spans, groups, wide),
            (Accumulators::Integers(wide), DataType::Int32 | DataType::Date32) => {
                add_values::<i32>(kind, column, spans, groups, wide)
            }
            (Accumulators::Integers(wide), _) => add_values::<i64>(kind, column, spans, groups, wide),
            (Accumulators::Floats(wide), DataType::Float32) => add_values::<f32>(kind, column, spans, groups, wide),
            (Accumulators::Floats(wide), _) => add_values::<f64>(kind, column, spans, groups, wide),
        }
    }

    /// Returns whether the contribution of a chunk has the type of the values that are kept.
    pub(super) fn takes(&self, part: ChunkMeasure) -> bool {
        match part {
            ChunkMeasure::Count => true,
            ChunkMeasure::Integer(_) => matches!(self.wide, Accumulators::Integers(_)),
            ChunkMeasure::Float(_) => matches!(self.wide, Accumulators::Floats(_)),
        }
    }

    /// Counts the values from now on, after rows that all had one.
    fn ensure_counts(&mut self, row_counts: &[u64]) {
        self.counts.get_or_insert_with(|| row_counts.to_vec());
    }

    /// Adds the statistics of a chunk to a group: of its rows, `count` have a value. `row_counts` has the number of
    /// earlier rows of each group.
    pub(super) fn add_part(&mut self, group: u32, part: ChunkMeasure, count: u64, row_count: u64, row_counts: &[u64]) {
        let (kind, at) = (self.kind, group as usize);
        if count != row_count {
            self.ensure_counts(row_counts);
        }
        if let Some(counts) = &mut self.counts {
            counts[at] += count;
        }
        match (&mut self.wide, part) {
            (Accumulators::Integers(wide), ChunkMeasure::Integer(part)) => {
                wide[at] = combine::<i64>(kind, wide[at], part);
            }
            (Accumulators::Floats(wide), ChunkMeasure::Float(part)) => {
                wide[at] = combine::<f64>(kind, wide[at], part);
            }
            _ => {}
        }
    }

    /// Adds the groups of another state. `groups` has the own group for each of them. `row_counts` has the number of
    /// rows of each group of this state so far, and `other_row_counts` that of the other state.
    pub(super) fn merge(&mut self, from: &Self, groups: &[u32], row_counts: &[u64], other_row_counts: &[u64]) {
        if from.counts.is_some() {
            self.ensure_counts(row_counts);
        }
        if let Some(counts) = &mut self.counts {
            add_counts(counts, from.counts.as_deref().unwrap_or(other_row_counts), groups);
        }
        match (&mut self.wide, &from.wide) {
            (Accumulators::Integers(wide), Accumulators::Integers(other)) => {
                merge_values::<i64>(self.kind, wide, other, groups);
            }
            (Accumulators::Floats(wide), Accumulators::Floats(other)) => {
                merge_values::<f64>(self.kind, wide, other, groups);
            }
            (Accumulators::Values(values), Accumulators::Values(other)) => values.merge(other, groups),
            (
                Accumulators::Moments { moments, counts, .. },
                Accumulators::Moments { moments: other, counts: other_counts, .. },
            ) => {
                for ((part, count), group) in other.iter().zip(other_counts).zip(groups) {
                    if *count > 0 {
                        moments[*group as usize].merge(counts[*group as usize], part, *count);
                    }
                }
                add_counts(counts, other_counts, groups);
            }
            _ => {}
        }
    }

    /// The results for some groups. `row_counts` has the number of rows of each group.
    pub(super) fn measured<'a>(&'a self, groups: Range<usize>, row_counts: &'a [u64]) -> Measured<'a> {
        let counts = &self.counts.as_deref().unwrap_or(row_counts)[groups.clone()];
        match &self.wide {
            Accumulators::None => Measured::Counts(counts),
            Accumulators::Integers(wide) => Measured::Integers(&wide[groups], counts),
            Accumulators::Floats(wide) => Measured::Floats(&wide[groups], counts),
            Accumulators::Moments { moments, counts, .. } => {
                Measured::Moments(&moments[groups.clone()], &counts[groups])
            }
            Accumulators::Values(values) => Measured::Values(&values.groups()[groups]),
        }
    }
}

/// The values of some groups.
pub(super) fn of_groups<T: Copy>(values: &[T], groups: &[u32]) -> Vec<T> {
    groups.iter().map(|group| values[*group as usize]).collect()
}

/// The integer that leaves others unchanged.
fn neutral_integer(kind: MeasureKind) -> i128 {
    match kind {
        MeasureKind::Min => i128::MAX,
        MeasureKind::Max => i128::MIN,
        _ => 0,
    }
}

/// The number that leaves others unchanged: the last or the first one in their total order, or the zero to which a -0.0
/// can be added.
fn neutral_float(kind: MeasureKind) -> f64 {
    match kind {
        MeasureKind::Min => f64::from_bits(u64::MAX >> 1),
        MeasureKind::Max => f64::from_bits(u64::MAX),
        _ => -0.0,
    }
}

fn combine<T: Number>(kind: MeasureKind, a: T::Wide, b: T::Wide) -> T::Wide {
    match kind {
        MeasureKind::Min => {
            if T::is_wide_below(b, a) {
                b
            } else {
                a
            }
        }
        MeasureKind::Max => {
            if T::is_wide_below(a, b) {
                b
            } else {
                a
            }
        }
        _ => a + b,
    }
}

/// Adds numbers of rows, or of values, to those of their groups.
pub(super) fn add_counts(counts: &mut [u64], other: &[u64], groups: &[u32]) {
    for (count, group) in other.iter().zip(groups) {
        counts[*group as usize] += count;
    }
}

/// Counts the rows of each group.
pub(super) fn count_rows(spans: Spans<'_>, groups: &[u32], counts: &mut [u64]) {
    match spans {
        Spans::Rows => groups.iter().for_each(|group| counts[*group as usize] += 1),
        Spans::Runs(runs) => {
            for (rows, group) in runs.ranges().zip(groups) {
                counts[*group as usize] += rows.len() as u64;
            }
        }
    }
}

/// Counts values that are not NULL.
fn count_values(column: &ArrayRef, spans: Spans<'_>, groups: &[u32], counts: &mut [u64]) {
    let Some(nulls) = nulls(column) else { return count_rows(spans, groups, counts) };
    match spans {
        Spans::Rows => {
            for (group, is_valid) in groups.iter().zip(nulls) {
                counts[*group as usize] += u64::from(is_valid);
            }
        }
        Spans::Runs(runs) => {
            for (rows, group) in runs.ranges().zip(groups) {
                let length = rows.len();
                counts[*group as usize] += (length - nulls.slice(rows.start, length).null_count()) as u64;
            }
        }
    }
}

fn add_values<T: Number>(kind: MeasureKind, column: &ArrayRef, spans: Spans<'_>, groups: &[u32], wide: &mut [T::Wide]) {
    match (spans, kind) {
        (Spans::Runs(runs), MeasureKind::Min) => add_runs(kind, column, runs, groups, wide, smallest::<T>),
        (Spans::Runs(runs), MeasureKind::Max) => add_runs(kind, column, runs, groups, wide, largest::<T>),
        (Spans::Runs(runs), _) => add_runs(kind, column, runs, groups, wide, T::sum),
        (Spans::Rows, MeasureKind::Min | MeasureKind::Max) => {
            add_rows::<T>(column, groups, wide, |wide, values, groups| {
                for (group, value) in groups.iter().zip(values) {
                    let extreme = &mut wide[*group as usize];
                    *extreme = combine::<T>(kind, *extreme, value.widen());
                }
            })
        }
        (Spans::Rows, _) => add_rows::<T>(column, groups, wide, T::add_each),
    }
}

/// Adds the value of each row to the row's group, by a function of values and of their groups.
fn add_rows<T: Number>(
    column: &ArrayRef,
    groups: &[u32],
    wide: &mut [T::Wide],
    add: impl Fn(&mut [T::Wide], &[T], &[u32]),
) {
    let values = values::<T>(column);
    match nulls(column) {
        None => add(wide, &values, groups),
        Some(nulls) => {
            for (start, end) in nulls.valid_slices() {
                add(wide, &values[start..end], &groups[start..end]);
            }
        }
    }
}

fn add_runs<T: Number>(
    kind: MeasureKind,
    column: &ArrayRef,
    runs: &Runs,
    groups: &[u32],
    wide: &mut [T::Wide],
    fold: impl Fn(&[T]) -> T::Wide,
) {
    let values = values::<T>(column);
    let mut add = |group: u32, values: &[T]| {
        let wide = &mut wide[group as usize];
        let part = if values.len() == 1 { values[0].widen() } else { fold(values) };
        *wide = combine::<T>(kind, *wide, part);
    };
    match nulls(column) {
        None => runs.ranges().zip(groups).for_each(|(rows, group)| add(*group, &values[rows])),
        Some(nulls) => {
            for (rows, group) in runs.ranges().zip(groups) {
                for (start, end) in nulls.slice(rows.start, rows.len()).valid_slices() {
                    add(*group, &values[rows.start + start..rows.start + end]);
                }
            }
        }
    }
}

fn merge_values<T: Number>(kind: MeasureKind, wide: &mut [T::Wide], other: &[T::Wide], groups: &[u32]) {
    for (part, group) in other.iter().zip(groups) {
        let at = *group as usize;
        wide[at] = combine::<T>(kind, wide[at], *part);
    }
}
