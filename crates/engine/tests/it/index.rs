//! Filters of indexes skip chunks and never lose a row. They are also built later, reported when damaged, and dropped.

use crate::support::{
    Row, append, engine, engines, read_all, readings, redefine_in_store, row, rows_of, scrambled, sorted, sqlite,
};
use atsdb_core::{ColumnId, ErrorKind, Index, Table, TableDefinition, TimeRange, Value};
use atsdb_engine::{Comparison, Predicate, ScanRequest, SystemEnvironment};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const DAY: i64 = 86_400;
const SENSOR: usize = 1;
const COUNT: usize = 3;

fn index(definition: &mut TableDefinition, name: &str, columns: &[u16]) -> Index {
    let columns = columns.iter().map(|id| ColumnId(*id)).collect();
    let index = Index { id: definition.next_index_id(), name: name.to_owned(), columns };
    definition.indexes_given += 1;
    definition.indexes.push(index.clone());
    index
}

/// Ten days. Each count occurs once, and every day's chunk spans nearly all counts, so bounds prune nothing.
fn spread_rows() -> Vec<Row> {
    (0..20_000_i64)
        .map(|number| row(number % 10 * DAY + number, &format!("s{}", number % 70), "ok", number as i32))
        .collect()
}

fn request(table: &Table, predicates: Vec<Predicate>) -> ScanRequest {
    ScanRequest { predicates, ..ScanRequest::all(table) }
}

fn equal(column: usize, value: impl Into<i64>) -> Predicate {
    Predicate::new(column, Comparison::Equal, Value::Int(value.into()))
}

#[test]
fn an_index_rules_out_chunks_that_bounds_leave_fresh_and_sealed() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition = readings();
        index(&mut definition, "by_count", &[3]);
        index(&mut definition, "by_both", &[1, 3]);
        let table = engine.create_table(&definition).unwrap();
        append(&engine, &table, &spread_rows());
        for sealed in [false, true] {
            if sealed {
                engine.recompress(None).unwrap();
            }
            let snapshot = engine.snapshot().unwrap();
            let scan = |predicates| snapshot.scan(&table, &request(&table, predicates)).unwrap();
            let one = scan(vec![equal(COUNT, 7_777)]);
            assert_eq!((one.chunks().len(), one.chunk_count_total().unwrap()), (1, 10));
            assert_eq!(one.index_pruned(), [("by_count".to_owned(), 9)]);
            assert!(rows_of(one.batches()).unwrap().contains(&row(7 * DAY + 7_777, "s7", "ok", 7_777)));
            // 7,777 occurs with s7 only. No row has it with s8, although both values exist.
            let sensor = |name: &str| Predicate::new(SENSOR, Comparison::Equal, Value::Text(name.into()));
            assert_eq!(scan(vec![equal(COUNT, 7_777), sensor("s7")]).chunks().len(), 1);
            assert!(scan(vec![sensor("s8"), equal(COUNT, 7_777)]).chunks().is_empty());
            assert!(scan(vec![sensor("s7")]).index_pruned().is_empty(), "one column of two does not ask");
            let several =
                Predicate { column: COUNT, operator: Comparison::In, values: vec![Value::Int(3), Value::Int(14)] };
            assert_eq!(scan(vec![several]).chunks().len(), 2);
            let values = |values: [&str; 2]| values.map(|name| Value::Text(name.into())).to_vec();
            let sensors = Predicate { column: SENSOR, operator: Comparison::In, values: values(["s3", "s7"]) };
            let counts = vec![Value::Int(7_777), Value::Int(3)];
            let counts = Predicate { column: COUNT, operator: Comparison::In, values: counts };
            assert_eq!(scan(vec![sensors, counts]).chunks().len(), 2, "of four pairs two are there");
            let other = Predicate::new(COUNT, Comparison::Less, Value::Int(7_777));
            assert_eq!(scan(vec![other]).chunks().len(), 10);
        }
        assert!(engine.verify(None).unwrap().findings.is_empty());
        let stats = engine.stats(None).unwrap().remove(0);
        assert_eq!((stats.indexes.len(), stats.indexes[1].chunks), (2, 10));
        assert!((2_000 * 10..2_000 * 20).contains(&(stats.indexes[0].bytes * 8 / 10)), "{:?}", stats.indexes);
    }
}

#[test]
fn a_single_time_is_asked_for_too() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition = readings();
        index(&mut definition, "by_time", &[0]);
        let table = engine.create_table(&definition).unwrap();
        for part in 0..4 {
            append(&engine, &table, &(0..1_000).map(|number| row(number * 4 + part, "a", "ok", 1)).collect::<Vec<_>>());
        }
        let request = ScanRequest { range: TimeRange::from(2_002..2_003), ..ScanRequest::all(&table) };
        let scan = engine.snapshot().unwrap().scan(&table, &request).unwrap();
        assert_eq!(scan.index_pruned(), [("by_time".to_owned(), 3)]);
        assert_eq!(rows_of(scan.batches()).unwrap(), [row(2_002, "a", "ok", 1)]);
    }
}

