//! After a failed call of the store: acknowledged rows exist once, no other change is there in part, and further work
//! succeeds.

use crate::support::{Row, append, batch_of, engine, read_all, readings, row};
use arrow::array::{ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, TimestampSecondArray};
use arrow::datatypes::{DataType, Int64Type};
use atsdb_core::{
    BatchId, ColumnType, CommitOutcome, ConflictPolicy, ErrorKind, Index, MapWidth, Result, Store, Table,
    TableDefinition, TimeUnit, Unique,
};
use atsdb_engine::{Appender, ColumnSpec, Engine, Field, Record, RowReader, RowWriter, ScanRequest, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns an engine and the handle that makes calls of its store fail.
fn faulty(fails: Fails) -> (Engine, Arc<Faults>) {
    let faults = Faults::new(fails);
    let store = FaultyStore::new(Arc::new(MemoryStore::new([7; 16])), &faults);
    (engine(Arc::new(store) as Arc<dyn Store>, SystemEnvironment), faults)
}

/// Runs a scenario once for each of its calls, with that call failing, and ends after a run without a failure. A
/// background thread may make its call while the scenario pauses, which is not counted: runs without a failure end
/// nothing among the first ones.
fn with_each_call_failing(scenario: impl Fn(&Engine, &Faults, &str)) {
    for fails in [Fails::Before, Fails::After] {
        let mut failed = 0;
        for number in 0.. {
            assert!(number < 10_000, "it does not end");
            let (engine, faults) = faulty(fails);
            faults.arm(number);
            scenario(&engine, &faults, &format!("call {number} fails {fails:?}"));
            if faults.failed().is_some() {
                failed += 1;
            } else if number > 20 {
                break;
            }
        }
        assert!(failed >= 2, "hardly anything was called: {failed} calls failed");
    }
}

/// Sensor, status and count of [`readings`].
struct Reading(String, Option<&'static str>, i32);

impl Record for Reading {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        self.0.write(row, 0);
        match self.1 {
            Some(status) => row.put_text(1, status),
            None => row.put_null(1),
        }
        self.2.write(row, 2);
    }

    fn read(_: &RowReader<'_>) -> Result<Self> {
        unreachable!("the tests read columns")
    }
}

fn push(appender: &mut Appender, row: &Row) -> Result<()> {
    let status = row.2.as_deref().map(|status| if status == "ok" { "ok" } else { "bad" });
    appender.push(row.0, &Reading(row.1.clone().unwrap(), status, row.3.unwrap()))
}

/// Asserts that all rows of these groups exist once, and that the rows of the doubtful group exist all or not at all.
fn assert_whole(engine: &Engine, table: &Table, done: &[Vec<Row>], doubtful: Option<&Vec<Row>>, label: &str) {
    let mut found: BTreeMap<Row, usize> = BTreeMap::new();
    for row in read_all(engine, table).unwrap() {
        *found.entry(row).or_default() += 1;
    }
    for row in done.iter().flatten() {
        assert_eq!(found.remove(row), Some(1), "{label}: acknowledged: {row:?}");
    }
    let there = doubtful.map_or(0, |rows| rows.iter().filter(|row| found.remove(*row) == Some(1)).count());
    assert!(there == 0 || Some(there) == doubtful.map(Vec::len), "{label}: {there} rows of a flush that failed");
    assert!(found.is_empty(), "{label}: nobody wrote {found:?}");
}

#[test]
fn an_appender_loses_nothing_and_keeps_no_half_whichever_call_fails() {
    with_each_call_failing(|engine, faults, label| {
        let table = {
            let _pause = faults.pause();
            engine.create_table(&readings()).unwrap()
        };
        let mut appender = engine.appender(&table);
        let mut done: Vec<Vec<Row>> = Vec::new();
        for flush in 0..4_i64 {
            let rows: Vec<Row> = (0..6)
                .map(|n| {
                    (
                        flush * 100_000 + n * 20_000,
                        Some(format!("s{flush}.{n}")),
                        (n % 2 == 0).then(|| "ok".into()),
                        Some(n as i32),
                    )
                })
                .collect();
            let id = BatchId::new(format!("flush {flush}")).unwrap();
            // A failed flush is sent again. Thanks to the batch's id it counts once, for any failed call.
            for attempt in 0.. {
                assert!(attempt < 3, "{label}: further work does not go on");
                let added = rows[..2]
                    .iter()
                    .try_for_each(|row| push(&mut appender, row))
                    .and_then(|()| appender.append(&batch_of(&rows[2..4])))
                    .and_then(|()| rows[4..].iter().try_for_each(|row| push(&mut appender, row)));
                let flushed = appender.flush_as(id.clone());
                assert!(added.is_ok() || flushed.is_err(), "{label}: rows that were refused are acknowledged");
                let _pause = faults.pause();
                if flushed.is_ok() {
                    done.push(rows.clone());
                    assert_whole(engine, &table, &done, None, label);
                    break;
                }
                assert_whole(engine, &table, &done, Some(&rows), label);
            }
        }
    });
}

/// Columns: time (s), n, blob.
fn blobs() -> TableDefinition {
    TableDefinition::new("blobs")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("n", ColumnType::Int64, None)
        .with_column("blob", ColumnType::Binary, None)
        .with_time("time", TimeUnit::Second)
        .unwrap()
}

/// Rows with blobs of this size, which do not compress.
fn blob_rows(first: i64, count: i64, byte_count: usize) -> RecordBatch {
    let blobs: Vec<Vec<u8>> = (first..first + count).map(|n| noise(n as u64, byte_count)).collect();
    let times = TimestampSecondArray::from_iter_values(first..first + count).with_timezone("UTC");
    RecordBatch::try_from_iter([
        ("time", Arc::new(times) as ArrayRef),
        ("n", Arc::new(Int64Array::from_iter_values(first..first + count))),
        ("blob", Arc::new(BinaryArray::from_iter_values(&blobs))),
    ])
    .unwrap()
}

fn noise(seed: u64, byte_count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(byte_count.div_ceil(8)).flatten().take(byte_count).collect()
}

fn numbers(engine: &Engine, table: &Table) -> Vec<i64> {
    let request = ScanRequest { columns: vec![1], ..ScanRequest::all(table) };
    let mut numbers = Vec::new();
    for rows in engine.snapshot().unwrap().scan(table, &request).unwrap().batches() {
        numbers.extend(rows.unwrap().column(0).as_primitive::<Int64Type>().values());
    }
    numbers.sort_unstable();
    numbers
}

/// The batch has more rows than it keeps in memory, so chunks are written ahead.
#[test]
fn a_large_batch_is_stored_whole_or_not_at_all_whichever_call_fails() {
    with_each_call_failing(|engine, faults, label| {
        let table = {
            let _pause = faults.pause();
            engine.create_table(&blobs()).unwrap()
        };
        for attempt in 0.. {
            assert!(attempt < 3, "{label}: further work does not go on");
            let mut batch = engine.batch(Some(BatchId::new("large").unwrap()));
            let mut added = Vec::new();
            for part in 0..5 {
                // A caller that ignores an error must not store half of the rows either.
                if batch.append(&table, &blob_rows(part * 13, 13, 1 << 20)).is_ok() {
                    added.extend(part * 13..part * 13 + 13);
                }
            }
            let done = batch.commit();
            let _pause = faults.pause();
            let found = numbers(engine, &table);
            match done {
                Ok(CommitOutcome::Committed) => assert_eq!(found, added, "{label}"),
                Ok(CommitOutcome::Duplicate) => assert_eq!(found.len(), 65, "{label}"),
                Err(_) => assert!(found.is_empty() || found.len() == 65, "{label}: {} rows", found.len()),
            }
            if found.len() == 65 && done.is_ok() {
                break;
            }
        }
    });
}

/// A table with the key n.
fn keyed() -> TableDefinition {
    let mut definition = TableDefinition::new("keyed").with_column("n", ColumnType::Int64, None).with_column(
        "word",
        ColumnType::Text,
        Some(MapWidth::U8),
    );
    definition.columns[0].nullable = false;
    definition.unique = vec![Unique { primary: true, ..Unique::new(vec![definition.columns[0].id]) }];
    definition
}

fn keyed_rows(numbers: &[i64], word: &str) -> RecordBatch {
    let words = arrow::array::StringArray::from(vec![word; numbers.len()]);
    RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(numbers.to_vec())) as ArrayRef),
        ("word", Arc::new(words) as ArrayRef),
    ])
    .unwrap()
}

