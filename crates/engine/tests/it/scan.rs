//! Reads: pruning and filtering never lose a row; a snapshot stays as it was.

use crate::support::{Row, append, engine, engines, read_all, readings, row, rows_of, sorted};
use atsdb_core::{ErrorKind, TimeRange};
use atsdb_engine::{Comparison, Predicate, ScanRequest, SystemEnvironment, Value};
use atsdb_memory::MemoryStore;
use std::sync::Arc;

#[test]
fn a_time_range_gives_exactly_its_rows() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let rows: Vec<_> = (-200..200_i64).map(|number| row(number * 1_000, "a", "ok", number as i32)).collect();
        append(&engine, &table, &rows[..250]);
        append(&engine, &table, &rows[250..]);
        for sealed in [false, true] {
            if sealed {
                engine.recompress(None).unwrap();
            }
            let ranges = [(-90_000, 90_001), (-90_001, -90_000), (5, 5), (i64::MIN, i64::MAX)];
            for range in ranges.map(|(start, end)| TimeRange::from(start..end)) {
                let request = ScanRequest { range, ..ScanRequest::all(&table) };
                let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
                let total = scan.chunk_count_total().unwrap();
                assert!(scan.chunks().len() < total || range.contains(0) && range.contains(199_000));
                let mut found = rows_of(scan.batches()).unwrap();
                found.sort();
                let inside: Vec<_> = rows.iter().filter(|row| range.contains(row.0)).cloned().collect();
                assert_eq!(found, sorted(&inside), "{range:?}");
            }
        }
    }
}

/// Chunks of more rows than are compared one by one: some series have equal intervals, some irregular times with
/// repetitions, and some only a few rows.
#[test]
fn a_time_range_of_large_sealed_chunks_gives_exactly_its_rows() {
    let engine = engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment);
    let table = engine.create_table(&readings()).unwrap();
    let mut rows = Vec::new();
    for number in 0..24_i64 {
        let count = if number % 6 == 5 { 3 } else { 1_500 };
        for step in 0..count {
            let time = if number % 2 == 0 { step * 57 + number } else { step * step % 84_000 / 7 * 7 };
            rows.push(row(time, &format!("s{number}"), "ok", step as i32));
        }
    }
    append(&engine, &table, &rows);
    engine.recompress(None).unwrap();
    rows.sort();
    for use_cache in [false, true, true] {
        for (start, length) in (0..90_000).step_by(2_999).flat_map(|start| [(start, 1), (start, 58), (start, 7_200)]) {
            let range = TimeRange::from(start..start + length);
            let request = ScanRequest { range, use_cache, ..ScanRequest::all(&table) };
            let mut found = rows_of(engine.snapshot().unwrap().scan(&table, &request).unwrap().batches()).unwrap();
            found.sort();
            let inside: Vec<_> = rows.iter().filter(|row| range.contains(row.0)).cloned().collect();
            assert_eq!(found, inside, "{range:?}");
        }
    }
}

#[test]
fn predicates_skip_chunks_and_never_lose_a_row() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let mut rows: Vec<_> =
            (0..4_000_i64).map(|number| row(number * 100, &format!("s{}", number % 40), "ok", number as i32)).collect();
        rows[7].3 = None;
        rows[9].1 = None;
        append(&engine, &table, &rows);
        let count = 3;
        let sensor = 1;
        type Keep = fn(&crate::support::Row) -> bool;
        let cases: [(Predicate, Keep); 7] = [
            (Predicate::new(count, Comparison::Equal, Value::Int(17)), |row| row.3 == Some(17)),
            (Predicate::new(count, Comparison::Less, Value::Int(17)), |row| row.3.is_some_and(|count| count < 17)),
            (Predicate::new(count, Comparison::Greater, Value::Int(1 << 40)), |_| false),
            (Predicate::new(sensor, Comparison::Equal, Value::Text("s3".into())), |row| row.1.as_deref() == Some("s3")),
            (Predicate::new(sensor, Comparison::Equal, Value::Text("S3".into())), |_| false),
            (Predicate { column: count, operator: Comparison::IsNull, values: vec![] }, |row| row.3.is_none()),
            (Predicate { column: sensor, operator: Comparison::IsNotNull, values: vec![] }, |row| row.1.is_some()),
        ];
        for sealed in [false, true] {
            if sealed {
                engine.recompress(None).unwrap();
            }
            for (predicate, keep) in &cases {
                let request = ScanRequest { predicates: vec![predicate.clone()], ..ScanRequest::all(&table) };
                let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
                let mut found: Vec<_> = rows_of(scan.batches()).unwrap().into_iter().filter(keep).collect();
                found.sort();
                let wanted: Vec<_> = rows.iter().filter(|row| keep(row)).cloned().collect();
                assert_eq!(found, sorted(&wanted), "{predicate:?}");
            }
            let absent = Predicate::new(sensor, Comparison::Equal, Value::Text("nowhere".into()));
            let request = ScanRequest { predicates: vec![absent], ..ScanRequest::all(&table) };
            let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
            assert!(scan.chunks().is_empty(), "a string that no row has rules every chunk out");
        }
    }
}

