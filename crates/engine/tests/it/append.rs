//! Batches are stored completely or not at all, and exactly once, also from many threads.

use crate::support::{append, batch_of, engines, read_all, readings, redefine, row, sorted};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use atsdb_core::{BatchId, ColumnType, CommitOutcome, ErrorKind, MapWidth, TableDefinition, TimeUnit};
use atsdb_engine::{ColumnSpec, Field, Record, RowReader, RowWriter, ScanRequest};
use std::sync::Arc;

struct Reading {
    sensor: String,
    status: Option<String>,
    count: i32,
}

impl Record for Reading {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        self.sensor.write(row, 0);
        self.status.write(row, 1);
        self.count.write(row, 2);
    }

    fn read(row: &RowReader<'_>) -> atsdb_core::Result<Self> {
        Ok(Self { sensor: Field::read(row, 0)?, status: Field::read(row, 1)?, count: Field::read(row, 2)? })
    }
}

#[test]
fn rows_pushed_one_by_one_come_back_over_chunk_and_slice_borders() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let mut appender = engine.appender(&table);
        let mut expected = Vec::new();
        for number in 0..300_000_i64 {
            let status = (number % 7 != 0).then(|| format!("state {}", number % 5));
            let reading = Reading { sensor: format!("sensor {}", number % 977), status, count: number as i32 };
            appender.push(number * 2, &reading).unwrap();
            expected.push((number * 2, Some(reading.sensor), reading.status, Some(reading.count)));
        }
        assert!(read_all(&engine, &table).unwrap().is_empty(), "nothing shows before the flush");
        appender.flush().unwrap();
        assert!(read_all(&engine, &table).unwrap() == sorted(&expected));
        engine.recompress(None).unwrap();
        assert!(read_all(&engine, &table).unwrap() == sorted(&expected));
    }
}

#[test]
fn a_row_with_a_null_that_its_column_does_not_take_is_refused_by_itself() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition = readings();
        definition.columns[2].nullable = false;
        let table = engine.create_table(&definition).unwrap();
        let mut appender = engine.appender(&table);
        let reading =
            |status: Option<&str>| Reading { sensor: "a".into(), status: status.map(str::to_owned), count: 7 };
        appender.push(1, &reading(Some("ok"))).unwrap();
        let error = appender.push(2, &reading(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert_eq!(error.to_string(), "table readings: field 2 of the record is NULL, but its column is NOT NULL");
        appender.push(3, &reading(Some("ok"))).unwrap();
        appender.flush().unwrap();
        assert_eq!(read_all(&engine, &table).unwrap(), [row(1, "a", "ok", 7), row(3, "a", "ok", 7)]);
    }
}

#[test]
fn a_batch_with_an_id_counts_once() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        for expected in [CommitOutcome::Committed, CommitOutcome::Duplicate] {
            let mut batch = engine.batch(Some(BatchId::new("first").unwrap()));
            batch.append(&table, &batch_of(&[row(1, "a", "ok", 1)])).unwrap();
            assert_eq!(batch.commit().unwrap(), expected);
        }
        assert_eq!(read_all(&engine, &table).unwrap().len(), 1);
    }
}

#[test]
fn a_batch_that_is_dropped_leaves_neither_rows_nor_its_table() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut batch = engine.batch(None);
        let table = batch.create_table(&readings()).unwrap();
        batch.append(&table, &batch_of(&[row(1, "a", "ok", 1)])).unwrap();
        assert!(engine.table("readings").is_err(), "the table shows before the commit");
        drop(batch);
        assert!(engine.tables().unwrap().is_empty());
        let mut batch = engine.batch(None);
        let table = batch.create_table(&readings()).unwrap();
        batch.append(&table, &batch_of(&[row(1, "a", "ok", 1)])).unwrap();
        batch.commit().unwrap();
        assert_eq!(read_all(&engine, &engine.table("READINGS").unwrap()).unwrap().len(), 1);
    }
}

