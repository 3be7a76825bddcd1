//! A rewritten chunk has the requested changes and no others.

use crate::support::{Row, append, engines, read_all, readings, row, rows_of, sorted};
use arrow::array::{Array, AsArray, BooleanArray, Int32Array, RecordBatch};
use arrow::datatypes::Int32Type;
use atsdb_core::{Change, Column, ColumnId, ColumnType, ErrorKind, Index, NewChunk, Table, TimeRange, Value};
use atsdb_engine::{Comparison, Engine, Predicate, Rewrite, Scan, ScanRequest};
use std::sync::Arc;

const COUNT: usize = 3;
const ROWS: i64 = 3_000;

fn rows() -> Vec<Row> {
    (0..ROWS).map(|number| row(number * 7 % ROWS, &format!("s{}", number % 9), "ok", number as i32)).collect()
}

fn indexed() -> atsdb_core::TableDefinition {
    let mut definition = readings();
    let index = |number: u16, columns: &[u16]| Index {
        id: ColumnId(0x8000 + number),
        name: format!("i{number}"),
        columns: columns.iter().map(|id| ColumnId(*id)).collect(),
    };
    definition.indexes = vec![index(0, &[3]), index(1, &[1])];
    definition
}

fn scan_all(engine: &Engine, table: &Table) -> Scan {
    engine.snapshot().unwrap().scan(table, &ScanRequest::all(table)).unwrap()
}

fn swap(engine: &Engine, table: &Table, scan: &Scan, new: Option<NewChunk>) {
    let remove = scan.chunks().iter().map(|chunk| (table.id, chunk.entry.id)).collect();
    let change = Change { add: new.into_iter().collect(), remove, ..Change::default() };
    engine.store().commit(&[change], 0).unwrap().remove(0).unwrap();
}

fn page_bytes(engine: &Engine, table: &Table, column: u16) -> Vec<u8> {
    let snapshot = engine.store().snapshot().unwrap();
    let entry = snapshot.chunks(table.id, TimeRange::ALL).unwrap().remove(0);
    snapshot.read_pages(entry.id, &[ColumnId(column)]).unwrap().remove(0)
}

#[test]
fn a_column_is_set_and_the_others_are_taken_over() {
    let (_folder, engines) = engines();
    for engine in engines {
        for sealed in [false, true] {
            let mut definition = indexed();
            definition.name = format!("readings_{sealed}");
            let table = engine.create_table(&definition).unwrap();
            append(&engine, &table, &rows());
            if sealed {
                engine.recompress(Some(&table)).unwrap();
            }
            let scan = scan_all(&engine, &table);
            let old = scan.read_stored(0, &[COUNT]).unwrap().remove(0);
            let new = Arc::new(old.as_primitive::<Int32Type>().unary::<_, Int32Type>(|count| count + 1_000_000));
            let before: Vec<Vec<u8>> = (0..4).map(|column| page_bytes(&engine, &table, column)).collect();
            let chunk = scan.rewrite(0, &Rewrite { keep: None, set: vec![(COUNT, new)] }).unwrap().unwrap();
            assert!(!chunk.descriptor.sealed && chunk.descriptor.uid != scan.chunks()[0].descriptor.uid);
            swap(&engine, &table, &scan, Some(chunk));
            for (column, before) in before.iter().enumerate().take(3) {
                let after = page_bytes(&engine, &table, column as u16);
                assert!(after[20..] == before[20..] && after[12..20] != before[12..20], "only the checksum changes");
            }
            let wanted: Vec<Row> =
                rows().into_iter().map(|row| (row.0, row.1, row.2, row.3.map(|count| count + 1_000_000))).collect();
            assert_eq!(read_all(&engine, &table).unwrap(), sorted(&wanted));
            let report = engine.verify(Some(&table)).unwrap();
            assert!(report.findings.is_empty() && report.pages == 6, "{report:?}");
            let asked = |count: i64| {
                let predicates = vec![Predicate::new(COUNT, Comparison::Equal, Value::Int(count))];
                let request = ScanRequest { predicates, ..ScanRequest::all(&table) };
                engine.snapshot().unwrap().scan(&table, &request).unwrap().chunks().len()
            };
            assert_eq!((asked(1_000_017), asked(17)), (1, 0));
        }
    }
}

