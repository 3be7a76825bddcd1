//! A table's slices become wider or narrower: every row is kept and lies in a slice of the new width.

use crate::support::{append, engines, read_all, readings, redefine_in_store, row, sorted};
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Int64Type};
use atsdb_core::{ColumnType, SliceWidth, Table, TableDefinition, Value};
use atsdb_engine::{Engine, ScanRequest};

const DAY: i64 = 86_400;

fn with_slice(engine: &Engine, table: &Table, slice: SliceWidth) -> Table {
    redefine_in_store(engine, table, TableDefinition { slice, ..table.definition.clone() })
}

#[test]
fn old_chunks_follow_the_width_when_they_are_sealed() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut table = engine.create_table(&readings()).unwrap();
        let mut rows: Vec<_> = (0..300).map(|day| row(day * DAY, &format!("s{}", day % 7), "ok", day as i32)).collect();
        append(&engine, &table, &rows);
        let widths = [SliceWidth::Month, SliceWidth::Week, SliceWidth::Year, SliceWidth::Hour, SliceWidth::Day];
        for (number, width) in widths.into_iter().enumerate() {
            table = with_slice(&engine, &table, width);
            // Appends rows to a slice that begins like an old one of another width.
            let more = [row(number as i64, "new", "ok", 1), row(5 * DAY + number as i64, "new", "late", 2)];
            append(&engine, &table, &more);
            rows.extend(more);
            engine.recompress(Some(&table)).unwrap();
            assert_eq!(read_all(&engine, &table).unwrap(), sorted(&rows), "{width}");
            let slices = engine.slices(&table).unwrap();
            let mut starts: Vec<i64> = rows.iter().map(|row| table.definition.slice_of(row.0).start).collect();
            starts.sort_unstable();
            starts.dedup();
            assert_eq!(slices.len(), starts.len(), "{width}");
            assert!(slices.iter().all(|slice| {
                let whole = table.definition.slice_of(slice.time_min);
                whole.contains(slice.time_max) && slice.fresh_chunks == 0 && slice.chunks == 1
            }));
            let report = engine.recompress(Some(&table)).unwrap();
            assert_eq!((report.slices, report.chunks_before), (0, 0), "{width}");
        }
    }
}

#[test]
fn rows_that_are_older_than_a_column_keep_its_value_in_other_slices() {
    let (_folder, engines) = engines();
    for engine in engines {
        let old = engine.create_table(&readings()).unwrap();
        let rows: Vec<_> = (0..90).map(|day| row(day * DAY, "a", "ok", day as i32)).collect();
        append(&engine, &old, &rows);
        let mut to = old.definition.clone().with_column("extra", ColumnType::Int16, None);
        to.columns[4].missing = Some(Value::Int(-8));
        let mut table = redefine_in_store(&engine, &old, to);
        // The chunks of a month are split into days.
        for width in [SliceWidth::Month, SliceWidth::Day, SliceWidth::Hour] {
            table = with_slice(&engine, &table, width);
            engine.recompress(Some(&table)).unwrap();
            let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
            let mut found = Vec::new();
            for rows in scan.batches() {
                let extra = arrow::compute::cast(rows.unwrap().column(4), &DataType::Int64).unwrap();
                found.extend(extra.as_primitive::<Int64Type>());
            }
            assert_eq!(found, [Some(-8); 90], "{width}");
            assert!(engine.stats(None).unwrap()[0].columns[4].bytes > 0, "{width}: the values are written");
        }
    }
}
