//! Columns that were added after the rows, and columns that were widened.

use crate::support::{append, engines, readings, redefine_in_store, row};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Int64Type};
use atsdb_core::{Bound, Column, ColumnId, ColumnType, MapWidth, Table, TableDefinition, Value};
use atsdb_engine::{Comparison, Engine, Predicate, ScanRequest};

fn add(
    definition: TableDefinition,
    column_type: ColumnType,
    map: Option<MapWidth>,
    missing: Option<Value>,
) -> TableDefinition {
    let name = format!("extra{}", definition.columns.len());
    let mut definition = definition.with_column(name, column_type, map);
    definition.columns.last_mut().unwrap().missing = missing;
    definition
}

fn read(engine: &Engine, table: &Table, predicates: Vec<Predicate>) -> RecordBatch {
    for use_cache in [false, true, true] {
        let request = ScanRequest { predicates: predicates.clone(), use_cache, ..ScanRequest::all(table) };
        let scan = engine.snapshot().unwrap().scan(table, &request).unwrap();
        let schema = scan.schema();
        let batches: Vec<RecordBatch> = scan.batches().map(Result::unwrap).collect();
        if use_cache {
            return concat_batches(&schema, &batches).unwrap();
        }
    }
    unreachable!("the cache was asked")
}

fn texts(array: &ArrayRef) -> Vec<Option<String>> {
    let texts = arrow::compute::cast(array, &DataType::Utf8).unwrap();
    texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn older_rows_have_what_the_column_says_fresh_and_merged() {
    let (_folder, engines) = engines();
    for engine in engines {
        let old = engine.create_table(&readings()).unwrap();
        let rows: Vec<_> = (0..500).map(|number| row(number, &format!("s{number}"), "ok", number as i32)).collect();
        append(&engine, &old, &rows);
        // s1 has index 1 in the dictionary of the added column. The writer that adds the column enters its text.
        let mut definition = add(old.definition.clone(), ColumnType::Int16, None, Some(Value::Int(-8)));
        definition = add(definition, ColumnType::Float32, None, Some(Value::Float(0.1)));
        definition = add(definition, ColumnType::Text, None, Some(Value::Text("x".repeat(50))));
        definition = add(definition, ColumnType::Text, Some(MapWidth::U16), Some(Value::UInt(1)));
        definition = add(definition, ColumnType::Bool, None, None);
        let table = redefine_in_store(&engine, &old, definition);
        engine.store().map_values(table.id, ColumnId(7), 65_536, &[b"zero", b"one"]).unwrap();
        append(&engine, &old, &rows[..3]);
        for sealed in [false, true] {
            if sealed {
                engine.recompress(None).unwrap();
            }
            let found = read(&engine, &table, vec![]);
            assert_eq!(found.num_rows(), 503);
            let integers = arrow::compute::cast(found.column(4), &DataType::Int64).unwrap();
            assert!(integers.as_primitive::<Int64Type>().iter().all(|value| value == Some(-8)));
            assert_eq!(found.column(5).as_primitive::<arrow::datatypes::Float32Type>().value(502), 0.1);
            assert!(texts(found.column(6)).iter().all(|text| *text == Some("x".repeat(50))));
            assert!(texts(found.column(7)).iter().all(|text| text.as_deref() == Some("one")));
            assert_eq!(found.column(8).null_count(), 503);

            let chunks = |predicate: Predicate| {
                let request = ScanRequest { predicates: vec![predicate.clone()], ..ScanRequest::all(&table) };
                let chunks = engine.snapshot().unwrap().scan(&table, &request).unwrap().chunks().len();
                let rows = read(&engine, &table, vec![predicate]).num_rows();
                assert!(rows == if chunks > 0 { 503 } else { 0 });
                chunks > 0
            };
            let equal = |column, value| Predicate::new(column, Comparison::Equal, value);
            assert!(chunks(equal(4, Value::Int(-8))) && !chunks(equal(4, Value::Int(8))));
            assert!(chunks(equal(6, Value::Text("x".repeat(50)))) && !chunks(equal(6, Value::Text("y".into()))));
            assert!(chunks(equal(7, Value::Text("one".into()))) && !chunks(equal(7, Value::Text("zero".into()))));
            let null = |column| Predicate { column, operator: Comparison::IsNull, values: vec![] };
            assert!(chunks(null(8)) && !chunks(null(4)) && !chunks(null(7)));
            let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
            assert_eq!(scan.column_bounds(4), Some((Some(Bound::Int(-8)), Some(Bound::Int(-8)), 0)));
            assert_eq!(scan.column_bounds(8), Some((None, None, 503)));
            let report = engine.verify(None).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
        let stats = engine.stats(None).unwrap().remove(0);
        assert!(stats.columns[4].bytes > 0, "a merged chunk writes them out");
    }
}

#[test]
fn a_wider_column_reads_what_was_written_narrow() {
    let (_folder, engines) = engines();
    for engine in engines {
        let narrow =
            readings().with_column("small", ColumnType::UInt8, None).with_column("float", ColumnType::Float32, None);
        let old = engine.create_table(&narrow).unwrap();
        let rows: Vec<_> =
            (0..500).map(|number| row(number * 200, &format!("s{number}"), "ok", number as i32 - 250)).collect();
        append(&engine, &old, &rows);
        read(&engine, &old, vec![]);
        let widen = |column: &mut Column| match column.name.as_str() {
            "count" => column.column_type = ColumnType::Int64,
            "status" => column.map = Some(MapWidth::U32),
            "small" => column.column_type = ColumnType::UInt32,
            "float" => column.column_type = ColumnType::Float64,
            _ => {}
        };
        let mut definition = old.definition.clone();
        definition.columns.iter_mut().for_each(widen);
        let table = redefine_in_store(&engine, &old, definition);
        let wide = row(7, "wide", "new", 0);
        append(&engine, &table, &[wide]);
        // Appends with the old definition, as a batch does that began before the change.
        append(&engine, &old, &rows[..2]);
        for sealed in [false, true] {
            if sealed {
                engine.recompress(None).unwrap();
            }
            let found = read(&engine, &table, vec![Predicate::new(3, Comparison::Less, Value::Int(-248))]);
            assert_eq!((found.num_rows(), found.column(3).data_type()), (4, &DataType::Int64));
            assert_eq!(found.column(5).data_type(), &DataType::Float64);
            let all = read(&engine, &table, vec![]);
            let sum = arrow::compute::sum(all.column(3).as_primitive::<Int64Type>());
            assert_eq!(
                (all.num_rows(), sum),
                (503, Some((0..500).map(|number| number - 250).sum::<i64>() - 250 - 249))
            );
            assert_eq!(texts(all.column(2)).iter().filter(|text| text.as_deref() == Some("new")).count(), 1);
            let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
            assert_eq!(scan.column_bounds(3), Some((Some(Bound::Int(-250)), Some(Bound::Int(249)), 0)));
            let report = engine.verify(None).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}
