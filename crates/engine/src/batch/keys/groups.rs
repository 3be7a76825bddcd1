//! Groups rows by their key. Rows of a chunk can then look up the group that has their key.

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{Row, RowConverter, Rows, SortField};
use atsdb_core::Result;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The groups of some rows by one key.
pub(crate) struct Groups {
    converter: RowConverter,
    hasher: DefaultHashBuilder,
    rows: Rows,
    table: HashTable<u32>,
    /// The number of each row's group. `None` if the key has a NULL that equals no other key.
    of_row: Vec<Option<u32>>,
    /// The first row of each group.
    first: Vec<u32>,
    /// Whether a NULL equals another NULL.
    nulls_equal: bool,
}

impl Groups {
    /// Groups the rows of some batches, each given as the columns of the key.
    pub(crate) fn of(batches: &[Vec<ArrayRef>], nulls_equal: bool) -> Result<Self> {
        let types = batches.first().into_iter().flatten();
        let fields = types.map(|array| SortField::new(array.data_type().clone())).collect();
        let converter = RowConverter::new(fields)?;
        let mut rows = converter.empty_rows(0, 0);
        let mut has_null = Vec::new();
        for columns in batches {
            converter.append(&mut rows, &normal(columns))?;
            has_null.extend(nulls_of(columns));
        }
        let (hasher, table) = (DefaultHashBuilder::default(), HashTable::with_capacity(has_null.len()));
        let mut groups = Self { converter, hasher, rows, table, of_row: Vec::new(), first: Vec::new(), nulls_equal };
        for (row, has_null) in has_null.into_iter().enumerate() {
            let group = if has_null && !nulls_equal { None } else { Some(groups.add(row)) };
            groups.of_row.push(group);
        }
        Ok(groups)
    }

    fn add(&mut self, row: usize) -> u32 {
        let Self { hasher, rows, table, first, .. } = self;
        let key = rows.row(row);
        let hash = hasher.hash_one(key.as_ref());
        if let Some(group) = table.find(hash, |group| rows.row(first[*group as usize] as usize) == key) {
            return *group;
        }
        let group = first.len() as u32;
        first.push(row as u32);
        table.insert_unique(hash, group, |group| hasher.hash_one(rows.row(first[*group as usize] as usize).as_ref()));
        group
    }

    /// The group of a row.
    pub(crate) fn group(&self, row: usize) -> Option<u32> {
        self.of_row[row]
    }

    /// The number of groups.
    pub(crate) fn count(&self) -> usize {
        self.first.len()
    }

    /// The first row of a group.
    pub(crate) fn first_row(&self, group: u32) -> u32 {
        self.first[group as usize]
    }

    /// The first row of each group, if the rows are those of one batch, given as its columns.
    pub(crate) fn distinct(&self, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let first = UInt32Array::from(self.first.clone());
        columns.iter().map(|array| Ok(take(array, &first, None)?)).collect()
    }

    /// Returns the group that has the key of each of some other rows; `None` if no group has it.
    pub(crate) fn find(&self, columns: &[ArrayRef]) -> Result<Vec<Option<u32>>> {
        let rows = self.converter.convert_columns(&normal(columns))?;
        let find = |(row, has_null): (Row<'_>, bool)| {
            let same = |group: &u32| self.rows.row(self.first[*group as usize] as usize).as_ref() == row.as_ref();
            if has_null && !self.nulls_equal {
                None
            } else {
                self.table.find(self.hasher.hash_one(row.as_ref()), same).copied()
            }
        };
        Ok(rows.iter().zip(nulls_of(columns)).map(find).collect())
    }
}

/// Returns for each row whether a column of it is NULL.
pub(crate) fn nulls_of(columns: &[ArrayRef]) -> Vec<bool> {
    let mut any = vec![false; columns.first().map_or(0, |array| array.len())];
    for nulls in columns.iter().filter_map(|array| array.nulls()) {
        any.iter_mut().enumerate().for_each(|(row, any)| *any |= nulls.is_null(row));
    }
    any
}

/// The columns with values that are equal in SQL given the same bits: 0.0 equals -0.0 there, and all NaNs are equal.
pub(crate) fn normal(columns: &[ArrayRef]) -> Vec<ArrayRef> {
    let normal = |array: &ArrayRef| -> ArrayRef {
        match array.data_type() {
            DataType::Float32 => {
                let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
                Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
            }
            DataType::Float64 => {
                let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
                Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
            }
            _ => ArrayRef::clone(array),
        }
    };
    columns.iter().map(normal).collect()
}
