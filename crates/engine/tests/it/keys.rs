//! Keys: no two rows have the same key, in any order of appends by any number of writers.

use crate::support::{self, Row, batch_of, engines, read_all, row, sorted};
use arrow::array::{ArrayRef, AsArray, Float64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::Int32Type;
use atsdb_core::{
    BatchId, ColumnType, CommitOutcome, ConflictPolicy, ErrorKind, InMemory, MapWidth, Table, TableDefinition, Unique,
};
use atsdb_engine::{Engine, KeyValue, SystemEnvironment};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::sync::{Arc, Barrier};

const DAY: i64 = 86_400;

fn keyed(keys: &[&[&str]]) -> TableDefinition {
    let mut definition = support::readings();
    for names in keys {
        let columns = names.iter().map(|name| definition.column(name).unwrap().id).collect();
        definition.unique.push(Unique::new(columns));
    }
    definition
}

fn append_with(engine: &Engine, table: &Table, rows: &[Row], policy: ConflictPolicy) -> atsdb_core::Result<()> {
    let mut batch = engine.batch(None);
    batch.append_with(table, &batch_of(rows), policy)?;
    batch.commit().map(drop)
}

#[test]
fn a_second_row_of_the_same_key_is_refused_with_its_place() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed(&[&["sensor", "time"]])).unwrap();
        support::append(&engine, &table, &[row(1, "a", "ok", 1), row(1, "b", "ok", 2)]);
        let again = |rows: &[Row]| append_with(&engine, &table, rows, ConflictPolicy::Error).unwrap_err();
        let error = again(&[row(2, "b", "ok", 1), row(1, "b", "new", 3)]);
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
        assert_eq!(
            error.to_string().lines().next().unwrap(),
            "table readings, key (sensor, time): (b, 1970-01-01T00:00:01Z) already exists"
        );
        let within = again(&[row(7, "c", "ok", 1), row(7, "c", "ok", 1)]);
        assert_eq!(within.kind(), ErrorKind::DuplicateKey);
        assert_eq!(read_all(&engine, &table).unwrap().len(), 2, "nothing of a refused batch is stored");
    }
}

#[test]
fn a_batch_that_is_sent_again_is_a_duplicate_although_its_keys_are_there() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut in_memory = keyed(&[&["sensor", "time"]]);
        in_memory.name = "in_memory".into();
        in_memory.memory = Some(InMemory::default());
        in_memory.columns.iter_mut().for_each(|column| column.map = None::<MapWidth>);
        for definition in [keyed(&[&["sensor", "time"]]), in_memory] {
            let table = engine.create_table(&definition).unwrap();
            let send = |id: &str| {
                let mut batch = engine.batch(Some(BatchId::new(format!("{id} {}", definition.name)).unwrap()));
                batch.append(&table, &batch_of(&[row(1, "a", "ok", 1)]))?;
                batch.append(&table, &batch_of(&[row(2, "a", "ok", 1)]))?;
                batch.commit()
            };
            assert_eq!(send("first").unwrap(), CommitOutcome::Committed);
            assert_eq!(send("first").unwrap(), CommitOutcome::Duplicate);
            assert_eq!(send("second").unwrap_err().kind(), ErrorKind::DuplicateKey);
            assert_eq!(
                send("second").unwrap_err().kind(),
                ErrorKind::DuplicateKey,
                "what is refused is not remembered"
            );
            engine.drop_table(&table).unwrap();
            assert_eq!(send("first").unwrap(), CommitOutcome::Duplicate);
        }
    }
}

#[test]
fn a_key_with_a_null_is_the_same_as_no_other() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed(&[&["sensor", "time"]])).unwrap();
        let rows: [Row; 2] = [(1, None, None, Some(1)), (1, None, None, Some(1))];
        append_with(&engine, &table, &rows, ConflictPolicy::Error).unwrap();
        append_with(&engine, &table, &rows, ConflictPolicy::Replace).unwrap();
        assert_eq!(read_all(&engine, &table).unwrap().len(), 4);
    }
}