#[test]
fn deleted_rows_are_removed_and_times_and_filters_follow() {
    let (_folder, engines) = engines();
    for engine in engines {
        for sealed in [false, true] {
            let mut definition = indexed();
            definition.name = format!("readings_{sealed}");
            let table = engine.create_table(&definition).unwrap();
            append(&engine, &table, &rows());
            if sealed {
                engine.recompress(Some(&table)).unwrap();
            }
            let predicates = vec![Predicate::new(0, Comparison::GreaterOrEqual, Value::Int(100))];
            let scan = engine
                .snapshot()
                .unwrap()
                .scan(&table, &ScanRequest { predicates, range: TimeRange::from(..2_000), ..ScanRequest::all(&table) })
                .unwrap();
            let (matching, numbers) = scan.read_numbered(0).unwrap().unwrap();
            assert_eq!(matching.num_rows(), numbers.len());
            let mut keep = vec![false; ROWS as usize];
            numbers.values().iter().for_each(|number| keep[*number as usize] = true);
            let minus = Arc::new(Int32Array::from(vec![-5; ROWS as usize]));
            let rewrite = Rewrite { keep: Some(BooleanArray::from(keep)), set: vec![(COUNT, minus)] };
            let chunk = scan.rewrite(0, &rewrite).unwrap().unwrap();
            assert_eq!((chunk.descriptor.time_min, chunk.descriptor.time_max), (100, 1_999));
            assert_eq!(chunk.descriptor.row_count as usize, numbers.len());
            swap(&engine, &table, &scan, Some(chunk));
            let wanted: Vec<Row> = rows()
                .into_iter()
                .filter(|row| (100..2_000).contains(&row.0))
                .map(|row| (row.0, row.1, row.2, Some(-5)))
                .collect();
            assert_eq!(read_all(&engine, &table).unwrap(), sorted(&wanted));
            assert_eq!(rows_of([Ok(matching)]).unwrap().len(), wanted.len());
            let report = engine.verify(Some(&table)).unwrap();
            assert!(report.findings.is_empty() && report.pages == 6, "{report:?}");
            let scan = scan_all(&engine, &table);
            let none = Rewrite { keep: Some(BooleanArray::from(vec![false; wanted.len()])), set: vec![] };
            assert!(scan.rewrite(0, &none).unwrap().is_none());
        }
    }
}

#[test]
fn values_of_some_rows_are_replaced_and_the_others_stay() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let mut rows = rows();
        rows[5].3 = None;
        append(&engine, &table, &rows);
        for (predicate, is_hit) in [
            (Predicate::new(COUNT, Comparison::Less, Value::Int(100)), (|count| count < 100) as fn(i32) -> bool),
            (Predicate::new(COUNT, Comparison::NotEqual, Value::Int(-1)), |_| true),
        ] {
            let request = ScanRequest { predicates: vec![predicate], ..ScanRequest::all(&table) };
            let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
            let (found, numbers) = scan.read_numbered(0).unwrap().unwrap();
            let counts = found.column(COUNT).as_primitive::<Int32Type>();
            let values = counts.unary::<_, Int32Type>(|count| -count);
            let replaced = scan.replaced(0, COUNT, &numbers, &(Arc::new(values) as _)).unwrap();
            let wanted: Int32Array =
                rows.iter().map(|row| row.3.map(|count| if is_hit(count) { -count } else { count })).collect();
            assert_eq!(replaced.as_primitive::<Int32Type>(), &wanted);
            assert!(scan.replaced(0, COUNT, &numbers.slice(0, 3), found.column(COUNT)).is_err());
            let beyond = arrow::array::UInt32Array::from(vec![ROWS as u32]);
            assert!(scan.replaced(0, COUNT, &beyond, &found.column(COUNT).slice(0, 1)).is_err());
        }
    }
}

#[test]
fn a_column_that_the_chunk_is_older_than_stays_missing_until_it_is_set() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut table = engine.create_table(&readings()).unwrap();
        append(&engine, &table, &rows());
        let extra = Column { missing: Some(Value::Int(8)), ..Column::new(ColumnId(4), "extra", ColumnType::Int16) };
        table.definition.columns.push(extra);
        let scan = scan_all(&engine, &table);
        let keep: BooleanArray = (0..ROWS).map(|row| Some(row % 2 == 0)).collect();
        let chunk = scan.rewrite(0, &Rewrite { keep: Some(keep), set: vec![] }).unwrap().unwrap();
        assert_eq!(chunk.descriptor.pages.len(), 4);
        let extra = scan.read_stored(0, &[4]).unwrap().remove(0);
        assert_eq!(extra.len(), ROWS as usize);
        let chunk = scan.rewrite(0, &Rewrite { keep: None, set: vec![(4, extra)] }).unwrap().unwrap();
        assert_eq!(chunk.descriptor.pages.len(), 5);
        swap(&engine, &table, &scan, Some(chunk));
        let batches: Vec<RecordBatch> = scan_all(&engine, &table).batches().map(Result::unwrap).collect();
        assert!(
            batches[0].column(4).as_primitive::<arrow::datatypes::Int16Type>().iter().all(|value| value == Some(8))
        );
    }
}

#[test]
fn impossible_rewrites_are_refused() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        append(&engine, &table, &rows());
        let scan = scan_all(&engine, &table);
        let rows = ROWS as usize;
        let time = scan.read_stored(0, &[0]).unwrap().remove(0);
        let counts = |rows: usize| Arc::new(Int32Array::from(vec![1; rows])) as Arc<dyn Array>;
        let unknown: BooleanArray = (0..ROWS).map(|row| (row > 0).then_some(true)).collect();
        let refused = [
            Rewrite { keep: Some(BooleanArray::from(vec![true])), set: vec![] },
            Rewrite { keep: Some(unknown), set: vec![] },
            Rewrite { keep: None, set: vec![(0, time)] },
            Rewrite { keep: None, set: vec![(COUNT, counts(1))] },
            Rewrite { keep: None, set: vec![(1, counts(rows))] },
            Rewrite { keep: None, set: vec![(9, counts(rows))] },
        ];
        for rewrite in refused {
            assert_eq!(scan.rewrite(0, &rewrite).unwrap_err().kind(), ErrorKind::Internal);
        }
        assert!(scan.rewrite(7, &Rewrite::default()).is_err() && scan.read_numbered(7).is_err());
    }
}