fn keyed_found(engine: &Engine, table: &Table) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    for rows in engine.snapshot().unwrap().scan(table, &ScanRequest::all(table)).unwrap().batches() {
        let rows = rows.unwrap();
        let words = arrow::compute::cast(rows.column(1), &DataType::Utf8).unwrap();
        let numbers = rows.column(0).as_primitive::<Int64Type>();
        found.extend(
            numbers.values().iter().zip(words.as_string::<i32>()).map(|(n, word)| (*n, word.unwrap().to_owned())),
        );
    }
    found.sort();
    found
}

/// One batch with keys, savepoints, a created table and a truncated one.
#[test]
fn a_batch_of_many_changes_is_done_whole_or_not_at_all_whichever_call_fails() {
    with_each_call_failing(|engine, faults, label| {
        let (first, second) = {
            let _pause = faults.pause();
            let first = engine.create_table(&keyed()).unwrap();
            let second = engine.create_table(&TableDefinition { name: "second".into(), ..keyed() }).unwrap();
            for (table, numbers) in [(&first, [1_i64, 2]), (&second, [8, 9])] {
                let mut batch = engine.batch(None);
                batch.append(table, &keyed_rows(&numbers[..], "old")).unwrap();
                batch.commit().unwrap();
            }
            (first, second)
        };
        let all_old = vec![(1, "old".to_owned()), (2, "old".to_owned())];
        let all_new: Vec<(i64, String)> =
            [(1, "old"), (2, "new"), (3, "new"), (4, "newer")].map(|(n, word)| (n, word.to_owned())).into();
        for attempt in 0.. {
            assert!(attempt < 3, "{label}: further work does not go on");
            let mut batch = engine.batch(None);
            let mut steps = || -> Result<()> {
                batch.append_with(&first, &keyed_rows(&[2, 3], "new"), ConflictPolicy::Replace)?;
                batch.savepoint("a")?;
                batch.append(&second, &keyed_rows(&[10], "new"))?;
                let made = batch.create_table(&TableDefinition { name: "third".into(), ..keyed() })?;
                batch.append(&made, &keyed_rows(&[1], "new"))?;
                batch.rollback_to_savepoint("a")?;
                batch.append(&first, &keyed_rows(&[4], "newer"))?;
                batch.truncate(&second).map(drop)
            };
            let stepped = steps();
            let done = stepped.and_then(|()| batch.commit());
            let _pause = faults.pause();
            let (first_found, second_found) = (keyed_found(engine, &first), keyed_found(engine, &second));
            let is_new = first_found == all_new && second_found.is_empty();
            let is_old = first_found == all_old && second_found.len() == 2;
            assert!(is_new || is_old, "{label}: {first_found:?} and {second_found:?}");
            assert!(is_new || done.is_err(), "{label}: acknowledged and not there");
            assert!(engine.table("third").is_err(), "{label}: a table that was taken back");
            if is_new {
                break;
            }
        }
        let _pause = faults.pause();
        assert!(engine.verify(None).unwrap().findings.is_empty(), "{label}");
    });
}