#[test]
fn an_index_is_built_over_existing_rows_and_dropped_with_its_definition() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut table = engine.create_table(&readings()).unwrap();
        let rows = spread_rows();
        append(&engine, &table, &rows[..15_000]);
        engine.recompress(None).unwrap();
        append(&engine, &table, &rows[15_000..18_000]);
        let mut definition = table.definition.clone();
        let by_count = index(&mut definition, "by_count", &[3]);
        let before = table.clone();
        table = redefine_in_store(&engine, &table, definition);
        append(&engine, &table, &rows[18_000..]);
        let pruned = |table: &Table| {
            let snapshot = engine.snapshot().unwrap();
            let scan = snapshot.scan(table, &request(table, vec![equal(COUNT, 17_777)])).unwrap();
            assert!(rows_of(scan.batches()).unwrap().contains(&rows[17_777]));
            let scan = snapshot.scan(table, &request(table, vec![equal(COUNT, 17_777)])).unwrap();
            scan.chunks().len()
        };
        let without = pruned(&table);
        let report = engine.build_index(&before, &by_count).unwrap();
        assert_eq!((report.chunks, report.rows, report.conflicts), (20, 18_000, 0));
        assert!(without > 1 && pruned(&table) == 1, "{without}");
        assert_eq!(engine.build_index(&table, &by_count).unwrap().chunks, 0, "what is built is not built again");
        assert!(engine.verify(None).unwrap().findings.is_empty());
        assert_eq!(read_all(&engine, &table).unwrap(), sorted(&rows));

        let mut definition = table.definition.clone();
        definition.indexes.clear();
        table = redefine_in_store(&engine, &table, definition);
        assert!(pruned(&table) > 1);
        assert_eq!(engine.build_index(&table, &by_count).unwrap_err().kind(), ErrorKind::NotFound);
        engine.recompress(None).unwrap();
        let snapshot = engine.store().snapshot().unwrap();
        let sealed = snapshot.chunks(table.id, TimeRange::ALL).unwrap();
        assert!(
            sealed
                .iter()
                .all(|entry| atsdb_codec::decode_descriptor(&entry.descriptor_bytes).unwrap().pages.len() == 4)
        );
    }
}

#[test]
fn an_index_that_another_process_builds_is_used_by_the_next_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (own, other) = (engine(sqlite(&path), SystemEnvironment), engine(sqlite(&path), SystemEnvironment));
    let mut table = own.create_table(&readings()).unwrap();
    append(&own, &table, &spread_rows());
    let chunk_count = |table: &Table| {
        let snapshot = own.snapshot().unwrap();
        snapshot.scan(table, &request(table, vec![equal(COUNT, 7_777)])).unwrap().chunks().len()
    };
    assert_eq!((chunk_count(&table), chunk_count(&table)), (10, 10));
    let mut definition = table.definition.clone();
    let by_count = index(&mut definition, "by_count", &[3]);
    table = redefine_in_store(&other, &table, definition);
    other.build_index(&table, &by_count).unwrap();
    assert_eq!(chunk_count(&table), 1);
}

#[test]
fn chunks_that_are_sealed_and_added_while_an_index_is_built_have_it_in_the_end() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut table = engine.create_table(&readings()).unwrap();
        let rows = spread_rows();
        append(&engine, &table, &rows[..10_000]);
        let old = table.clone();
        let mut definition = table.definition.clone();
        let by_count = index(&mut definition, "by_count", &[3]);
        table = redefine_in_store(&engine, &table, definition);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for part in rows[10_000..].chunks(2_000) {
                    // Appends with the old definition, as a batch does that began before the change.
                    append(&engine, &old, part);
                    engine.recompress(None).unwrap();
                }
            });
            for _ in 0..20 {
                engine.build_index(&table, &by_count).unwrap();
            }
        });
        engine.build_index(&table, &by_count).unwrap();
        let stats = engine.stats(None).unwrap().remove(0);
        assert_eq!(stats.indexes[0].chunks, stats.chunks);
        assert_eq!(read_all(&engine, &table).unwrap(), sorted(&rows));
        assert!(engine.verify(None).unwrap().findings.is_empty());
    }
}