#[test]
fn a_large_batch_is_written_ahead_and_shows_only_at_its_commit() {
    let (_folder, engines) = engines();
    for engine in engines {
        let definition = TableDefinition::new("noise")
            .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
            .with_column("text", ColumnType::Text, None)
            .with_time("time", TimeUnit::Second)
            .unwrap();
        let table = engine.create_table(&definition).unwrap();
        let mut batch = engine.batch(None);
        let mut state = 1_u64;
        for round in 0..24_i64 {
            let mut noise = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{state:016x}{:016x}", state.rotate_left(17).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            };
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..65_536).map(|_| noise())));
            let times: ArrayRef = Arc::new(Int64Array::from_iter_values((0..65_536).map(|row| round * 65_536 + row)));
            let times = arrow::compute::cast(&times, &atsdb_codec::logical_type(&definition.columns[0])).unwrap();
            let rows = RecordBatch::try_from_iter([("text", texts), ("time", times)]).unwrap();
            batch.append(&table, &rows).unwrap();
        }
        assert_eq!(engine.stats(Some(&table)).unwrap()[0].rows, 0);
        batch.commit().unwrap();
        assert_eq!(engine.stats(Some(&table)).unwrap()[0].rows, 24 * 65_536);
        assert!(engine.verify(None).unwrap().findings.is_empty());
    }
}

#[test]
fn appends_from_many_threads_are_all_there_and_share_one_dictionary() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (engine, table) = (&engine, &table);
                scope.spawn(move || {
                    for round in 0..50 {
                        let sensor = format!("sensor {}", (thread + round) % 60);
                        append(engine, table, &[row(i64::from(round), &sensor, "ok", thread * 1_000 + round)]);
                    }
                });
            }
        });
        let rows = read_all(&engine, &table).unwrap();
        let mut counts: Vec<i32> = rows.iter().filter_map(|row| row.3).collect();
        counts.sort_unstable();
        assert_eq!(
            counts,
            (0..4).flat_map(|thread| (0..50).map(move |round| thread * 1_000 + round)).collect::<Vec<_>>()
        );
        for (time, sensor, ..) in &rows {
            let thread = rows.iter().any(|other| other.0 == *time && other.1 == *sensor);
            assert!(thread && sensor.is_some());
        }
        assert!(engine.verify(None).unwrap().findings.is_empty());
    }
}

#[test]
fn a_full_dictionary_is_an_error_that_names_column_and_width_and_stores_nothing() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        append(&engine, &table, &[row(0, "a", "ok", 0)]);
        let rows: Vec<_> = (0..256).map(|number| row(number, "a", &format!("state {number}"), 0)).collect();
        let mut batch = engine.batch(None);
        let error = batch.append(&table, &batch_of(&rows)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let text = error.to_string();
        assert!(text.contains("status") && text.contains("u8") && text.contains("status:u16"), "{text}");
        drop(batch);
        assert_eq!(read_all(&engine, &table).unwrap().len(), 1);
        append(&engine, &table, &rows[..255]);
    }
}

#[test]
fn values_that_do_not_fit_a_column_are_refused_with_their_place() {
    let (_folder, engines) = engines();
    let engine = &engines[0];
    let table = engine.create_table(&readings()).unwrap();
    let refused = |columns: Vec<(&str, ArrayRef)>| {
        let rows =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
        engine.batch(None).append(&table, &rows.unwrap()).unwrap_err().to_string()
    };
    let times = |times: Vec<Option<i64>>| Arc::new(Int64Array::from(times)) as ArrayRef;
    let text = refused(vec![("time", times(vec![Some(1), None]))]);
    assert!(text.contains("column time") && text.contains("row 2") && text.contains("NULL"), "{text}");
    let text = refused(vec![("time", times(vec![Some(1)])), ("count", times(vec![Some(1 << 40)]))]);
    assert!(text.contains("column count") && text.contains("1099511627776"), "{text}");
    let text = refused(vec![("time", times(vec![Some(1)])), ("sensro", times(vec![Some(1)]))]);
    assert!(text.contains("sensro") && text.contains("did you mean sensor?"), "{text}");
    let text = refused(vec![("count", times(vec![Some(1)]))]);
    assert!(text.contains("column time is missing"), "{text}");
    for second in ["count", "COUNT"] {
        let of_one = || times(vec![Some(1)]);
        let text = refused(vec![("count", of_one()), ("time", of_one()), (second, of_one())]);
        assert!(text.contains("table readings: column count is given twice"), "{text}");
    }
}

