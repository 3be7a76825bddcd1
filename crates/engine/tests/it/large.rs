//! Large sizes: each works or is refused on entry. Tests that take gigabytes or minutes run only if `ATSDB_TEST_LARGE`
//! is set.

use crate::support::{append, engine, read_all, readings, row};
use arrow::array::{
    ArrayRef, AsArray, BinaryArray, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int64Type};
use atsdb_core::limits::{
    CHUNK_ELEMENTS_MAX, CHUNK_ROWS_MAX, COLUMNS_MAX, DICTIONARY_BYTES_MAX, MISSING_BYTES_MAX, VALUE_BYTES_MAX,
};
use atsdb_core::{ColumnType, ElementType, ErrorKind, MapWidth, Result, Table, TableDefinition, Value};
use atsdb_engine::{Engine, Rewrite, ScanRequest, SystemEnvironment};
use atsdb_memory::MemoryStore;
use std::sync::Arc;

const MIB: usize = 1 << 20;

fn is_asked_for() -> bool {
    let is_asked_for = std::env::var_os("ATSDB_TEST_LARGE").is_some();
    if !is_asked_for {
        atsdb_testkit::skipped("ATSDB_TEST_LARGE is not set");
    }
    is_asked_for
}

fn memory() -> Engine {
    engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment)
}

fn put(engine: &Engine, table: &Table, columns: Vec<(&str, ArrayRef)>) -> Result<()> {
    let mut batch = engine.batch(None);
    batch.append(
        table,
        &RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
            .unwrap(),
    )?;
    batch.commit().map(drop)
}

/// A value that compresses well and contains its number.
fn value(number: u64, byte_count: usize) -> Vec<u8> {
    let mut value = vec![7_u8; byte_count];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value
}

