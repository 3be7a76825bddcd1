//! A table of two columns, and helpers that read and change it.

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, StringArray};
use arrow::datatypes::{DataType, Int32Type};
use atsdb_core::{ColumnType, ConflictPolicy, InMemory, Result, TableDefinition, TableId, Unique};
use atsdb_resident::{BatchDrafts, HashSeed, ResidentTables, RowKeys, TableDraft, TableState};
use std::sync::Arc;

pub(crate) type Row = (Option<i32>, Option<String>);

pub(crate) const ID: TableId = TableId(7);

/// `c1 INT, c2 TEXT` with an index over `c1` and one over both columns, and with a key over `c2` if `with_key`.
pub(crate) fn definition(with_key: bool) -> TableDefinition {
    let mut definition =
        TableDefinition::new("t").with_column("c1", ColumnType::Int32, None).with_column("c2", ColumnType::Text, None);
    definition.memory = Some(InMemory::default());
    let ids: Vec<_> = definition.columns.iter().map(|column| column.id).collect();
    if with_key {
        definition.unique.push(Unique::new(vec![ids[1]]));
    }
    for columns in [vec![ids[0]], ids] {
        let (id, name) = (definition.next_index_id(), format!("i{}", columns.len()));
        definition.indexes_given += 1;
        definition.indexes.push(atsdb_core::Index { id, name, columns });
    }
    definition
}

pub(crate) fn types() -> Vec<DataType> {
    vec![DataType::Int32, DataType::Utf8]
}

pub(crate) fn residents() -> ResidentTables {
    ResidentTables::new(HashSeed::new(*b"a seed of tests!"), 2)
}

pub(crate) fn draft<'a>(
    drafts: &'a mut BatchDrafts,
    residents: &ResidentTables,
    with_key: bool,
    bytes_max: usize,
) -> &'a mut TableDraft {
    let base = || {
        let known = residents.snapshot().get(ID);
        Ok(known.unwrap_or_else(|| residents.empty(&definition(with_key), types())))
    };
    drafts.table(ID, bytes_max, base).unwrap()
}

pub(crate) fn columns(rows: &[Row]) -> Vec<ArrayRef> {
    let c1: Int32Array = rows.iter().map(|row| row.0).collect();
    let c2: StringArray = rows.iter().map(|row| row.1.clone()).collect();
    vec![Arc::new(c1), Arc::new(c2)]
}

pub(crate) fn append(residents: &ResidentTables, with_key: bool, rows: &[Row], policy: ConflictPolicy) -> Result<()> {
    let mut drafts = BatchDrafts::default();
    draft(&mut drafts, residents, with_key, usize::MAX).append(columns(rows), rows.len(), policy)?;
    drafts.commit(residents, || Ok(()), |_| true)
}

pub(crate) fn state(residents: &ResidentTables, with_key: bool) -> Arc<TableState> {
    residents.snapshot().get(ID).unwrap_or_else(|| residents.empty(&definition(with_key), types()))
}

pub(crate) fn rows_of(columns: &[ArrayRef]) -> Vec<Row> {
    let (c1, c2) = (columns[0].as_primitive::<Int32Type>(), columns[1].as_string::<i32>());
    (0..c1.len())
        .map(|row| (c1.is_valid(row).then(|| c1.value(row)), c2.is_valid(row).then(|| c2.value(row).to_owned())))
        .collect()
}

/// All rows with their positions, sorted.
pub(crate) fn all(state: &TableState) -> Vec<(Row, (u32, u32))> {
    let mut found = Vec::new();
    for (part, rows) in state.row_ranges(1) {
        let (columns, numbers) = state.read(part, rows, &[0, 1]).unwrap();
        let places = numbers.values().iter().map(|number| (part as u32, *number));
        found.extend(rows_of(&columns).into_iter().zip(places));
    }
    found.sort();
    found
}

/// Returns the rows that an index finds for some keys, sorted, each with the position of its key.
pub(crate) fn found(state: &TableState, name: &str, keys: &[ArrayRef]) -> Vec<(u32, Row)> {
    let index = state.indexes().iter().position(|index| index.name == name).unwrap();
    let found = state.find(index, &RowKeys::new(keys).unwrap());
    assert!(found.probes.is_sorted());
    let rows = rows_of(&state.gather(&found, &[0, 1]).unwrap());
    let mut pairs: Vec<(u32, Row)> = found.probes.into_iter().zip(rows).collect();
    pairs.sort();
    pairs
}