#[test]
fn a_time_beyond_63_bits_is_refused_with_its_row() {
    let (_folder, engines) = engines();
    for engine in engines {
        let definition = TableDefinition::new("t").with_column("at", ColumnType::UInt64, None);
        let table = engine.create_table(&definition.with_time("at", TimeUnit::Second).unwrap()).unwrap();
        let append = |times: Vec<u64>| {
            let rows = RecordBatch::try_from_iter([("at", Arc::new(UInt64Array::from(times)) as ArrayRef)]).unwrap();
            let mut batch = engine.batch(None);
            batch.append(&table, &rows)?;
            batch.commit().map(drop)
        };
        let refused = append(vec![5, 1 << 63]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidValue);
        let place = "row 2: time 9223372036854775808 does not fit";
        assert!(refused.to_string().contains(place), "{refused}");
        append(vec![5, i64::MAX.cast_unsigned()]).unwrap();
        let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
        assert_eq!(scan.row_count_exact(), Some(2));
    }
}

#[test]
fn a_table_of_1000_columns_takes_and_gives_rows() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition =
            TableDefinition::new("wide").with_column("time", ColumnType::Timestamp(TimeUnit::Millisecond), None);
        for number in 1..1_000 {
            let map = (number % 10 == 0).then_some(MapWidth::U16);
            let column_type = if map.is_some() { ColumnType::Text } else { ColumnType::Float64 };
            definition = definition.with_column(format!("c{number}"), column_type, map);
        }
        let definition = definition.with_time("time", TimeUnit::Second).unwrap();
        let table = engine.create_table(&definition).unwrap();
        let times: ArrayRef = Arc::new(Int64Array::from(vec![5, -5]));
        let last: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let rows = RecordBatch::try_from_iter([("time", times), ("c999", last)]).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &rows).unwrap();
        batch.commit().unwrap();
        engine.recompress(None).unwrap();
        assert_eq!(engine.stats(None).unwrap()[0].rows, 2);
        let wider = definition.with_column("one too many", ColumnType::Bool, None);
        assert_eq!(engine.create_table(&wider).unwrap_err().kind(), ErrorKind::Limit);
    }
}

#[test]
fn earlier_rows_are_compared_with_each_later_definition() {
    let (_folder, engines) = engines();
    for engine in engines {
        let old = engine.create_table(&readings()).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&old, &batch_of(&[(1, Some("a".to_owned()), None, None)])).unwrap();
        let wider =
            redefine(&engine, &old, old.definition.clone().with_column("extra", ColumnType::Int32, None)).unwrap();
        // No row is added under this definition: these are refused.
        let unknown: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(batch.append(&old, &RecordBatch::try_from_iter([("unknown", unknown)]).unwrap()).is_err());
        let mut strict = wider.definition.clone();
        strict.columns[3].nullable = false;
        redefine(&engine, &wider, strict).unwrap();
        let appended = batch.append(&old, &batch_of(&[row(2, "a", "ok", 2)]));
        let committed = appended.and_then(|()| batch.commit());
        assert_eq!(committed.unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[test]
fn strings_mean_the_same_in_every_batch_whatever_became_of_the_batches_before() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut table = engine.create_table(&readings()).unwrap();
        // A later table of the name has the strings in another order.
        for sensors in [["a", "b", "c"], ["c", "b", "a"]] {
            let mut abandoned = engine.batch(None);
            abandoned.append(&table, &batch_of(&[row(1, sensors[0], "x", 1), row(2, sensors[1], "y", 2)])).unwrap();
            drop(abandoned);
            let mut expected = Vec::new();
            for time in 0..3 {
                let rows = [row(time, sensors[2], "y", 3), row(time, sensors[1], "x", 4), (time, None, None, None)];
                append(&engine, &table, &rows);
                expected.extend(rows);
            }
            let mut wider = table.definition.clone();
            wider.columns[2].map = Some(MapWidth::U16);
            table = redefine(&engine, &table, wider).unwrap();
            let rows = [row(9, sensors[0], "y", 5), row(9, "d", "z", 6)];
            append(&engine, &table, &rows);
            expected.extend(rows);
            assert_eq!(read_all(&engine, &table).unwrap(), sorted(&expected));
            engine.drop_table(&table).unwrap();
            table = engine.create_table(&readings()).unwrap();
        }
    }
}