/// Returns the numbers of all values, after checking that each value is as [`value`] made it.
fn numbers(engine: &Engine, table: &Table, byte_count: usize) -> Vec<u64> {
    let mut numbers = Vec::new();
    for rows in engine.snapshot().unwrap().scan(table, &ScanRequest::all(table)).unwrap().batches() {
        for found in rows.unwrap().column(0).as_binary::<i32>().iter().flatten() {
            let number = u64::from_le_bytes(found[..8].try_into().unwrap());
            assert_eq!((found.len(), found[8..].iter().all(|byte| *byte == 7)), (byte_count, true), "value {number}");
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    numbers
}

#[test]
fn more_text_than_an_array_can_hold_in_one_slice_is_sealed() {
    if !is_asked_for() {
        return;
    }
    let engine = memory();
    let table = engine.create_table(&TableDefinition::new("t").with_column("b", ColumnType::Binary, None)).unwrap();
    for first in (0..2_300).step_by(50) {
        let values: Vec<Vec<u8>> = (first..first + 50).map(|number| value(number, MIB)).collect();
        put(&engine, &table, vec![("b", Arc::new(BinaryArray::from_iter_values(&values)))]).unwrap();
    }
    let report = engine.recompress(None).unwrap();
    assert_eq!((report.rows, report.conflicts), (2_300, 0));
    assert_eq!(engine.stats(None).unwrap()[0].fresh_chunks, 0);
    assert_eq!(numbers(&engine, &table, MIB), (0..2_300).collect::<Vec<u64>>());
}

#[test]
fn a_dictionary_takes_no_more_than_readers_can_hold() {
    if !is_asked_for() {
        return;
    }
    let engine = memory();
    let definition = TableDefinition::new("t").with_column("s", ColumnType::Text, Some(MapWidth::U32));
    let table = engine.create_table(&definition).unwrap();
    let length = 250 * MIB;
    let add = |letter: u8| {
        let text = String::from_utf8(vec![letter; length]).unwrap();
        put(&engine, &table, vec![("s", Arc::new(StringArray::from(vec![text])) as ArrayRef)])
    };
    let room = DICTIONARY_BYTES_MAX as usize / length;
    for number in 0..9 {
        match add(b'a' + number as u8) {
            Ok(()) => assert!(number < room),
            Err(error) => {
                assert!(number >= room && error.kind() == ErrorKind::Limit, "{error}");
                assert!(error.to_string().contains("dictionary of column s is full"), "{error}");
            }
        }
    }
    // Strings that the dictionary has are still accepted.
    add(b'a').unwrap();
    let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
    assert_eq!(scan.row_count_max(), room as u64 + 1);
    engine.recompress(None).unwrap();
    assert!(engine.verify(None).unwrap().findings.is_empty());
}

#[test]
fn values_of_200_mb_are_appended_sealed_and_rewritten() {
    if !is_asked_for() {
        return;
    }
    let engine = memory();
    let table = engine.create_table(&TableDefinition::new("t").with_column("b", ColumnType::Binary, None)).unwrap();
    let length = 200_000_000;
    let values = [value(0, length), value(1, length), value(2, length)];
    put(&engine, &table, vec![("b", Arc::new(BinaryArray::from_iter_values(&values)))]).unwrap();
    assert_eq!(numbers(&engine, &table, length), [0, 1, 2]);
    engine.recompress(None).unwrap();
    assert_eq!(numbers(&engine, &table, length), [0, 1, 2]);
    let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
    let mut batch = engine.batch(None);
    for (position, chunk) in scan.chunks().iter().enumerate() {
        let set: ArrayRef = Arc::new(BinaryArray::from_iter_values([value(10 + position as u64, length)]));
        let successor = scan.rewrite(position, &Rewrite { keep: None, set: vec![(0, set)] }).unwrap();
        batch.replace(&table, chunk.entry.id, successor).unwrap();
    }
    batch.commit().unwrap();
    assert_eq!(numbers(&engine, &table, length), [10, 11, 12]);
    let beyond: ArrayRef = Arc::new(BinaryArray::from_iter_values([vec![7; VALUE_BYTES_MAX + 1]]));
    assert_eq!(put(&engine, &table, vec![("b", beyond)]).unwrap_err().kind(), ErrorKind::Limit);
    assert!(engine.verify(None).unwrap().findings.is_empty());
}

#[test]
fn a_table_of_the_most_columns_is_written_sealed_and_read() {
    let definition = |count: usize| {
        (0..count).fold(TableDefinition::new("t"), |definition, number| {
            definition.with_column(format!("c{number}"), ColumnType::Int64, None)
        })
    };
    let engine = memory();
    assert!(engine.create_table(&definition(COLUMNS_MAX + 1)).is_err());
    let table = engine.create_table(&definition(COLUMNS_MAX)).unwrap();
    for row in 0..3 {
        let names: Vec<String> = (0..COLUMNS_MAX).map(|number| format!("c{number}")).collect();
        let column = |number: usize| Arc::new(Int64Array::from(vec![row * 10_000 + number as i64])) as ArrayRef;
        let columns = names.iter().enumerate().map(|(number, name)| (name.as_str(), column(number))).collect();
        put(&engine, &table, columns).unwrap();
    }
    engine.recompress(None).unwrap();
    let mut found = Vec::new();
    for rows in engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap().batches() {
        let rows = rows.unwrap();
        let last = rows.column(COLUMNS_MAX - 1).as_primitive::<Int64Type>();
        found.extend((0..last.len()).map(|row| last.value(row)));
    }
    found.sort_unstable();
    assert_eq!(found, [999, 10_999, 20_999]);
    assert!(engine.verify(None).unwrap().findings.is_empty());
}

#[test]
fn very_many_chunks_of_a_slice_become_few() {
    let engine = memory();
    let table = engine.create_table(&readings()).unwrap();
    let count = if std::env::var_os("ATSDB_TEST_LARGE").is_some() { 50_000 } else { 3_000 };
    let rows: Vec<_> = (0..count).map(|n| row(i64::from(n), "a", "ok", n)).collect();
    for row in &rows {
        append(&engine, &table, std::slice::from_ref(row));
    }
    assert_eq!(engine.stats(None).unwrap()[0].fresh_chunks, count as u64);
    let report = engine.recompress(None).unwrap();
    assert_eq!((report.chunks_before, report.chunks_after, report.slices), (count as u64, 1, 1));
    assert_eq!(read_all(&engine, &table).unwrap(), rows);
}

#[test]
fn a_new_column_gives_older_rows_no_more_than_a_chunk_of_them_can_hold() {
    let engine = memory();
    let table = engine.create_table(&TableDefinition::new("t").with_column("n", ColumnType::Int64, None)).unwrap();
    put(&engine, &table, vec![("n", Arc::new(Int64Array::from_iter_values(0..CHUNK_ROWS_MAX as i64)))]).unwrap();
    let widened = |byte_count: usize| {
        let mut to = table.definition.clone().with_column("s", ColumnType::Text, None);
        to.columns[1].missing = Some(Value::Text("x".repeat(byte_count)));
        let mut batch = engine.batch(None);
        let table = batch.redefine(&table, to)?;
        batch.commit().map(|_| table)
    };
    assert_eq!(widened(MISSING_BYTES_MAX + 1).unwrap_err().kind(), ErrorKind::Limit);
    let table = widened(MISSING_BYTES_MAX).unwrap();
    let bytes = |engine: &Engine| {
        let request = ScanRequest { columns: vec![1], ..ScanRequest::all(&table) };
        let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
        let lengths = scan.batches().map(|rows| {
            let rows = rows.unwrap();
            rows.column(0).as_string::<i32>().iter().flatten().map(str::len).sum::<usize>()
        });
        lengths.sum::<usize>()
    };
    assert_eq!(bytes(&engine), CHUNK_ROWS_MAX * MISSING_BYTES_MAX);
    engine.recompress(None).unwrap();
    assert_eq!(bytes(&engine), CHUNK_ROWS_MAX * MISSING_BYTES_MAX);
}

#[test]
fn a_new_column_of_arrays_gives_older_rows_no_more_elements_than_a_chunk_of_them_can_hold() {
    let engine = memory();
    let table = engine.create_table(&TableDefinition::new("t").with_column("n", ColumnType::Int64, None)).unwrap();
    // Their text has only two letters for each element.
    let widened = |element_count: usize| {
        let mut to = table.definition.clone().with_column("a", ColumnType::Array(ElementType::Int64), None);
        to.columns[1].missing = Some(Value::Text(format!("{{{}}}", vec!["1"; element_count].join(","))));
        engine.batch(None).redefine(&table, to)
    };
    let error = widened(MISSING_BYTES_MAX / 8 + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains(&format!("{} bytes", MISSING_BYTES_MAX + 8)), "{error}");
    widened(MISSING_BYTES_MAX / 8).unwrap();
}

#[test]
fn chunks_of_arrays_are_cut_by_the_number_of_elements() {
    let engine = memory();
    let definition = TableDefinition::new("t").with_column("a", ColumnType::Array(ElementType::Bool), None);
    let table = engine.create_table(&definition).unwrap();
    // Two of these fill a chunk. By their bytes all of them would fit into one.
    let length = CHUNK_ELEMENTS_MAX / 2;
    let put_arrays = |count: usize| {
        let elements: ArrayRef = Arc::new(BooleanArray::new(BooleanBuffer::new_unset(count * length), None));
        let field = Arc::new(Field::new_list_field(DataType::Boolean, true));
        let arrays = ListArray::new(field, OffsetBuffer::from_lengths(vec![length; count]), elements, None);
        put(&engine, &table, vec![("a", Arc::new(arrays))]).unwrap();
        engine.stats(None).unwrap()[0].chunks
    };
    assert_eq!([put_arrays(4), put_arrays(1), put_arrays(1)], [2, 3, 4]);
    let report = engine.recompress(None).unwrap();
    assert_eq!((report.rows, report.chunks_before, report.chunks_after), (6, 4, 3));
    assert!(engine.verify(None).unwrap().findings.is_empty());
}

#[test]
fn a_rewritten_column_of_more_than_a_chunk_takes_is_refused() {
    let engine = memory();
    let table = engine.create_table(&TableDefinition::new("t").with_column("s", ColumnType::Text, None)).unwrap();
    let rows = 30_000;
    put(&engine, &table, vec![("s", Arc::new(StringArray::from(vec!["x"; rows])))]).unwrap();
    let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
    // First half of the rows, then all of them, get 24 KiB each.
    let long = "y".repeat(24 << 10);
    for (count, byte_count) in [(rows / 2, rows / 2 * (24 << 10) + rows / 2), (rows, rows * (24 << 10))] {
        let numbers = UInt32Array::from_iter_values(0..count as u32);
        let values: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(); count]));
        let rewritten = scan.replaced(0, 0, &numbers, &values).and_then(|values| {
            let set = vec![(0, values)];
            scan.rewrite(0, &Rewrite { keep: None, set })
        });
        let error = rewritten.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains(&format!("{byte_count} bytes of text")), "{error}");
        assert!(error.hint().unwrap().contains("insert them again"), "{error}");
    }
    // A change that fits succeeds.
    let numbers = UInt32Array::from_iter_values(0..100);
    let values: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(); 100]));
    assert_eq!(scan.replaced(0, 0, &numbers, &values).unwrap().len(), rows);
}