#[test]
fn rows_that_use_few_of_many_strings_have_theirs() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let many: Vec<Row> = (0..1_000).map(|number| row(number, &format!("s{number}"), "ok", 1)).collect();
        append(&engine, &table, &many);
        let later = 10 * 86_400;
        let few = [
            row(later, "s999", "ok", 2),
            (later + 1, None, None, None),
            row(later + 2, "s0", "late", 3),
            row(later + 3, "s500", "ok", 4),
            row(later + 4, "s500", "ok", 5),
        ];
        append(&engine, &table, &few);
        let range = TimeRange { start: Some(later), end: None };
        for use_cache in [false, true, true] {
            let request = ScanRequest { range, use_cache, ..ScanRequest::all(&table) };
            let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
            let mut rows = rows_of(scan.batches()).unwrap();
            rows.sort();
            assert_eq!(rows, sorted(&few));
        }
    }
}

#[test]
fn a_snapshot_stays_as_it_was_while_chunks_are_sealed_and_reclaimed() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let rows: Vec<_> = (0..1_000_i64).map(|number| row(number, "a", "ok", number as i32)).collect();
        append(&engine, &table, &rows);
        let before = engine.snapshot().unwrap();
        append(&engine, &table, &[row(5, "late", "ok", -1)]);
        engine.recompress(None).unwrap();
        let mut found = rows_of(before.scan(&table, &ScanRequest::all(&table)).unwrap().batches()).unwrap();
        found.sort();
        assert_eq!(found, sorted(&rows));
        assert_eq!(read_all(&engine, &table).unwrap().len(), 1_001);
    }
}

#[test]
fn cached_columns_are_found_and_bounded() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        for day in 0..40_i64 {
            let rows: Vec<_> = (0..20_000).map(|second| row(day * 86_400 + second, "a", "ok", second as i32)).collect();
            append(&engine, &table, &rows);
        }
        let request = ScanRequest { use_cache: true, ..ScanRequest::all(&table) };
        let read = |range: TimeRange| {
            let request = ScanRequest { range, ..request.clone() };
            let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
            rows_of(scan.batches()).unwrap().len()
        };
        let day = TimeRange::from(0..86_400);
        assert_eq!((read(day), read(day)), (20_000, 20_000));
        let stats = engine.cache_stats();
        assert_eq!((stats.hits, stats.misses), (4, 4), "{stats:?}");
        assert_eq!(read(TimeRange::ALL), 800_000);
        assert!(engine.cache_stats().bytes <= engine.cache_stats().bytes_max);
    }
}

#[test]
fn a_read_only_in_memory_reads_no_column_of_the_store() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1), row(2, "b", "ok", 2)]);
        let request = ScanRequest { columns: vec![1, 3], use_cache: true, ..ScanRequest::all(&table) };
        let scan = || engine.snapshot().unwrap().scan(&table, &request).unwrap();
        assert_eq!(scan().chunk_count_listed(), 1);
        let missing = scan().only_in_memory().read(0).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Unavailable);
        let read = scan().read(0).unwrap();
        assert_eq!(scan().only_in_memory().read(0).unwrap(), read);
        // The times are read to find the rows of a range.
        let request = ScanRequest { range: TimeRange::from(2..3), ..request };
        let scan = || engine.snapshot().unwrap().scan(&table, &request).unwrap();
        assert_eq!(scan().only_in_memory().read(0).unwrap_err().kind(), ErrorKind::Unavailable);
        let read = scan().read(0).unwrap();
        assert_eq!(read.as_ref().map(|rows| rows.num_rows()), Some(1));
        assert_eq!(scan().only_in_memory().read(0).unwrap(), read);
    }
}
