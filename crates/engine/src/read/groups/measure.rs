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
    /// Only a number of rows, or of values that are not NULL.
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
    /// For each group the number of rows, or of values that are not NULL.
    counts: Vec<u64>,
}

/// The sums, extremes or moments so far. No sum exceeds its type.
#[derive(Debug, Clone)]
enum Accumulators {
    None,
    Integers(Vec<i128>),
    Floats(Vec<f64>),
    Moments { with: Option<usize>, moments: Vec<Moments> },
    Values(GroupValues),
}

impl MeasureState {
    /// Creates the state without groups. `None` if the measure cannot be computed for the column's type.
    pub(super) fn new(schema: &Schema, measure: &Measure) -> Option<Self> {
        let kind = measure.kind;
        if kind == MeasureKind::CountRows {
            return Some(Self { kind, data_type: DataType::Null, wide: Accumulators::None, counts: Vec::new() });
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
                Accumulators::Moments { with, moments: Vec::new() }
            }
            (MeasureKind::Values, of) => has_moments(of).then(|| Accumulators::Values(GroupValues::default()))?,
            (_, DataType::Float32 | DataType::Float64) => Accumulators::Floats(Vec::new()),
            (_, integer) if integer.is_integer() => Accumulators::Integers(Vec::new()),
            (MeasureKind::Min | MeasureKind::Max, time) if integer_width(time).is_some() => {
                Accumulators::Integers(Vec::new())
            }
            _ => return None,
        };
        Some(Self { kind, data_type, wide, counts: Vec::new() })
    }

    pub(super) fn resize(&mut self, group_count: usize) {
        self.counts.resize(group_count, 0);
        match &mut self.wide {
            Accumulators::None => {}
            Accumulators::Integers(wide) => wide.resize(group_count, 0),
            Accumulators::Floats(wide) => wide.resize(group_count, 0.0),
            Accumulators::Moments { moments, .. } => moments.resize(group_count, Moments::default()),
            Accumulators::Values(values) => values.resize(group_count),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let wide = match &self.wide {
            Accumulators::None => 0,
            Accumulators::Integers(wide) => wide.capacity() * size_of::<i128>(),
            Accumulators::Floats(wide) => wide.capacity() * size_of::<f64>(),
            Accumulators::Moments { moments, .. } => moments.capacity() * size_of::<Moments>(),
            Accumulators::Values(values) => values.memory_bytes(),
        };
        wide + self.counts.capacity() * size_of::<u64>()
    }

    /// Adds the values of spans to their groups. `columns` are those of the batch, and `column` is the measure's.
    pub(super) fn add(&mut self, columns: &[ArrayRef], column: usize, spans: Spans<'_>, groups: &[u32]) {
        let (kind, counts) = (self.kind, &mut self.counts);
        let column = match columns.get(column).filter(|_| kind != MeasureKind::CountRows) {
            Some(column) => column,
            None => return count_rows(spans, groups, counts),
        };
        match (&mut self.wide, &self.data_type) {
            (Accumulators::None, _) => count_values(column, spans, groups, counts),
            (Accumulators::Moments { with, moments }, _) => {
                add_pairs(column, with.map(|with| &columns[with]), spans, groups, moments, counts);
            }
            (Accumulators::Values(values), _) => values.add(column, spans, groups, counts),
            (Accumulators::Integers(wide), DataType::Int8) => {
                add_values::<i8>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Integers(wide), DataType::Int16) => {
                add_values::<i16>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Integers(wide), DataType::UInt8) => {
                add_values::<u8>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Integers(wide), DataType::UInt16) => {
                add_values::<u16>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Integers(wide), DataType::UInt32) => {
                add_values::<u32>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Integers(wide), DataType::UInt64) => {
                add_values::<u64>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Integers(wide), DataType::Int32 | DataType::Date32) => {
                add_values::<i32>(kind, column, spans, groups, wide, counts);
            }
            (Accumulators::Integers(wide), _) => add_values::<i64>(kind, column, spans, groups, wide, counts),
            (Accumulators::Floats(wide), DataType::Float32) => {
                add_values::<f32>(kind, column, spans, groups, wide, counts)
            }
            (Accumulators::Floats(wide), _) => add_values::<f64>(kind, column, spans, groups, wide, counts),
        }
    }

    /// Whether the contribution of a chunk has the type of the values that are kept.
    pub(super) fn takes(&self, part: ChunkMeasure) -> bool {
        match part {
            ChunkMeasure::Count => true,
            ChunkMeasure::Integer(_) => matches!(self.wide, Accumulators::Integers(_)),
            ChunkMeasure::Float(_) => matches!(self.wide, Accumulators::Floats(_)),
        }
    }

    /// Adds the statistics of a chunk to a group.
    pub(super) fn add_part(&mut self, group: u32, part: ChunkMeasure, count: u64) {
        let (kind, at) = (self.kind, group as usize);
        let is_first = self.counts[at] == 0;
        match (&mut self.wide, part) {
            (Accumulators::Integers(wide), ChunkMeasure::Integer(part)) => {
                wide[at] = if is_first { part } else { combine::<i64>(kind, wide[at], part) };
            }
            (Accumulators::Floats(wide), ChunkMeasure::Float(part)) => {
                wide[at] = if is_first { part } else { combine::<f64>(kind, wide[at], part) };
            }
            _ => {}
        }
        self.counts[at] += count;
    }

    /// Adds the groups of another state. `groups` has the own group for each of them.
    pub(super) fn merge(&mut self, from: &Self, groups: &[u32]) {
        match (&mut self.wide, &from.wide) {
            (Accumulators::Integers(wide), Accumulators::Integers(other)) => {
                merge_values::<i64>(self.kind, wide, &self.counts, other, &from.counts, groups);
            }
            (Accumulators::Floats(wide), Accumulators::Floats(other)) => {
                merge_values::<f64>(self.kind, wide, &self.counts, other, &from.counts, groups);
            }
            (Accumulators::Values(values), Accumulators::Values(other)) => values.merge(other, groups),
            (Accumulators::Moments { moments, .. }, Accumulators::Moments { moments: other, .. }) => {
                for ((part, count), group) in other.iter().zip(&from.counts).zip(groups) {
                    if *count > 0 {
                        moments[*group as usize].merge(self.counts[*group as usize], part, *count);
                    }
                }
            }
            _ => {}
        }
        for (count, group) in from.counts.iter().zip(groups) {
            self.counts[*group as usize] += count;
        }
    }

    pub(super) fn measured(&self, groups: Range<usize>) -> Measured<'_> {
        let counts = &self.counts[groups.clone()];
        match &self.wide {
            Accumulators::None => Measured::Counts(counts),
            Accumulators::Integers(wide) => Measured::Integers(&wide[groups], counts),
            Accumulators::Floats(wide) => Measured::Floats(&wide[groups], counts),
            Accumulators::Moments { moments, .. } => Measured::Moments(&moments[groups], counts),
            Accumulators::Values(values) => Measured::Values(&values.groups()[groups]),
        }
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

fn count_rows(spans: Spans<'_>, groups: &[u32], counts: &mut [u64]) {
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

fn add_values<T: Number>(
    kind: MeasureKind,
    column: &ArrayRef,
    spans: Spans<'_>,
    groups: &[u32],
    wide: &mut [T::Wide],
    counts: &mut [u64],
) {
    match (spans, kind) {
        (Spans::Runs(runs), MeasureKind::Min) => add_runs(kind, column, runs, groups, wide, counts, smallest::<T>),
        (Spans::Runs(runs), MeasureKind::Max) => add_runs(kind, column, runs, groups, wide, counts, largest::<T>),
        (Spans::Runs(runs), _) => add_runs(kind, column, runs, groups, wide, counts, T::sum),
        (Spans::Rows, MeasureKind::Min) => {
            add_rows::<T>(
                column,
                groups,
                wide,
                counts,
                |least, value| {
                    if T::is_wide_below(value, least) { value } else { least }
                },
            )
        }
        (Spans::Rows, MeasureKind::Max) => {
            add_rows::<T>(
                column,
                groups,
                wide,
                counts,
                |most, value| {
                    if T::is_wide_below(most, value) { value } else { most }
                },
            )
        }
        (Spans::Rows, _) => add_rows::<T>(column, groups, wide, counts, |sum, value| sum + value),
    }
}

/// Adds the value of each row to the row's group.
fn add_rows<T: Number>(
    column: &ArrayRef,
    groups: &[u32],
    wide: &mut [T::Wide],
    counts: &mut [u64],
    combine: impl Fn(T::Wide, T::Wide) -> T::Wide,
) {
    let values = values::<T>(column);
    let mut add = |group: u32, value: T| {
        let (wide, count) = (&mut wide[group as usize], &mut counts[group as usize]);
        *wide = if *count == 0 { value.widen() } else { combine(*wide, value.widen()) };
        *count += 1;
    };
    match nulls(column) {
        None => groups.iter().zip(&*values).for_each(|(group, value)| add(*group, *value)),
        Some(nulls) => {
            for row in nulls.valid_indices() {
                add(groups[row], values[row]);
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
    counts: &mut [u64],
    fold: impl Fn(&[T]) -> T::Wide,
) {
    let values = values::<T>(column);
    let mut add = |group: u32, values: &[T]| {
        let (wide, count) = (&mut wide[group as usize], &mut counts[group as usize]);
        let part = if values.len() == 1 { values[0].widen() } else { fold(values) };
        *wide = if *count == 0 { part } else { combine::<T>(kind, *wide, part) };
        *count += values.len() as u64;
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

fn merge_values<T: Number>(
    kind: MeasureKind,
    wide: &mut [T::Wide],
    counts: &[u64],
    other: &[T::Wide],
    other_counts: &[u64],
    groups: &[u32],
) {
    for ((part, count), group) in other.iter().zip(other_counts).zip(groups) {
        let at = *group as usize;
        if *count > 0 {
            wide[at] = if counts[at] == 0 { *part } else { combine::<T>(kind, wide[at], *part) };
        }
    }
}
