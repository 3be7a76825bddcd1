//! Collecting facts from columns of typed values, as far as the time, the maps and the slices depend on them.

use crate::batches::rows::checked_cast;
use crate::facts::distinct::hash;
use crate::facts::{Facts, kind};
use crate::infer::time_column::suggests_time;
use crate::input::batch_reader::{damaged, read, reader};
use crate::input::source::ImportFile;
use crate::typed::columns::TypedColumn;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use arrow::error::ArrowError;
use atsdb_core::{ColumnType, Result, json_text};

/// Reads all values that are needed. Returns the number of rows. For a query, columns that cannot be the time are read
/// only as far as shows that.
pub(crate) fn observe(sources: &[ImportFile], found: &mut [TypedColumn], for_query: bool) -> Result<u64> {
    let mut row_count = 0;
    let mut may_matter = vec![true; found.len()];
    if for_query {
        for (number, source) in sources.iter().enumerate() {
            read_columns(source, number, found, &may_matter, true)?;
        }
        for (column, may_matter) in found.iter_mut().zip(&mut may_matter) {
            *may_matter = may_be_time(column);
            if *may_matter {
                column.merged.facts = Facts::new();
            }
        }
    }
    for (number, source) in sources.iter().enumerate() {
        row_count += read_columns(source, number, found, &may_matter, false)?;
    }
    // A query takes any text as JSON.
    for column in found.iter_mut().filter(|column| !for_query && column.not_json.is_some()) {
        column.column_type = ColumnType::Text;
    }
    Ok(row_count)
}

/// Returns whether more values of a column can make it the time.
fn may_be_time(column: &TypedColumn) -> bool {
    let is_text = column.merged.facts.kinds & kind::TEXT != 0;
    let is_number = column.merged.facts.kinds & !(kind::INT | kind::UINT) == 0;
    suggests_time(&column.merged.name) || !(is_text || is_number)
}

/// Observes the values of one source, or of its first batch. Returns the number of rows.
fn read_columns(
    source: &ImportFile,
    number: usize,
    found: &mut [TypedColumn],
    may_matter: &[bool],
    is_first_only: bool,
) -> Result<u64> {
    let mut row_count = 0;
    let is_wanted = |column: &TypedColumn| {
        // JSON is no time, and is read to the end or not at all.
        let is_json = column.column_type == ColumnType::Json;
        !(is_json && is_first_only
            || matches!(
                column.column_type,
                ColumnType::Bool | ColumnType::Float32 | ColumnType::Float64 | ColumnType::Binary
            ))
    };
    let mut wanted: Vec<(usize, usize)> = found
        .iter()
        .enumerate()
        .filter(|(index, column)| may_matter[*index] && is_wanted(column))
        .filter_map(|(index, column)| column.merged.positions[number].map(|position| (position, index)))
        .collect();
    wanted.sort_unstable();
    let positions: Vec<usize> = wanted.iter().map(|(position, _)| *position).collect();
    for batch in reader(source, Some(&positions))?.1 {
        let batch = batch?;
        row_count += batch.num_rows() as u64;
        for (array, (_, index)) in batch.columns().iter().zip(&wanted) {
            let column = &mut found[*index];
            let mut observed = || {
                if column.column_type == ColumnType::Json && column.not_json.is_none() {
                    column.not_json = first_not_json(array)?;
                }
                observe_array(array, column.column_type, &mut column.merged.facts)
            };
            read(source, || observed().map_err(|error| damaged(source, error)))?;
        }
        if is_first_only {
            break;
        }
    }
    Ok(row_count)
}

fn first_not_json(array: &ArrayRef) -> Result<Option<String>, ArrowError> {
    let texts = checked_cast(array, &DataType::Utf8)?;
    let first = texts.as_string::<i32>().iter().flatten().find(|text| json_text::check(text).is_err());
    Ok(first.map(str::to_owned))
}

fn observe_array(array: &ArrayRef, column_type: ColumnType, facts: &mut Facts) -> Result<(), ArrowError> {
    let valid_count = (array.len() - array.logical_null_count()) as u64;
    facts.value_count += valid_count;
    facts.null_count += array.logical_null_count() as u64;
    match column_type {
        ColumnType::Text => {
            let texts = checked_cast(array, &DataType::Utf8)?;
            for text in texts.as_string::<i32>().iter().flatten() {
                facts.distinct.add(hash(text.as_bytes()));
                facts.observe_string(text.as_bytes());
            }
        }
        // It is text if a value is not JSON.
        ColumnType::Json => {
            for text in checked_cast(array, &DataType::Utf8)?.as_string::<i32>().iter().flatten() {
                facts.distinct.add(hash(text.as_bytes()));
            }
        }
        ColumnType::Timestamp(_) | ColumnType::Date => {
            facts.kinds |= if column_type == ColumnType::Date { kind::DATE } else { kind::STAMP };
            facts.time_count += valid_count;
        }
        ColumnType::UInt64 => {
            facts.kinds |= kind::INT;
            facts.number_count += valid_count;
            for value in checked_cast(array, &DataType::UInt64)?.as_primitive::<UInt64Type>().iter().flatten() {
                match i64::try_from(value) {
                    Ok(value) => facts.observe_int(value),
                    // No time in any unit.
                    Err(_) => facts.kinds |= kind::UINT,
                }
            }
        }
        // Decimals, times of day and arrays are no times.
        ColumnType::Array(_) => {}
        rules if rules.stored() != rules => {}
        _ => {
            facts.kinds |= kind::INT;
            facts.number_count += valid_count;
            for value in checked_cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().iter().flatten() {
                facts.observe_int(value);
            }
        }
    }
    Ok(())
}
