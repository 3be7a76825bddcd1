//! The definitions of tables in histories, and their rows. The model and the world use the same functions.

use crate::subject::{Alteration, Cells, Policy, RowSelection, Shape, table_name};
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray, TimestampSecondArray};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use atsdb_core::{
    Check, Column, ColumnType, ConflictPolicy, InMemory, MapWidth, Retention, SliceWidth, TableDefinition, TimeUnit,
    Unique, Value,
};
use std::sync::Arc;

/// The beginning of time: 2024-03-04, a Monday.
pub(crate) const BEGINNING: i64 = 1_709_510_400;
/// The length of a time step in seconds.
const STEP: i64 = 1_800;

/// The contents of a column, which the first letter of its name determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Time,
    Sensor,
    Note,
    Count,
    Extra,
}

pub(crate) fn kind(column: &Column) -> ColumnKind {
    kind_of_name(&column.name)
}

pub(crate) fn kind_of_name(name: &str) -> ColumnKind {
    match name.as_bytes().first() {
        Some(b't') => ColumnKind::Time,
        Some(b's') => ColumnKind::Sensor,
        Some(b'n') => ColumnKind::Note,
        Some(b'c') => ColumnKind::Count,
        _ => ColumnKind::Extra,
    }
}

/// Returns a row's value in a column; for a time, in seconds.
pub(crate) fn value(cells: &Cells, column: &Column) -> Option<i64> {
    value_of(cells, kind(column))
}

pub(crate) fn value_of(cells: &Cells, kind: ColumnKind) -> Option<i64> {
    match kind {
        ColumnKind::Time => Some(seconds(cells.time)),
        ColumnKind::Sensor => cells.sensor,
        ColumnKind::Note => cells.note,
        ColumnKind::Count => cells.count,
        ColumnKind::Extra => cells.extra,
    }
}

pub(crate) fn seconds(steps: i64) -> i64 {
    BEGINNING + steps * STEP
}

pub(crate) fn policy_of(policy: Policy) -> ConflictPolicy {
    match policy {
        Policy::Error => ConflictPolicy::Error,
        Policy::Replace => ConflictPolicy::Replace,
        Policy::Keep => ConflictPolicy::Keep,
        Policy::Merge => ConflictPolicy::Merge,
    }
}

/// The condition of a CHECK constraint: a count is small, or another column differs from a value.
struct Condition {
    counts_below: i64,
    other: ColumnKind,
    differs_from: i64,
}

impl Condition {
    /// The condition of a table. An UPDATE changes notes, and no other column. Rows of a series may have expired, and
    /// those in memory differ between processes, so there an UPDATE must not depend on the condition.
    fn of(definition: &TableDefinition) -> Self {
        match definition.time.is_none() && !definition.is_in_memory() {
            true => Self { counts_below: 6, other: ColumnKind::Note, differs_from: 2 },
            false => Self { counts_below: 7, other: ColumnKind::Sensor, differs_from: 3 },
        }
    }
}

/// Returns whether a row violates the CHECK constraint of its table, if it has one. `cell` returns the row's values.
pub(crate) fn violates(definition: &TableDefinition, cell: impl Fn(ColumnKind) -> Option<i64>) -> bool {
    if definition.checks.is_empty() {
        return false;
    }
    // NULL satisfies a condition.
    let Condition { counts_below, other, differs_from } = Condition::of(definition);
    cell(ColumnKind::Count).is_some_and(|count| count >= counts_below) && cell(other) == Some(differs_from)
}

/// The CHECK constraint of a table.
fn check(definition: &TableDefinition) -> Check {
    let Condition { counts_below, other, differs_from } = Condition::of(definition);
    let column = |wanted: ColumnKind| definition.columns.iter().find(|column| kind(column) == wanted);
    let (count, other) = (column(ColumnKind::Count).expect("each table counts"), column(other).expect("a column"));
    let condition = format!("count < {counts_below} OR {} <> '{}'", other.name, text(differs_from));
    Check { name: "few".into(), condition, columns: vec![other.id, count.id], not_valid: false }
}