#[test]
fn a_row_that_is_refused_leaves_nothing_in_any_column() {
    let (engine, _) = faulty(Fails::Before);
    // With a date as time, a value beyond 32 bits is refused.
    let definition = TableDefinition::new("t")
        .with_column("time", ColumnType::Date, None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U8))
        .with_column("status", ColumnType::Text, Some(MapWidth::U8))
        .with_column("count", ColumnType::Int32, None)
        .with_time("time", TimeUnit::Second)
        .unwrap();
    let table = engine.create_table(&definition).unwrap();
    let mut appender = engine.appender(&table);
    for n in 0..256 {
        push(&mut appender, &row(n, &format!("s{n}"), "ok", 1)).unwrap();
        // The dictionary of sensors has no room for this string.
        let refused = push(&mut appender, &row(i64::MAX, &format!("refused {n}"), "ok", 1));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidValue);
    }
    appender.flush().unwrap();
    let counts = |column: usize| {
        let snapshot = engine.store().snapshot().unwrap();
        snapshot.mapping(table.id, table.definition.columns[column].id, 0).unwrap().len()
    };
    assert_eq!((counts(1), counts(2)), (256, 1));
}

/// Writes too few values or too many, or panics.
struct BadRecord(u8);

impl Record for BadRecord {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        row.put_text(0, "odd");
        match self.0 {
            0 => {}
            1 => (0..3).for_each(|_| row.put_text(1, "odd")),
            _ => panic!("as the test wants it"),
        }
    }

    fn read(_: &RowReader<'_>) -> Result<Self> {
        unreachable!("the tests read columns")
    }
}