#[test]
fn a_damaged_filter_is_an_error_and_never_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let mut definition = readings();
    index(&mut definition, "by_count", &[3]);
    let build = engine(sqlite(&path), SystemEnvironment);
    let table = build.create_table(&definition).unwrap();
    append(&build, &table, &spread_rows());
    drop(build);
    let file = rusqlite::Connection::open(&path).unwrap();
    let (page, whole): (i64, Vec<u8>) = file
        .query_row("SELECT id, bytes FROM atsdb_page ORDER BY id DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let write = |bytes: &[u8]| {
        file.execute("UPDATE atsdb_page SET bytes = ?1 WHERE id = ?2", rusqlite::params![bytes, page]).unwrap();
    };
    for bit in (0..whole.len() * 8).step_by(whole.len() / 5) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        write(&flipped);
        let engine = engine(sqlite(&path), SystemEnvironment);
        let snapshot = engine.snapshot().unwrap();
        let error = snapshot.scan(&table, &request(&table, vec![equal(COUNT, 9)])).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat), "{error}");
        assert!(error.message().contains("table readings") && error.message().contains("index by_count"), "{error}");
        assert_eq!(rows_of(snapshot.scan(&table, &ScanRequest::all(&table)).unwrap().batches()).unwrap().len(), 20_000);
        let report = engine.verify(None).unwrap();
        assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
        assert!(report.findings[0].location.contains("index by_count"), "{:?}", report.findings);
        assert_eq!(report.rows, 18_000);
    }
    write(&whole);
    let engine = engine(sqlite(&path), SystemEnvironment);
    assert!(engine.verify(None).unwrap().findings.is_empty());
}

#[test]
fn a_damaged_chunk_is_reported_and_the_others_are_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let build = engine(sqlite(&path), SystemEnvironment);
    let mut table = build.create_table(&readings()).unwrap();
    // The chunks are too large for their pages to be in their rows.
    let rows = (0..20_000).map(|number| row(number % 10 * DAY + number, "s", "ok", scrambled(number)));
    append(&build, &table, &rows.collect::<Vec<_>>());
    let mut definition = table.definition.clone();
    let by_count = index(&mut definition, "by_count", &[3]);
    table = redefine_in_store(&build, &table, definition);
    drop(build);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute(
        "UPDATE atsdb_page SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT max(id) FROM atsdb_page)",
        [],
    )
    .unwrap();
    drop(file);
    let engine = engine(sqlite(&path), SystemEnvironment);
    assert_eq!(engine.build_index(&table, &by_count).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(engine.stats(None).unwrap()[0].indexes[0].chunks, 9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares a scan with filters with a scan without.
    #[test]
    fn a_scan_with_filters_gives_what_a_scan_without_gives(
        rows in vec((0..6_i64, 0..9_u32, 0..5_u32, -14..14_i32), 1..400),
        asked in vec(-16..16_i32, 1..4),
        sensors in vec(0..11_u32, 1..4),
        half in 0..400_usize,
    ) {
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(day, sensor, status, count)| {
                let count = (count % 11 != 0).then_some(count);
                (day * DAY, (sensor > 0).then(|| format!("s{sensor}")), Some(format!("x{status}")), count)
            })
            .collect();
        let (_folder, engines) = engines();
        for engine in engines {
            let mut definition = readings();
            index(&mut definition, "by_count", &[3]);
            index(&mut definition, "by_sensor", &[1]);
            index(&mut definition, "by_both", &[3, 1]);
            let table = engine.create_table(&definition).unwrap();
            let without = Table { definition: readings(), ..table.clone() };
            let half = half.min(rows.len());
            let counts = asked.iter().map(|count| Value::Int(i64::from(*count))).collect();
            let counts = Predicate { column: COUNT, operator: Comparison::In, values: counts };
            let texts = sensors.iter().map(|sensor| Value::Text(format!("s{sensor}"))).collect();
            let texts = Predicate { column: SENSOR, operator: Comparison::In, values: texts };
            let cases = [vec![counts.clone()], vec![texts.clone()], vec![counts, texts]];
            let check = |part: &[Row]| {
                let snapshot = engine.snapshot().unwrap();
                for (number, predicates) in cases.iter().enumerate() {
                    let read = |table: &Table| {
                        let scan = snapshot.scan(table, &request(table, predicates.clone())).unwrap();
                        (scan.chunks().len(), sorted(&rows_of(scan.batches()).unwrap()))
                    };
                    let (with, without) = (read(&table), read(&without));
                    prop_assert!(with.0 <= without.0);
                    prop_assert_eq!(&with.1, &without.1);
                    let wanted = |row: &&Row| {
                        let count = row.3.is_some_and(|count| asked.contains(&count));
                        let sensor = row.1.as_ref().is_some_and(|name| sensors.iter().any(|sensor| *name == format!("s{sensor}")));
                        [count, sensor, count && sensor][number]
                    };
                    prop_assert_eq!(&with.1, &sorted(&part.iter().filter(wanted).cloned().collect::<Vec<_>>()));
                }
                Ok(())
            };
            append(&engine, &table, &rows[..half]);
            check(&rows[..half])?;
            engine.recompress(None).unwrap();
            check(&rows[..half])?;
            append(&engine, &table, &rows[half..]);
            check(&rows)?;
            prop_assert!(engine.verify(None).unwrap().findings.is_empty());
        }
    }
}