/// Returns the definition of a new table.
pub(crate) fn definition(table: usize, shape: Shape, policy: Policy, is_checked: bool) -> TableDefinition {
    let mut definition = TableDefinition::new(table_name(table));
    // Rows of a table with constraints cannot be merged.
    let policy = if is_checked && policy == Policy::Merge { Policy::Replace } else { policy };
    let is_in_memory = matches!(shape, Shape::Resident | Shape::ResidentCounted);
    let is_series = matches!(shape, Shape::Series | Shape::Keyed | Shape::Expiring);
    if is_series {
        definition = definition.with_column("time", ColumnType::Timestamp(TimeUnit::Second), None);
    }
    definition = definition
        .with_column("sensor", ColumnType::Text, (!is_in_memory).then_some(MapWidth::U8))
        .with_column("note", ColumnType::Text, None)
        .with_column("count", ColumnType::Int32, None);
    if is_series {
        definition = definition.with_time("time", TimeUnit::Second).expect("a timestamp can be the time");
        definition.slice = SliceWidth::Hour;
    }
    let key = match shape {
        Shape::Plain | Shape::Series | Shape::Resident => None,
        Shape::Counted | Shape::ResidentCounted => Some(vec!["count"]),
        Shape::Keyed | Shape::Expiring => Some(vec!["sensor", "time"]),
    };
    if let Some(key) = key {
        let columns = key.iter().map(|name| definition.column(name).expect("a column").id).collect();
        definition.unique = vec![Unique {
            primary: is_series,
            nulls_equal: !is_series && policy == Policy::Merge,
            ..Unique::new(columns)
        }];
        definition.on_conflict = policy_of(policy);
        if is_series {
            definition.columns[1].nullable = false;
        }
    }
    if is_in_memory {
        definition.memory = Some(InMemory::default());
    }
    if shape == Shape::Expiring {
        definition.retention = Some(Retention { count: 2, unit: SliceWidth::Day });
    }
    if is_checked {
        definition.checks = vec![check(&definition)];
    }
    definition
}

/// Returns the definition after an alteration, or `None` if it has no effect.
pub(crate) fn altered(from: &TableDefinition, alteration: Alteration) -> Option<TableDefinition> {
    let mut to = from.clone();
    match alteration {
        Alteration::AddColumn(missing) => {
            let count = from.columns.len();
            if count >= 6 {
                return None;
            }
            to = to.with_column(format!("x{count}"), ColumnType::Int32, None);
            to.columns.last_mut()?.missing = missing.map(Value::Int);
        }
        Alteration::DropColumn => {
            let last = from.columns.last().filter(|column| kind(column) == ColumnKind::Extra)?;
            to.indexes.retain(|index| !index.columns.contains(&last.id));
            to.columns.pop();
        }
        Alteration::RenameNote => {
            let note = to.columns.iter_mut().find(|column| kind(column) == ColumnKind::Note)?;
            note.name = if note.name == "note" { "named".into() } else { "note".into() };
            if !to.checks.is_empty() {
                to.checks = vec![check(&to)];
            }
        }
        Alteration::Rename(name) => to.name = table_name(name).into(),
        Alteration::Widen => {
            let sensor = to.columns.iter_mut().find(|column| kind(column) == ColumnKind::Sensor)?;
            sensor.map = match sensor.map? {
                MapWidth::U8 => Some(MapWidth::U16),
                _ => Some(MapWidth::U32),
            };
        }
        Alteration::Slice => {
            to.time?;
            to.slice = if from.slice == SliceWidth::Hour { SliceWidth::Day } else { SliceWidth::Hour };
        }
        Alteration::Retain(days) => {
            to.time?;
            to.retention = (days > 0).then_some(Retention { count: days, unit: SliceWidth::Day });
        }
        // If rows may have expired, it is unknown whether two rows have the same key. Rows in memory, whose sensors are
        // not mapped, differ between processes.
        Alteration::Key if from.time.is_some() || from.columns.iter().all(|column| column.map.is_none()) => {
            return None;
        }
        Alteration::Key if from.unique.is_empty() => {
            let count = to.columns.iter().find(|column| kind(column) == ColumnKind::Count)?.id;
            to.unique = vec![Unique::new(vec![count])];
        }
        Alteration::Key => (to.unique, to.on_conflict) = (Vec::new(), ConflictPolicy::Error),
    }
    (to != *from).then_some(to)
}