#[test]
fn a_batch_sees_its_own_rows_after_they_became_chunks() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed(&[&["sensor", "time"]])).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &batch_of(&[row(5, "a", "ok", 1), row(6, "a", "ok", 1)])).unwrap();
        batch.snapshot().unwrap();
        batch.append(&table, &batch_of(&[row(5, "a", "ok", 2)])).unwrap();
        assert_eq!(batch.settle_keys().unwrap_err().kind(), ErrorKind::DuplicateKey);
        // Refused rows are forgotten, and the batch can be used further.
        batch.append_with(&table, &batch_of(&[row(5, "a", "new", 3)]), ConflictPolicy::Replace).unwrap();
        batch.append_with(&table, &batch_of(&[row(6, "a", "new", 3)]), ConflictPolicy::Keep).unwrap();
        batch.append(&table, &batch_of(&[row(7, "a", "ok", 4)])).unwrap();
        let kept_out = batch.skipped_rows();
        batch.commit().unwrap();
        assert_eq!(kept_out.load(std::sync::atomic::Ordering::Relaxed), 1);
        let expected = [row(5, "a", "new", 3), row(6, "a", "ok", 1), row(7, "a", "ok", 4)];
        assert_eq!(read_all(&engine, &table).unwrap(), sorted(&expected));
    }
}

#[test]
fn a_batch_that_was_settled_early_does_not_mind_sealing_but_others_keys() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed(&[&["sensor", "time"]])).unwrap();
        support::append(&engine, &table, &[row(1, "a", "ok", 1), row(9, "b", "ok", 1)]);
        support::append(&engine, &table, &[row(1, "b", "ok", 1)]);
        let begun = |row: Row| {
            let mut batch = engine.batch(None);
            batch.append(&table, &batch_of(&[row])).unwrap();
            batch.settle_keys().unwrap();
            batch
        };
        let batch = begun(row(5, "a", "ok", 2));
        engine.recompress(Some(&table)).unwrap();
        support::append(&engine, &table, &[row(6, "a", "ok", 1)]);
        batch.commit().unwrap();
        let batch = begun(row(7, "a", "ok", 2));
        support::append(&engine, &table, &[row(7, "a", "ok", 1)]);
        engine.recompress(Some(&table)).unwrap();
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(read_all(&engine, &table).unwrap().len(), 6);
    }
}

#[test]
fn zeros_are_one_key_whatever_their_sign_and_so_are_nans() {
    let (_folder, engines) = engines();
    for engine in engines {
        for (name, column_type, memory) in [
            ("single", ColumnType::Float32, None),
            ("double", ColumnType::Float64, None),
            ("single in memory", ColumnType::Float32, Some(InMemory::default())),
            ("double in memory", ColumnType::Float64, Some(InMemory::default())),
        ] {
            let mut definition = TableDefinition::new(name).with_column("x", column_type, None);
            definition.memory = memory;
            let columns = vec![definition.columns[0].id];
            definition.unique = vec![Unique::new(columns)];
            let table = engine.create_table(&definition).unwrap();
            let add = |value: f64| {
                let values: ArrayRef = Arc::new(Float64Array::from(vec![value]));
                let values = cast(&values, &atsdb_codec::logical_type(&definition.columns[0])).unwrap();
                let mut batch = engine.batch(None);
                batch.append(&table, &RecordBatch::try_from_iter([("x", values)]).unwrap())?;
                batch.commit().map(drop)
            };
            for (first, again) in [(0.0, -0.0), (f64::NAN, -f64::NAN), (1.5, 1.5)] {
                add(first).unwrap();
                assert_eq!(add(again).unwrap_err().kind(), ErrorKind::DuplicateKey, "{name}: {again} after {first}");
            }
        }
    }
}

#[test]
fn an_index_of_keys_knows_those_of_chunks_to_their_bounds_and_its_own() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed(&[&["sensor", "time"]])).unwrap();
        let unnamed = (20, None, None, None);
        support::append(
            &engine,
            &table,
            &[row(10, "a", "ok", 1), unnamed, row(20, "a", "ok", 1), row(15, "b", "ok", 1)],
        );
        support::append(&engine, &table, &[row(40, "a", "ok", 1)]);
        let mut batch = engine.batch(None);
        let mut index = batch.key_index(&table).unwrap();
        let mut is_new = |sensor: Option<&str>, time: i64| {
            let sensor = sensor.map_or(KeyValue::Null, |sensor| KeyValue::Bytes(sensor.as_bytes()));
            index.add(|column| if column == 0 { KeyValue::Int(time) } else { sensor }).unwrap()
        };
        for time in [10, 20, 40] {
            assert!(!is_new(Some("a"), time), "{time}");
        }
        assert!(is_new(Some("a"), 15) && !is_new(Some("a"), 15), "its own");
        assert!(!is_new(Some("b"), 15) && is_new(Some("b"), 10) && is_new(Some("c"), 10));
        assert!(is_new(None, 20) && is_new(None, 20));
    }
}

