//! Rows that are read by their locations are those that a whole read returns there.

use crate::support::{Row, append, engines, readings, row, rows_of};
use arrow::array::UInt32Array;
use atsdb_core::TimeRange;
use atsdb_engine::{Comparison, LocatedRows, Predicate, ScanRequest, Value};

/// The number of strings of the 32-bit map; more than the rows that are read, so that only those in use are returned.
const SENSORS: i64 = 700;

fn rows() -> Vec<Row> {
    let with_nulls = |number: i64| {
        let time = (number - 3_000) * 5_000;
        let full = row(time, &format!("s{}", number % SENSORS), &format!("t{}", number % 5), number as i32);
        match number % 4 {
            0 => (full.0, None, full.2, full.3),
            1 => (full.0, full.1, None, full.3),
            2 => (full.0, full.1, full.2, None),
            _ => full,
        }
    };
    (0..6_000).map(with_nulls).collect()
}

#[test]
fn rows_come_in_any_order_and_as_often_as_requested() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        append(&engine, &table, &rows()[..4_000]);
        append(&engine, &table, &rows()[4_000..]);
        for sealed in [false, true] {
            if sealed {
                engine.recompress(None).unwrap();
            }
            let request = ScanRequest { use_cache: true, ..ScanRequest::all(&table) };
            let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
            let chunks: Vec<Vec<Row>> =
                (0..scan.chunks().len()).map(|chunk| rows_of(scan.read(chunk).unwrap().map(Ok)).unwrap()).collect();
            assert!(chunks.len() > 1);
            let last = chunks.len() - 1;
            let end = |chunk: usize| chunks[chunk].len() as u32 - 1;
            let wanted = [(last, vec![end(last), 0, end(last)]), (0, vec![end(0), 0])];
            let parts: Vec<LocatedRows> = wanted
                .iter()
                .map(|(chunk, numbers)| scan.read_located(*chunk, &UInt32Array::from(numbers.clone())).unwrap())
                .collect();
            assert!(parts.iter().all(|part| part.memory_bytes() > 0));
            let places = [(1, 0), (0, 2), (0, 1), (1, 1), (0, 0), (1, 0)];
            let combined = rows_of([scan.combine_located(&parts, &places)]).unwrap();
            let expected: Vec<Row> = places
                .iter()
                .map(|(part, at)| chunks[wanted[*part].0][wanted[*part].1[*at] as usize].clone())
                .collect();
            assert_eq!(combined, expected);
        }
    }
}

#[test]
fn some_columns_find_rows_and_all_columns_complete_them() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        append(&engine, &table, &rows());
        let request = ScanRequest {
            range: TimeRange::from(1_000..12_000_000),
            predicates: vec![Predicate::new(3, Comparison::Greater, Value::Int(3_000))],
            use_cache: true,
            ..ScanRequest::all(&table)
        };
        let whole = engine.snapshot().unwrap().scan(&table, &request).unwrap();
        let counts = whole.with_columns(&[3]).unwrap();
        assert_eq!(counts.schema().fields().len(), 1);
        assert_eq!(counts.chunks().len(), whole.chunks().len());
        let mut completed = Vec::new();
        for chunk in 0..whole.chunks().len() {
            let Some((found, numbers)) = counts.read_numbered(chunk).unwrap() else { continue };
            assert_eq!((found.num_columns(), found.num_rows()), (1, numbers.len()));
            let part = whole.read_located(chunk, &numbers).unwrap();
            completed.push(whole.rows_of_chunk(&part));
        }
        let expected = rows_of((0..whole.chunks().len()).filter_map(|chunk| whole.read(chunk).transpose())).unwrap();
        assert!(!expected.is_empty());
        assert_eq!(rows_of(completed).unwrap(), expected);
        assert!(whole.with_columns(&[4]).is_err(), "the scan has four columns");
        assert!(whole.read_located(0, &UInt32Array::from(vec![u32::MAX])).is_err(), "no chunk is that long");
    }
}