/// Returns the definition with an index over the counts, or without it if it exists.
pub(crate) fn indexed(from: &TableDefinition) -> TableDefinition {
    let mut to = from.clone();
    match to.indexes.is_empty() {
        true => {
            let count =
                to.columns.iter().find(|column| kind(column) == ColumnKind::Count).expect("each table counts").id;
            to.add_index(None, vec![count]);
        }
        false => to.indexes.clear(),
    }
    to
}

/// Returns an array of a column's values.
pub(crate) fn array(column: &Column, values: &[Option<i64>]) -> ArrayRef {
    match kind(column) {
        ColumnKind::Time => Arc::new(TimestampSecondArray::from(values.to_vec()).with_timezone("UTC")),
        ColumnKind::Sensor | ColumnKind::Note => {
            Arc::new(values.iter().map(|value| value.map(text)).collect::<StringArray>())
        }
        ColumnKind::Count | ColumnKind::Extra => {
            Arc::new(values.iter().map(|value| value.map(|value| value as i32)).collect::<Int32Array>())
        }
    }
}

/// Returns a number as text that differs from the number itself.
pub(crate) fn text(number: i64) -> String {
    format!("n{number}")
}

/// Returns rows as a batch of a table.
pub(crate) fn batch_of(definition: &TableDefinition, rows: &[Cells]) -> RecordBatch {
    let columns = definition.columns.iter().map(|column| {
        let values: Vec<Option<i64>> = rows.iter().map(|row| value(row, column)).collect();
        (column.name.clone(), array(column, &values), true)
    });
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}

/// Returns values that were read, row by row.
pub(crate) fn rows_of(columns: &[ArrayRef]) -> Vec<Vec<Option<i64>>> {
    let row_count = columns.first().map_or(0, |column| column.len());
    let columns: Vec<Vec<Option<i64>>> = columns.iter().map(numbers).collect();
    (0..row_count).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}

fn numbers(array: &ArrayRef) -> Vec<Option<i64>> {
    match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().iter().map(|value| value.map(i64::from)).collect(),
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().collect(),
        DataType::Timestamp(..) => {
            let cast = arrow::compute::cast(array, &DataType::Int64).expect("a time is a number");
            cast.as_primitive::<Int64Type>().iter().collect()
        }
        _ => {
            let cast = arrow::compute::cast(array, &DataType::Utf8).expect("text");
            let cast = cast.as_string::<i32>();
            // A text that this module did not generate has no number, and equals no other.
            let number =
                |row: usize| cast.value(row).strip_prefix('n').and_then(|rest| rest.parse().ok()).unwrap_or(-1);
            (0..cast.len()).map(|row| cast.is_valid(row).then(|| number(row))).collect()
        }
    }
}

/// Returns whether a row is selected.
pub(crate) fn is_meant(definition: &TableDefinition, row: &[Option<i64>], rows: RowSelection) -> bool {
    let cell = |wanted: ColumnKind| {
        let position = definition.columns.iter().position(|column| kind(column) == wanted);
        position.and_then(|position| row[position])
    };
    match rows {
        RowSelection::All => true,
        RowSelection::Before(time) if definition.time.is_some() => {
            cell(ColumnKind::Time).is_some_and(|cell| cell < seconds(time))
        }
        RowSelection::Before(count) => cell(ColumnKind::Count).is_some_and(|cell| cell < count),
        RowSelection::Sensor(sensor) => cell(ColumnKind::Sensor) == Some(sensor),
        RowSelection::Count(count) => cell(ColumnKind::Count) == Some(count),
        RowSelection::NoNote => cell(ColumnKind::Note).is_none(),
    }
}