#[test]
fn rows_that_have_the_keys_of_new_rows_are_found_in_every_chunk() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&keyed(&[&["sensor", "time"]])).unwrap();
        support::append(&engine, &table, &[row(9, "a", "ok", 8), row(10, "a", "ok", 1)]);
        support::append(&engine, &table, &[row(40, "a", "ok", 2), row(10, "b", "ok", 3)]);
        let mut batch = engine.batch(None);
        let new = [row(10, "a", "new", 0), row(11, "a", "new", 0), row(40, "a", "new", 0), row(10, "a", "new", 0)];
        let nameless = (10, None, None, None);
        let rows = batch.complete(&table, &batch_of(&[&new[..], &[nameless]].concat())).unwrap();
        let holders = batch.conflicting_rows(&table, 0, &rows).unwrap();
        assert_eq!(holders.group_of_row, [Some(0), Some(1), Some(2), Some(0), None]);
        let count = |place: &Option<(u32, u32)>| {
            let rows = place.map(|(chunk, row)| holders.rows.read(chunk, vec![row]).unwrap())?;
            Some(rows.column(3).as_primitive::<Int32Type>().value(0))
        };
        assert_eq!(holders.locations.iter().map(count).collect::<Vec<_>>(), [Some(1), None, Some(2)]);
    }
}

#[test]
fn of_many_inserts_of_the_same_keys_exactly_one_wins_each() {
    const KEYS: i64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    // Two engines, as in two processes, with two threads each.
    let engines: Vec<Engine> = (0..2).map(|_| support::engine(support::sqlite(&path), SystemEnvironment)).collect();
    let table = engines[0].create_table(&keyed(&[&["sensor", "time"]])).unwrap();
    let start = Barrier::new(5);
    let wins: Vec<i64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (engine, table, start) = (&engines[writer % 2], &table, &start);
                scope.spawn(move || {
                    start.wait();
                    let insert = |key: i64| match append_with(
                        engine,
                        table,
                        &[row(key % 7, &format!("s{}", key / 7), "ok", writer as i32)],
                        ConflictPolicy::Error,
                    ) {
                        Ok(()) => 1,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
                            0
                        }
                    };
                    (0..KEYS).map(insert).sum()
                })
            })
            .collect();
        scope.spawn(|| {
            start.wait();
            for _ in 0..5 {
                let _ = engines[0].recompress(Some(&table));
            }
        });
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(wins.iter().sum::<i64>(), KEYS);
    let rows = read_all(&engines[1], &table).unwrap();
    assert_eq!(rows.len() as i64, KEYS);
}

#[test]
fn a_column_and_a_wider_key_come_with_the_rows_that_need_them() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition = support::readings();
        let columns = ["sensor", "time"].map(|name| definition.column(name).unwrap().id).to_vec();
        definition.unique = vec![Unique { nulls_equal: true, ..Unique::new(columns) }];
        definition.on_conflict = ConflictPolicy::Merge;
        let table = engine.create_table(&definition).unwrap();
        support::append(&engine, &table, &[row(1, "a", "ok", 1), (1, None, None, Some(1))]);
        engine.recompress(Some(&table)).unwrap();

        let mut wider = table.definition.clone().with_column("host", ColumnType::Text, Some(MapWidth::U32));
        let host = wider.columns[4].id;
        wider.unique[0].columns.push(host);
        let with_host = |count: i32, host: Option<&str>| {
            let mut columns = batch_of(&[(1, Some("a".into()), None, Some(count))]).columns().to_vec();
            columns.push(Arc::new(arrow::array::StringArray::from(vec![host])));
            let names = ["time", "sensor", "status", "count", "host"];
            RecordBatch::try_from_iter_with_nullable(names.into_iter().zip(columns).map(|(n, c)| (n, c, true))).unwrap()
        };
        let mut batch = engine.batch(None);
        let stale = engine.batch(None);
        let changed = batch.redefine(&table, wider).unwrap();
        batch.append(&changed, &with_host(7, Some("x"))).unwrap();
        batch.append(&changed, &with_host(8, None)).unwrap();
        batch.commit().unwrap();
        let seen = engine.snapshot().unwrap().table("readings").unwrap().clone();
        assert_eq!(seen.definition, changed.definition);
        let expected = [row(1, "a", "ok", 8), (1, Some("a".into()), None, Some(7)), (1, None, None, Some(1))];
        assert_eq!(read_all(&engine, &seen).unwrap(), sorted(&expected), "a row without a host merges with older ones");
        drop(stale);

        let mut stale = engine.batch(None);
        stale.append(&table, &batch_of(&[row(1, "a", "new", 9)])).unwrap();
        stale.commit().unwrap();
        let expected = [row(1, "a", "new", 9), (1, Some("a".into()), None, Some(7)), (1, None, None, Some(1))];
        assert_eq!(read_all(&engine, &seen).unwrap(), sorted(&expected), "an old definition is followed");
        assert_eq!(engine.verify(None).unwrap().findings, []);
    }
}

