//! Any batch comes back bit for bit, fresh, half sealed and sealed, on every store.

use crate::support::{engines, read_all};
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int64Array, RecordBatch, StringArray, TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::compute::concat_batches;
use atsdb_core::{ColumnType, MapWidth, Table, TableDefinition, TimeUnit};
use atsdb_engine::{Engine, ScanRequest};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::sync::Arc;

/// A row with one value of each type.
type Everything = (
    i64,
    (Option<bool>, Option<i8>, Option<i16>, Option<i64>, Option<u8>, Option<u16>, Option<u32>, Option<u64>),
    (Option<u32>, Option<u64>, Option<String>, Option<Vec<u8>>, Option<i64>, Option<i32>, Option<String>),
);

fn definition() -> TableDefinition {
    let columns = [
        ColumnType::Bool,
        ColumnType::Int8,
        ColumnType::Int16,
        ColumnType::Int64,
        ColumnType::UInt8,
        ColumnType::UInt16,
        ColumnType::UInt32,
        ColumnType::UInt64,
        ColumnType::Float32,
        ColumnType::Float64,
        ColumnType::Text,
        ColumnType::Binary,
        ColumnType::Timestamp(TimeUnit::Nanosecond),
        ColumnType::Date,
    ];
    let mut definition = TableDefinition::new("t").with_column("time", ColumnType::Int64, None);
    for column_type in columns {
        definition = definition.with_column(column_type.name(), column_type, None);
    }
    definition.with_column("mapped", ColumnType::Text, Some(MapWidth::U16)).with_time("time", TimeUnit::Second).unwrap()
}

fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -200_000..200_000_i64, 1 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("a\0b".to_owned()), "[a-c]{1,3}", any::<String>()]
}

fn any_row() -> impl Strategy<Value = Everything> {
    let numbers =
        any::<(Option<bool>, Option<i8>, Option<i16>, Option<i64>, Option<u8>, Option<u16>, Option<u32>, Option<u64>)>(
        );
    let others = (
        any::<Option<u32>>(),
        any::<Option<u64>>(),
        proptest::option::of(any_text()),
        any::<Option<Vec<u8>>>(),
        any::<Option<i64>>(),
        any::<Option<i32>>(),
        proptest::option::of(any_text()),
    );
    (any_time(), numbers, others)
}

fn to_batch(rows: &[Everything]) -> RecordBatch {
    macro_rules! column {
        ($array:ident, $($path:tt).+) => {
            Arc::new(rows.iter().map(|row| row.$($path).+.clone()).collect::<$array>()) as ArrayRef
        };
    }
    let float32 = rows.iter().map(|row| row.2.0.map(f32::from_bits)).collect::<Float32Array>();
    let float64 = rows.iter().map(|row| row.2.1.map(f64::from_bits)).collect::<Float64Array>();
    let stamps = rows.iter().map(|row| row.2.4).collect::<TimestampNanosecondArray>().with_timezone("UTC");
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(row.0)).collect::<Int64Array>()),
        column!(BooleanArray, 1.0),
        column!(Int8Array, 1.1),
        column!(Int16Array, 1.2),
        column!(Int64Array, 1.3),
        column!(UInt8Array, 1.4),
        column!(UInt16Array, 1.5),
        column!(UInt32Array, 1.6),
        column!(UInt64Array, 1.7),
        Arc::new(float32),
        Arc::new(float64),
        column!(StringArray, 2.2),
        Arc::new(rows.iter().map(|row| row.2.3.as_deref()).collect::<BinaryArray>()),
        Arc::new(stamps),
        column!(Date32Array, 2.5),
        column!(StringArray, 2.6),
    ];
    let definition = definition();
    let names = definition.columns.iter().map(|column| (column.name.clone(), column.nullable));
    RecordBatch::try_from_iter_with_nullable(names.zip(columns).map(|((name, null), array)| (name, array, null)))
        .unwrap()
}

/// Returns every row as text that shows each bit, sorted.
fn fingerprint(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let bits = |array: &ArrayRef| {
                use arrow::array::AsArray;
                use arrow::datatypes::{DataType, Float32Type, Float64Type};
                match array.data_type() {
                    _ if array.is_null(row) => "NULL".to_owned(),
                    DataType::Float32 => format!("{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits()),
                    DataType::Float64 => format!("{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits()),
                    DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
                    DataType::Binary => format!("{:?}", array.as_binary::<i32>().value(row)),
                    DataType::Timestamp(..) => {
                        let times = arrow::compute::cast(array, &DataType::Int64).unwrap();
                        times.as_primitive::<arrow::datatypes::Int64Type>().value(row).to_string()
                    }
                    DataType::Date32 => array.as_primitive::<arrow::datatypes::Date32Type>().value(row).to_string(),
                    DataType::Dictionary(..) => {
                        let texts = arrow::compute::cast(array, &DataType::Utf8).unwrap();
                        format!("{:?}", texts.as_string::<i32>().value(row))
                    }
                    _ => arrow::util::display::array_value_to_string(array, row).unwrap(),
                }
            };
            rows.push(batch.columns().iter().map(bits).collect::<Vec<_>>().join("|"));
        }
    }
    rows.sort();
    rows
}

fn read(engine: &Engine, table: &Table) -> Vec<RecordBatch> {
    let scan = engine.snapshot().unwrap().scan(table, &ScanRequest::all(table)).unwrap();
    scan.batches().collect::<Result<_, _>>().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_batch_comes_back_bit_for_bit(
        early in proptest::collection::vec(any_row(), 1..120),
        late in proptest::collection::vec(any_row(), 1..60),
    ) {
        let (_folder, engines) = engines();
        for engine in engines {
            let table = engine.create_table(&definition()).unwrap();
            let mut sent = Vec::new();
            for rows in [&early, &late] {
                let rows = to_batch(rows);
                let mut batch = engine.batch(None);
                batch.append(&table, &rows).unwrap();
                batch.commit().unwrap();
                sent.push(rows);
                prop_assert_eq!(fingerprint(&read(&engine, &table)), fingerprint(&sent), "fresh beside sealed");
                engine.recompress(Some(&table)).unwrap();
                prop_assert_eq!(fingerprint(&read(&engine, &table)), fingerprint(&sent), "sealed");
            }
            let report = engine.verify(None).unwrap();
            prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}

#[test]
fn sealing_sorts_by_series_and_time_within_a_slice() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition = crate::support::readings();
        definition.key = vec![definition.column("sensor").unwrap().id];
        let table = engine.create_table(&definition).unwrap();
        for round in 0..3 {
            let rows: Vec<_> = (0..500)
                .map(|row| crate::support::row(1_000 - row * 2 + round, ["a", "b"][row as usize % 2], "ok", 0))
                .collect();
            crate::support::append(&engine, &table, &rows);
        }
        engine.recompress(None).unwrap();
        let batches = read(&engine, &table);
        let all = concat_batches(&batches[0].schema(), &batches).unwrap();
        let rows = crate::support::rows_of([Ok(all)]).unwrap();
        let order: Vec<_> = rows.iter().map(|row| (row.1.clone(), row.0)).collect();
        assert!(order.is_sorted(), "rows of a series stand together, in order of time");
        assert_eq!(rows.len(), read_all(&engine, &table).unwrap().len());
        let stats = &engine.stats(None).unwrap()[0];
        assert_eq!((stats.fresh_chunks, stats.chunks), (0, 1));
    }
}