#[test]
fn a_record_that_writes_another_row_than_the_tables_is_refused_by_itself() {
    let (engine, _) = faulty(Fails::Before);
    let table = engine.create_table(&readings()).unwrap();
    let mut appender = engine.appender(&table);
    let rows: Vec<Row> = (0..6).map(|n| row(n, &format!("s{n}"), "ok", n as i32)).collect();
    for (n, row) in rows.iter().enumerate() {
        let odd = BadRecord((n % 3) as u8);
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| appender.push(99, &odd)));
        assert_eq!(tried.is_err(), n % 3 == 2, "record {n}");
        assert!(!tried.is_ok_and(|pushed| pushed.is_ok()), "record {n}");
        push(&mut appender, row).unwrap();
    }
    appender.flush().unwrap();
    assert_eq!(read_all(&engine, &table).unwrap(), rows);
}

#[test]
fn an_appender_whose_dictionary_was_full_once_goes_on_with_strings_that_are_there() {
    let (engine, _) = faulty(Fails::Before);
    let table = engine.create_table(&readings()).unwrap();
    let mut appender = engine.appender(&table);
    let mut append = |time: i64, status: &str| -> Result<()> {
        let added = appender.append(&batch_of(&[row(time, "a", status, 1)]));
        appender.flush().and(added)
    };
    for n in 0..256 {
        append(n, &format!("s{n}")).unwrap();
    }
    assert_eq!(append(1_000, "one too many").unwrap_err().kind(), ErrorKind::Limit);
    append(1_001, "s1").unwrap();
    let mut appender = engine.appender(&table);
    struct WithStatus(&'static str);
    impl Record for WithStatus {
        fn columns() -> Vec<ColumnSpec> {
            Vec::new()
        }

        fn write(&self, row: &mut RowWriter<'_>) {
            row.put_text(0, "a");
            row.put_text(1, self.0);
            7_i32.write(row, 2);
        }

        fn read(_: &RowReader<'_>) -> Result<Self> {
            unreachable!("the tests read columns")
        }
    }
    appender.push(2_000, &WithStatus("one too many")).unwrap();
    assert_eq!(appender.flush().unwrap_err().kind(), ErrorKind::Limit);
    appender.push(2_001, &WithStatus("s2")).unwrap();
    appender.flush().unwrap();
    assert_eq!(read_all(&engine, &table).unwrap().len(), 258);
}

/// Rows that were accepted before a failed append are not stored with later rows.
#[test]
fn after_rows_were_lost_an_appender_refuses_rows_until_a_flush_reports_it() {
    let (engine, faults) = faulty(Fails::Before);
    let table = engine.create_table(&readings()).unwrap();
    let mut appender = engine.appender(&table);
    push(&mut appender, &row(1, "a", "ok", 1)).unwrap();
    faults.arm(0);
    assert_eq!(appender.append(&batch_of(&[row(2, "b", "ok", 2)])).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(push(&mut appender, &row(3, "c", "ok", 3)).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(appender.flush().unwrap_err().kind(), ErrorKind::Unavailable);
    push(&mut appender, &row(4, "d", "ok", 4)).unwrap();
    appender.flush().unwrap();
    assert_eq!(read_all(&engine, &table).unwrap(), [row(4, "d", "ok", 4)]);
}

#[test]
fn verify_reports_no_damage_where_reading_failed_whichever_call_fails() {
    with_each_call_failing(|engine, faults, label| {
        {
            let _pause = faults.pause();
            let mut definition = readings();
            let (id, columns) = (definition.next_index_id(), vec![definition.columns[1].id]);
            definition.indexes_given += 1;
            definition.indexes.push(Index { id, name: "by_sensor".into(), columns });
            let table = engine.create_table(&definition).unwrap();
            // The second chunk was written before a column was added.
            append(engine, &table, &[row(1, "a", "ok", 1), row(2, "b", "bad", 2)]);
            let mut batch = engine.batch(None);
            let wider = definition.clone().with_column("more", ColumnType::Int32, None);
            let table = batch.redefine(&table, wider).unwrap();
            batch.commit().unwrap();
            append(engine, &table, &[row(3, "a", "ok", 3)]);
        }
        match engine.verify(None) {
            Ok(report) if faults.failed().is_none() => assert!(report.findings.is_empty(), "{:?}", report.findings),
            Ok(report) => {
                assert!(report.is_cut_short(), "{label}: nothing is said of {:?}", faults.failed());
                assert!(report.findings.iter().all(|finding| !finding.is_damage), "{label}: {:?}", report.findings);
            }
            Err(error) => assert!(error.kind().is_shortage(), "{label}: {error}"),
        }
    });
}
