//! Content hash: one number for the contents of a table, equal in all stores that hold the same rows.
//!
//! It depends neither on the order of rows, nor on chunks, nor on sealing, nor on the indices of strings in
//! dictionaries. Each row is hashed over its values in the order of the columns. The sum of the row hashes and the row
//! count are hashed with the columns' names and types. Of a rollup only the closed times count: all others are computed
//! from its source sooner or later.

use crate::read::scan::ScanRequest;
use crate::read::snapshot::ReadSnapshot;
use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, UInt64Type,
};
use atsdb_core::{Error, Result, Table, TimeRange};
use twox_hash::XxHash3_64;

/// The number of rows of a table in memory that are read at a time.
const RESIDENT_ROWS: usize = 131_072;

/// The content hash of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentHash {
    /// Its name.
    pub table: String,
    /// The number of rows hashed.
    pub rows: u64,
    /// The hash.
    pub hash: u64,
}

impl ReadSnapshot {
    /// The content hashes of one table, or of all tables, ordered by name.
    pub fn content_hashes(&self, table: Option<&Table>) -> Result<Vec<ContentHash>> {
        let wanted = self.tables().iter().filter(|other| table.is_none_or(|table| table.id == other.id));
        let mut hashes = wanted.map(|table| content_hash(self, table)).collect::<Result<Vec<_>>>()?;
        hashes.sort_by_key(|hash| hash.table.to_lowercase());
        Ok(hashes)
    }
}

impl ContentHash {
    /// One hash over several tables.
    pub fn of_all(hashes: &[Self]) -> u64 {
        hashes.iter().fold(0, |state, table| {
            let state = XxHash3_64::oneshot_with_seed(state, table.table.to_lowercase().as_bytes());
            XxHash3_64::oneshot_with_seed(state, &table.hash.to_le_bytes())
        })
    }
}

fn content_hash(snapshot: &ReadSnapshot, table: &Table) -> Result<ContentHash> {
    let definition = &table.definition;
    let mut sum = RowSum::default();
    if definition.is_in_memory() {
        let state = snapshot.resident(table)?;
        let positions: Vec<usize> = (0..definition.columns.len()).collect();
        for (part, rows) in state.row_ranges(RESIDENT_ROWS) {
            let (columns, numbers) = state.read(part, rows, &positions)?;
            sum.add(&columns, numbers.len())?;
        }
    } else if definition.view.is_none() {
        let range = match &definition.rollup {
            Some(rollup) => TimeRange { start: None, end: Some(rollup.state.closed_before.unwrap_or(i64::MIN)) },
            None => TimeRange::ALL,
        };
        let request = ScanRequest { range, ..ScanRequest::all(table) };
        let scan = snapshot.scan(table, &request)?;
        for position in 0..scan.chunks().len() {
            if let Some(rows) = scan.read(position)? {
                sum.add(rows.columns(), rows.num_rows())?;
            }
        }
    }
    let mut state = XxHash3_64::oneshot(definition.view.as_ref().map_or("", |view| &view.query).as_bytes());
    for column in &definition.columns {
        state = XxHash3_64::oneshot_with_seed(state, column.name.to_lowercase().as_bytes());
        state = XxHash3_64::oneshot_with_seed(state, column.column_type.to_string().as_bytes());
    }
    state = XxHash3_64::oneshot_with_seed(state, &sum.row_count.to_le_bytes());
    let hash = XxHash3_64::oneshot_with_seed(state, &sum.sum.to_le_bytes());
    Ok(ContentHash { table: definition.name.clone(), rows: sum.row_count, hash })
}

/// The sum of the hashes of rows.
#[derive(Default)]
struct RowSum {
    row_count: u64,
    sum: u128,
}

impl RowSum {
    /// Adds rows, given as columns of their logical types.
    fn add(&mut self, columns: &[ArrayRef], row_count: usize) -> Result<()> {
        let mut states = vec![0_u64; row_count];
        for array in columns {
            hash_column(&mut states, array)?;
        }
        self.row_count += row_count as u64;
        self.sum = states.into_iter().fold(self.sum, |sum, hash| sum.wrapping_add(hash.into()));
        Ok(())
    }
}

/// Extends each row's hash by its value in a column. The seed is the hash so far: a NULL is hashed as one byte 0 with
/// this seed, a value with the seed plus 1. `docs/format/content-hash.md` lists the bytes of each type.
fn hash_column(states: &mut [u64], array: &ArrayRef) -> Result<()> {
    let converted = |to: &DataType| cast(array, to);
    match array.data_type() {
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            mix(states, array, |row| array.value(row).as_bytes());
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            mix(states, array, |row| array.value(row));
        }
        DataType::Dictionary(..) => {
            let keys = array.as_any_dictionary();
            let values = keys.values().as_string_opt::<i32>().ok_or_else(|| unexpected(array))?;
            let numbers = atsdb_codec::dictionary_keys(keys);
            mix(states, array.as_ref(), |row| values.value(numbers[row]).as_bytes());
        }
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>();
            mix(states, array, |row| array.value(row).to_bits().to_le_bytes());
        }
        DataType::Float64 => {
            let array = array.as_primitive::<Float64Type>();
            mix(states, array, |row| array.value(row).to_bits().to_le_bytes());
        }
        DataType::UInt64 => {
            let array = array.as_primitive::<UInt64Type>();
            mix(states, array, |row| array.value(row).to_le_bytes());
        }
        DataType::Decimal128(..) => {
            let array = array.as_primitive::<Decimal128Type>();
            mix(states, array, |row| array.value(row).to_le_bytes());
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let array = array.as_primitive::<IntervalMonthDayNanoType>();
            mix(states, array, |row| {
                let IntervalMonthDayNano { months, days, nanoseconds } = array.value(row);
                [i64::from(months), i64::from(days), nanoseconds].map(i64::to_le_bytes).concat()
            });
        }
        DataType::List(_) => hash_lists(states, array.as_list())?,
        DataType::Date32 => {
            let days = cast(&converted(&DataType::Int32)?, &DataType::Int64)?;
            let days = days.as_primitive::<Int64Type>();
            mix(states, days, |row| days.value(row).to_le_bytes());
        }
        _ => {
            let numbers = converted(&DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            mix(states, numbers, |row| numbers.value(row).to_le_bytes());
        }
    }
    Ok(())
}

/// Extends each row's hash by a list: by the hashes of its elements, each hashed like the only column of a row.
fn hash_lists(states: &mut [u64], lists: &ListArray) -> Result<()> {
    let mut hashes = vec![0_u64; lists.values().len()];
    hash_column(&mut hashes, lists.values())?;
    let offsets = lists.value_offsets();
    mix(states, lists, |row| {
        let hashes = &hashes[offsets[row] as usize..offsets[row + 1] as usize];
        hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect::<Vec<u8>>()
    });
    Ok(())
}

fn unexpected(array: &ArrayRef) -> Error {
    Error::internal(format!("{} for a column", array.data_type()))
}

fn mix<V: AsRef<[u8]>>(states: &mut [u64], array: &dyn Array, value: impl Fn(usize) -> V) {
    for (row, state) in states.iter_mut().enumerate() {
        *state = match array.is_null(row) {
            true => XxHash3_64::oneshot_with_seed(*state, &[0]),
            false => XxHash3_64::oneshot_with_seed(state.wrapping_add(1), value(row).as_ref()),
        };
    }
}