#[test]
fn rows_of_a_table_with_several_keys_do_not_merge() {
    let (_folder, engines) = engines();
    for engine in engines {
        let definition = keyed(&[&["sensor", "time"], &["status"]]);
        let refused = TableDefinition { on_conflict: ConflictPolicy::Merge, ..definition.clone() };
        assert_eq!(engine.create_table(&refused).unwrap_err().kind(), ErrorKind::Usage);
        let table = engine.create_table(&definition).unwrap();
        let error = append_with(&engine, &table, &[row(1, "a", "ok", 1)], ConflictPolicy::Merge).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}

/// A model of a table, to which rows are appended one by one.
struct Model {
    keys: Vec<Vec<usize>>,
    nulls_equal: bool,
    rows: Vec<Row>,
}

impl Model {
    fn value(row: &Row, column: usize) -> Option<String> {
        match column {
            0 => Some(row.0.to_string()),
            1 => row.1.clone(),
            2 => row.2.clone(),
            _ => row.3.map(|count| count.to_string()),
        }
    }

    fn same(&self, a: &Row, b: &Row) -> bool {
        let same = |column: &usize| {
            let value = Self::value(a, *column);
            (value.is_some() || self.nulls_equal) && value == Self::value(b, *column)
        };
        self.keys.iter().any(|key| key.iter().all(same))
    }

    fn append(&mut self, rows: &[Row], policy: ConflictPolicy) -> bool {
        let before = self.rows.clone();
        for row in rows {
            let duplicate = self.rows.iter().any(|other| self.same(other, row));
            match policy {
                ConflictPolicy::Error if duplicate => {
                    self.rows = before;
                    return false;
                }
                ConflictPolicy::Keep if duplicate => continue,
                ConflictPolicy::Replace => {
                    let others = std::mem::take(&mut self.rows);
                    let stays: Vec<bool> = others.iter().map(|other| !self.same(other, row)).collect();
                    self.rows = others.into_iter().zip(stays).filter(|(_, stays)| *stays).map(|(row, _)| row).collect();
                }
                ConflictPolicy::Merge => {
                    if let Some(at) = self.rows.iter().position(|other| self.same(other, row)) {
                        let old = self.rows.remove(at);
                        let (sensor, status) = (row.1.clone().or(old.1), row.2.clone().or(old.2));
                        self.rows.push((row.0, sensor, status, row.3.or(old.3)));
                        continue;
                    }
                }
                _ => {}
            }
            self.rows.push(row.clone());
        }
        true
    }
}

/// The policies that are allowed with several keys.
const NOT_MERGE: [ConflictPolicy; 3] = [ConflictPolicy::Error, ConflictPolicy::Replace, ConflictPolicy::Keep];

#[derive(Debug, Clone)]
enum KeyedAction {
    /// Batches of rows in one commit, each with the step after it: none, settle the keys, or take a snapshot.
    Append(ConflictPolicy, Vec<(Vec<Row>, u8)>),
    Seal,
}

fn any_row() -> impl Strategy<Value = Row> {
    let sensor = prop::option::weighted(0.9, (0..4u8).prop_map(|number| format!("s{number}")));
    let status = prop::option::weighted(0.5, (0..30u8).prop_map(|number| format!("t{number}")));
    let time = (0..3i64, 0..6i64).prop_map(|(day, minute)| day * DAY + minute * 60);
    (time, sensor, status, prop::option::weighted(0.9, 0..40i32))
}

fn any_step(policies: &'static [ConflictPolicy]) -> impl Strategy<Value = KeyedAction> {
    let policy = prop::sample::select(policies);
    let rows = (prop::collection::vec(any_row(), 0..9), any::<bool>()).prop_map(|(mut rows, in_order)| {
        if in_order {
            rows.sort();
        }
        rows
    });
    let append = (policy, prop::collection::vec((rows, 0..3u8), 1..4))
        .prop_map(|(policy, rows)| KeyedAction::Append(policy, rows));
    prop_oneof![6 => append, 1 => Just(KeyedAction::Seal)]
}

fn check(keys: &[&[&str]], nulls_equal: bool, steps: &[KeyedAction]) {
    let mut stored = keyed(keys);
    stored.unique.iter_mut().for_each(|unique| unique.nulls_equal = nulls_equal);
    let mut in_memory = TableDefinition { memory: Some(InMemory::default()), ..stored.clone() };
    in_memory.columns.iter_mut().for_each(|column| column.map = None::<MapWidth>);
    check_table(keys, &stored, steps);
    check_table(keys, &in_memory, steps);
}

fn check_table(keys: &[&[&str]], definition: &TableDefinition, steps: &[KeyedAction]) {
    let position = |name: &&str| definition.position(name).unwrap();
    let mut model = Model {
        keys: keys.iter().map(|names| names.iter().map(position).collect()).collect(),
        nulls_equal: definition.unique[0].nulls_equal,
        rows: vec![],
    };
    let (_folder, engines) = engines();
    for engine in engines {
        model.rows.clear();
        let table = engine.create_table(definition).unwrap();
        for step in steps {
            let KeyedAction::Append(policy, batches) = step else {
                if !definition.is_in_memory() {
                    engine.recompress(Some(&table)).unwrap();
                }
                continue;
            };
            let all: Vec<Row> = batches.iter().flat_map(|(rows, _)| rows.clone()).collect();
            let expected = model.append(&all, *policy);
            let mut batch = engine.batch(None);
            let mut append = || -> atsdb_core::Result<()> {
                for (rows, after) in batches {
                    batch.append_with(&table, &batch_of(rows), *policy)?;
                    match after {
                        1 => batch.settle_keys()?,
                        2 => drop(batch.snapshot()?),
                        _ => {}
                    }
                }
                Ok(())
            };
            let done = append().and_then(|()| batch.commit().map(drop));
            match &done {
                Ok(()) => assert!(expected, "a duplicate was let in"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
                    assert!(!expected, "{error}");
                }
            }
            let rows =
                if definition.is_in_memory() { in_memory(&engine, &table) } else { read_all(&engine, &table).unwrap() };
            assert_eq!(rows, sorted(&model.rows));
        }
    }
}

/// Returns the rows of a table in memory, sorted.
fn in_memory(engine: &Engine, table: &Table) -> Vec<Row> {
    let state = engine.snapshot().unwrap().resident(table).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    for (part, range) in state.row_ranges(usize::MAX) {
        let (columns, _) = state.read(part, range, &[0, 1, 2, 3]).unwrap();
        let times = columns[0].as_primitive::<arrow::datatypes::TimestampSecondType>();
        let text = |column: usize, row: usize| {
            let texts = columns[column].as_string::<i32>();
            texts.iter().nth(row).flatten().map(str::to_owned)
        };
        let counts = columns[3].as_primitive::<Int32Type>();
        for row in 0..times.len() {
            rows.push((times.value(row), text(1, row), text(2, row), counts.iter().nth(row).flatten()));
        }
    }
    sorted(&rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_as_if_they_had_come_one_by_one(nulls_equal in any::<bool>(), steps in prop::collection::vec(any_step(ConflictPolicy::ALL), 1..8)) {
        check(&[&["sensor", "time"]], nulls_equal, &steps);
    }

    #[test]
    fn a_key_needs_no_time(nulls_equal in any::<bool>(), steps in prop::collection::vec(any_step(ConflictPolicy::ALL), 1..8)) {
        check(&[&["count"]], nulls_equal, &steps);
    }

    #[test]
    fn two_keys_hold_both(nulls_equal in any::<bool>(), steps in prop::collection::vec(any_step(&NOT_MERGE), 1..8)) {
        check(&[&["sensor", "time"], &["status"]], nulls_equal, &steps);
    }
}
