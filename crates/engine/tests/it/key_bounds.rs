//! Keys and the bounds of chunks: which chunks need not be read for a new row, by batches and by an index of keys.

use crate::support::engines;
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampSecondArray, UInt32Array, UInt64Array,
};
use arrow::compute::take;
use arrow::datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimestampSecondType, UInt64Type};
use atsdb_core::{ColumnType, ErrorKind, Result, Table, TableDefinition, TimeUnit, Unique};
use atsdb_engine::{Engine, KeyValue};
use std::sync::Arc;

/// Creates a plain table whose only column is its key.
fn create(engine: &Engine, name: &str, column_type: ColumnType, nulls_equal: bool) -> Table {
    let mut definition = TableDefinition::new(name).with_column("x", column_type, None);
    definition.unique = vec![Unique { nulls_equal, ..Unique::new(vec![definition.columns[0].id]) }];
    engine.create_table(&definition).unwrap()
}

/// Adds rows as one chunk.
fn add(engine: &Engine, table: &Table, values: ArrayRef) -> Result<()> {
    let mut batch = engine.batch(None);
    batch.append(table, &RecordBatch::try_from_iter([("x", values)]).unwrap())?;
    batch.commit().map(drop)
}

fn add_numbers(engine: &Engine, table: &Table, numbers: &[Option<i64>]) -> Result<()> {
    add(engine, table, Arc::new(Int64Array::from(numbers.to_vec())))
}

/// Returns whether the rows of the table lack a key, for an index that is made just now.
fn is_new(engine: &Engine, table: &Table, value: KeyValue<'_>) -> bool {
    let mut batch = engine.batch(None);
    batch.key_index(table).unwrap().add(|_| value).unwrap()
}

fn key_value(values: &ArrayRef, row: usize) -> KeyValue<'_> {
    match values.data_type() {
        DataType::Int64 => KeyValue::Int(values.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => KeyValue::UInt(values.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => KeyValue::Float(values.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => KeyValue::Int(values.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp(..) => KeyValue::Int(values.as_primitive::<TimestampSecondType>().value(row)),
        DataType::Utf8 => KeyValue::Bytes(values.as_string::<i32>().value(row).as_bytes()),
        _ => KeyValue::Bytes(values.as_binary::<i32>().value(row)),
    }
}

#[test]
fn a_key_at_an_end_of_a_chunk_is_found_in_every_type() {
    let bytes: [&[u8]; 5] = [b"", b"\x00", b"\x00\x01", b"\xff", b"\xff\x00"];
    // Five values of each type, in ascending order.
    let types: [(&str, ColumnType, ArrayRef); 7] = [
        ("integers", ColumnType::Int64, Arc::new(Int64Array::from(vec![i64::MIN, -1, 3, i64::MAX - 1, i64::MAX]))),
        ("unsigned", ColumnType::UInt64, Arc::new(UInt64Array::from(vec![0, 7, 1 << 63, u64::MAX - 1, u64::MAX]))),
        ("small", ColumnType::UInt64, Arc::new(UInt64Array::from(vec![0, 1, 2, 3, 4]))),
        ("floats", ColumnType::Float64, Arc::new(Float64Array::from(vec![-2.5, -0.5, 0.25, 3.0, f64::INFINITY]))),
        ("days", ColumnType::Date, Arc::new(Date32Array::from(vec![-9, -1, 0, 1, 30]))),
        ("texts", ColumnType::Text, Arc::new(StringArray::from(vec!["", "a", "ab", "b", "ba"]))),
        ("bytes", ColumnType::Binary, Arc::new(BinaryArray::from(bytes.to_vec()))),
    ];
    let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![-9, -1, 0, 1, 30]).with_timezone("UTC"));
    let types = types.into_iter().chain([("times", ColumnType::Timestamp(TimeUnit::Second), times)]);
    let (_folder, engines) = engines();
    for (name, column_type, values) in types {
        let of = |rows: &[u32]| take(&values, &UInt32Array::from(rows.to_vec()), None).unwrap();
        for engine in &engines {
            let table = create(engine, name, column_type, false);
            add(engine, &table, of(&[1, 3])).unwrap();
            for (row, is_there) in [(0, false), (1, true), (2, false), (3, true), (4, false)] {
                assert_eq!(is_new(engine, &table, key_value(&values, row as usize)), !is_there, "{name}, value {row}");
                let added = add(engine, &table, of(&[row]));
                let refused = added.err().map(|error| error.kind());
                assert_eq!(refused, is_there.then_some(ErrorKind::DuplicateKey), "{name}, value {row}");
            }
        }
    }
}

#[test]
fn a_key_of_a_chunk_that_reaches_over_later_ones_is_found() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = create(&engine, "t", ColumnType::Int64, false);
        for chunk in [&[0, 90, 100][..], &[10, 20], &[30, 40]] {
            add_numbers(&engine, &table, &chunk.iter().copied().map(Some).collect::<Vec<_>>()).unwrap();
        }
        for (key, expected) in
            [(90, false), (95, true), (101, true), (20, false), (30, false), (-1, true), (100, false)]
        {
            assert_eq!(is_new(&engine, &table, KeyValue::Int(key)), expected, "{key}");
        }
        // One after the other: the chunks that an earlier key has read are not read again.
        let mut batch = engine.batch(None);
        let mut index = batch.key_index(&table).unwrap();
        let keys =
            [(35, true), (90, false), (10, false), (15, true), (35, false), (15, false), (40, false), (0, false)];
        for (key, expected) in keys {
            assert_eq!(index.add(|_| KeyValue::Int(key)).unwrap(), expected, "{key}");
        }
        assert_eq!(add_numbers(&engine, &table, &[Some(90)]).unwrap_err().kind(), ErrorKind::DuplicateKey);
        add_numbers(&engine, &table, &[Some(95)]).unwrap();
    }
}

#[test]
fn nulls_that_are_equal_are_found_where_a_chunk_has_one() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = create(&engine, "t", ColumnType::Int64, true);
        add_numbers(&engine, &table, &[Some(1), Some(2)]).unwrap();
        assert!(is_new(&engine, &table, KeyValue::Null));
        add_numbers(&engine, &table, &[Some(7), None]).unwrap();
        assert!(!is_new(&engine, &table, KeyValue::Null));
        assert!(!is_new(&engine, &table, KeyValue::Int(7)) && is_new(&engine, &table, KeyValue::Int(0)));
        assert_eq!(add_numbers(&engine, &table, &[None]).unwrap_err().kind(), ErrorKind::DuplicateKey);
        // A chunk that has nothing but a NULL has no bounds.
        let alone = create(&engine, "alone", ColumnType::Int64, true);
        add_numbers(&engine, &alone, &[None]).unwrap();
        assert!(!is_new(&engine, &alone, KeyValue::Null) && is_new(&engine, &alone, KeyValue::Int(0)));
        assert_eq!(add_numbers(&engine, &alone, &[None]).unwrap_err().kind(), ErrorKind::DuplicateKey);
        // Where NULLs differ, any number of them is new.
        let differing = create(&engine, "differing", ColumnType::Int64, false);
        add_numbers(&engine, &differing, &[None, None]).unwrap();
        assert!(is_new(&engine, &differing, KeyValue::Null));
        add_numbers(&engine, &differing, &[None]).unwrap();
    }
}

#[test]
fn an_index_knows_zeros_and_nans_of_chunks_as_one_key() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = create(&engine, "t", ColumnType::Float64, false);
        add(&engine, &table, Arc::new(Float64Array::from(vec![0.0, f64::NAN]))).unwrap();
        add(&engine, &table, Arc::new(Float64Array::from(vec![5.0]))).unwrap();
        for (key, expected) in
            [(-0.0, false), (0.0, false), (f64::NAN, false), (-f64::NAN, false), (5.0, false), (4.0, true)]
        {
            assert_eq!(is_new(&engine, &table, KeyValue::Float(key)), expected, "{key}");
        }
    }
}
