//! A unique key added to a table with rows. Afterwards no two rows have the same key, even if another writer adds rows
//! at the same time.

use crate::support::{self, Row, append, batch_of, engines, read_all, row};
use atsdb_core::{ColumnType, ErrorKind, InMemory, Result, Store, Table, TableDefinition, Unique};
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DAY: i64 = 86_400;

fn with_key(definition: &TableDefinition, names: &[&str], nulls_equal: bool) -> TableDefinition {
    let columns = names.iter().map(|name| definition.column(name).unwrap().id).collect();
    let mut definition = definition.clone();
    definition.unique.push(Unique { nulls_equal, ..Unique::new(columns) });
    definition
}

fn redefine(engine: &Engine, to: TableDefinition) -> Result<Table> {
    support::redefine(engine, &engine.table(&to.name)?, to)
}

fn add_key(engine: &Engine, names: &[&str]) -> Result<Table> {
    redefine(engine, with_key(&engine.table("readings")?.definition, names, false))
}

fn try_append(engine: &Engine, table: &Table, rows: &[Row]) -> Result<()> {
    let mut batch = engine.batch(None);
    batch.append(table, &batch_of(rows))?;
    batch.commit().map(drop)
}

#[test]
fn a_key_is_added_where_no_two_rows_have_it_and_holds_from_then_on() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&support::readings()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1), row(1, "b", "ok", 2), row(DAY, "a", "ok", 3)]);
        engine.recompress(None).unwrap();
        append(&engine, &table, &[row(2, "a", "ok", 4), (2, None, None, None), (2, None, None, None)]);
        let keyed = add_key(&engine, &["sensor", "time"]).unwrap();
        for stored in [row(1, "b", "new", 9), row(DAY, "a", "new", 9), row(2, "a", "new", 9)] {
            let error = try_append(&engine, &keyed, &[stored]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
        }
        try_append(&engine, &keyed, &[row(3, "a", "ok", 5), (2, None, None, None)]).unwrap();
        assert_eq!(read_all(&engine, &keyed).unwrap().len(), 8);

        let without = redefine(&engine, support::readings()).unwrap();
        try_append(&engine, &without, &[row(1, "b", "again", 6)]).unwrap();
        let error = add_key(&engine, &["sensor", "time"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
        assert_eq!(
            error.message(),
            "could not create unique index \"readings_sensor_time_key\": \
             Key (sensor, time)=(b, 1970-01-01T00:00:01Z) is duplicated"
        );
        assert!(!engine.table("readings").unwrap().definition.has_unique());
        assert_eq!(engine.verify(None).unwrap().findings, []);
    }
}

/// A generator of random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end) as i64
    }
}

/// Returns whether two rows have the same values in these columns.
fn has_duplicates(rows: &[Row], names: &[&str], nulls_equal: bool) -> bool {
    let value = |row: &Row, name: &&str| match *name {
        "time" => Some(row.0.to_string()),
        "sensor" => row.1.clone(),
        "status" => row.2.clone(),
        _ => row.3.map(|count| count.to_string()),
    };
    let keys = rows.iter().map(|row| names.iter().map(|name| value(row, name)).collect::<Vec<_>>());
    let mut known = BTreeSet::new();
    keys.filter(|key| nulls_equal || !key.contains(&None)).any(|key| !known.insert(key))
}

#[test]
fn a_key_is_refused_exactly_where_two_rows_have_it() {
    let keys: [&[&str]; 6] =
        [&["time"], &["sensor", "time"], &["count"], &["status"], &["status", "count"], &["count", "sensor"]];
    let (mut numbers, mut refused) = (Numbers(1), 0);
    for round in 0..400 {
        let engine = support::engine(Arc::new(MemoryStore::new([7; 16])), atsdb_engine::SystemEnvironment);
        let is_in_memory = round % 4 == 3;
        let mut definition = support::readings();
        if is_in_memory {
            definition.memory = Some(InMemory::default());
            definition.columns.iter_mut().for_each(|column| column.map = None);
        }
        let table = engine.create_table(&definition).unwrap();
        let (mut rows, values) = (Vec::new(), numbers.below(60) as u64 + 3);
        for _ in 0..numbers.below(5) {
            let mut some = |end| Some(numbers.below(end)).filter(|number| *number > 0);
            let mut row = || {
                let time = some(values).unwrap_or(0) * DAY / 2;
                let text = |number: i64| format!("s{number}");
                (time, some(values).map(text), some(values).map(text), some(values).map(|number| number as i32))
            };
            let more: Vec<Row> = (0..1 + round % 5).map(|_| row()).collect();
            append(&engine, &table, &more);
            rows.extend(more);
            if numbers.below(2) == 0 && !is_in_memory {
                engine.recompress(None).unwrap();
            }
        }
        for names in keys {
            for nulls_equal in [false, true] {
                let place = format!("{names:?}, {nulls_equal}, {rows:?}");
                let added = redefine(&engine, with_key(&definition, names, nulls_equal));
                let is_refused = has_duplicates(&rows, names, nulls_equal);
                match added {
                    Ok(_) => assert!(!is_refused, "{place}"),
                    Err(error) => assert!(is_refused && error.kind() == ErrorKind::DuplicateKey, "{place}: {error}"),
                }
                refused += u32::from(is_refused);
                redefine(&engine, definition.clone()).unwrap();
            }
        }
    }
    assert!((500..4_000).contains(&refused), "of 4,800 keys {refused} were refused");
}

#[test]
fn the_rows_of_the_batch_itself_count() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&support::readings()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1), row(2, "a", "ok", 1)]);
        let to = with_key(&table.definition, &["sensor", "time"], false);
        let mut batch = engine.batch(None);
        batch.append(&table, &batch_of(&[row(1, "a", "new", 2)])).unwrap();
        assert_eq!(batch.redefine(&table, to.clone()).unwrap_err().kind(), ErrorKind::DuplicateKey);
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Usage, "half of something is not stored");

        let mut batch = engine.batch(None);
        batch.append(&table, &batch_of(&[row(3, "a", "new", 2)])).unwrap();
        let keyed = batch.redefine(&table, to.clone()).unwrap();
        batch.append(&keyed, &batch_of(&[row(3, "a", "again", 3)])).unwrap();
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::DuplicateKey);

        // A row that the batch has removed is no conflict.
        let mut batch = engine.batch(None);
        batch.truncate(&table).unwrap();
        batch.append(&table, &batch_of(&[row(1, "a", "new", 2)])).unwrap();
        let keyed = batch.redefine(&table, to).unwrap();
        batch.append(&keyed, &batch_of(&[row(2, "a", "new", 3)])).unwrap();
        batch.commit().unwrap();
        assert_eq!(read_all(&engine, &keyed).unwrap(), [row(1, "a", "new", 2), row(2, "a", "new", 3)]);
    }
}

/// A change by another engine between the check and the commit, and whether the key can still be added.
type Meanwhile = (&'static str, fn(&Engine, &Table), bool);

const MEANWHILE: [Meanwhile; 7] = [
    ("sealing", |engine, _| assert!(engine.recompress(None).unwrap().chunks_before > 0), true),
    ("another row", |engine, table| append(engine, table, &[row(9, "a", "ok", 1)]), true),
    (
        "another row, sealed",
        |engine, table| {
            append(engine, table, &[row(9, "a", "ok", 1)]);
            engine.recompress(None).unwrap();
        },
        true,
    ),
    ("a row of a key that is there", |engine, table| append(engine, table, &[row(1, "a", "new", 9)]), false),
    (
        "the same, sealed",
        |engine, table| {
            append(engine, table, &[row(1, "a", "new", 9)]);
            engine.recompress(None).unwrap();
        },
        false,
    ),
    ("two rows of a key", |engine, table| append(engine, table, &[row(9, "a", "x", 1), row(9, "a", "y", 2)]), false),
    (
        "two rows of a key, one by one",
        |engine, table| {
            append(engine, table, &[row(9, "a", "x", 1)]);
            append(engine, table, &[row(9, "a", "y", 2)]);
        },
        false,
    ),
];

#[test]
fn rows_that_come_between_check_and_commit_are_checked() {
    for (name, meanwhile, may_be_added) in MEANWHILE {
        for has_own_rows in [false, true] {
            let (_folder, engines) = engines();
            for engine in engines {
                let place = format!("{name}, rows of its own: {has_own_rows}");
                let other = support::engine(Arc::clone(engine.store()), atsdb_engine::SystemEnvironment);
                let table = engine.create_table(&support::readings()).unwrap();
                append(&engine, &table, &[row(1, "a", "ok", 1), row(2, "a", "ok", 2)]);
                append(&engine, &table, &[row(1, "b", "ok", 1)]);
                let mut batch = engine.batch(None);
                let keyed = with_key(&table.definition, &["sensor", "time"], false);
                let keyed = batch.redefine(&table, keyed).unwrap();
                if has_own_rows {
                    batch.append(&keyed, &batch_of(&[row(7, "c", "ok", 1)])).unwrap();
                }
                meanwhile(&other, &table);
                let committed = batch.commit();
                let now = engine.table("readings").unwrap();
                match committed {
                    Ok(_) => assert!(may_be_added && now.definition.has_unique(), "{place}"),
                    Err(error) => {
                        assert!(!may_be_added && error.kind() == ErrorKind::Conflict, "{place}: {error}");
                        let again = add_key(&engine, &["sensor", "time"]).unwrap_err();
                        assert_eq!(again.kind(), ErrorKind::DuplicateKey, "{place}");
                    }
                }
                let rows = read_all(&engine, &engine.table("readings").unwrap()).unwrap();
                assert_eq!(has_duplicates(&rows, &["sensor", "time"], false), !may_be_added, "{place}");
            }
        }
    }
}

/// Adds a key while another engine appends before the given call. Returns false if there were fewer calls.
fn intervene(call: i64, repeats: bool) -> bool {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let quiet = |store: Arc<dyn Store>| {
        let options = EngineOptions { maintenance: false, preload_bytes: 0, ..EngineOptions::default() };
        Engine::new(store, options).unwrap()
    };
    let other = quiet(Arc::clone(&inner));
    let faults = Faults::new(Fails::Before);
    let own = quiet(Arc::new(FaultyStore::new(inner, &faults)));
    let table = other.create_table(&support::readings()).unwrap();
    append(&other, &table, &[row(1, "a", "ok", 1), row(2, "a", "ok", 2)]);
    let (acting, stale, has_acted) = (other.clone(), table.clone(), Arc::new(AtomicBool::new(false)));
    let noted = Arc::clone(&has_acted);
    let accepted = Arc::new(AtomicBool::new(false));
    let noted_accepted = Arc::clone(&accepted);
    faults.intervene(call, move || {
        let time = if repeats { 1 } else { 3 };
        // Appends with the definition from before the key.
        let done = try_append(&acting, &stale, &[row(time, "a", "new", 3)]);
        noted_accepted.store(done.is_ok(), Ordering::SeqCst);
        noted.store(true, Ordering::SeqCst);
    });
    let added = add_key(&own, &["sensor", "time"]);
    let _pause = faults.pause();
    let (has_acted, accepted) = (has_acted.load(Ordering::SeqCst), accepted.load(Ordering::SeqCst));
    let rows = read_all(&other, &other.table("readings").unwrap()).unwrap();
    let place = format!("before call {call}: {added:?}, {rows:?}");
    assert_eq!(rows.len(), 2 + usize::from(accepted), "{place}");
    assert_eq!(other.table("readings").unwrap().definition.has_unique(), added.is_ok(), "{place}");
    match added {
        Ok(_) => assert!(!has_duplicates(&rows, &["sensor", "time"], false), "{place}"),
        Err(error) => {
            assert!(has_acted && accepted, "{place}");
            assert!(matches!(error.kind(), ErrorKind::Conflict | ErrorKind::DuplicateKey), "{place}");
        }
    }
    has_acted
}

#[test]
fn a_row_may_come_between_any_two_calls() {
    for repeats in [false, true] {
        let calls = (0..).take_while(|call| intervene(*call, repeats)).count();
        assert!((3..100).contains(&calls), "{calls} calls");
    }
}

#[test]
fn batches_begun_before_the_key_are_not_stored_unchecked() {
    let (_folder, engines) = engines();
    for engine in engines {
        let other = support::engine(Arc::clone(engine.store()), atsdb_engine::SystemEnvironment);
        let table = engine.create_table(&with_key(&support::readings(), &["count"], false)).unwrap();
        let plain = engine.create_table(&TableDefinition { name: "plain".into(), ..support::readings() }).unwrap();
        for table in [&table, &plain] {
            append(&engine, table, &[row(1, "a", "ok", 1), row(2, "a", "ok", 2)]);
        }
        for table in [&table, &plain] {
            let waiting = |rows: &[Row]| {
                let mut batch = other.batch(None);
                batch.append(table, &batch_of(rows)).unwrap();
                batch
            };
            let mut settled = waiting(&[row(1, "a", "new", 3)]);
            settled.settle_keys().unwrap();
            let mut looked = waiting(&[row(1, "a", "new", 4)]);
            looked.snapshot().unwrap();
            let begun = [waiting(&[row(1, "a", "new", 5)]), settled, looked];
            redefine(&engine, with_key(&table.definition, &["sensor", "time"], false)).unwrap();
            for batch in begun {
                let kind = batch.commit().expect_err("a key that is there").kind();
                assert!(matches!(kind, ErrorKind::Conflict | ErrorKind::DuplicateKey), "{kind:?}");
            }
            let error = try_append(&other, table, &[row(1, "a", "new", 6)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DuplicateKey, "a table that was looked up before the key");
            let now = engine.table(&table.definition.name).unwrap();
            assert_eq!(read_all(&engine, &now).unwrap().len(), 2);
        }
    }
}

#[test]
fn null_is_forbidden_where_no_row_has_one() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&support::readings()).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1), (2, Some("a".into()), None, Some(2))]);
        let strict = |column: usize| {
            let mut to = support::readings();
            to.columns[column].nullable = false;
            to
        };
        let error = redefine(&engine, strict(2)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert_eq!(error.message(), "column \"status\" of table \"readings\" contains null values");
        let added = support::readings().with_column("new", ColumnType::Int32, None);
        let mut without_value = added.clone();
        without_value.columns[4].nullable = false;
        assert_eq!(redefine(&engine, without_value).unwrap_err().kind(), ErrorKind::InvalidValue);

        let mut batch = engine.batch(None);
        batch.redefine(&table, strict(3)).unwrap();
        append(&engine, &table, &[(3, None, None, None)]);
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict, "a NULL came in between");
        assert_eq!(redefine(&engine, strict(3)).unwrap_err().kind(), ErrorKind::InvalidValue);
        let mut batch = engine.batch(None);
        batch.truncate(&table).unwrap();
        batch.commit().unwrap();
        let table = redefine(&engine, strict(3)).unwrap();
        let error = try_append(&engine, &table, &[(3, None, None, None)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
    }
}

#[test]
fn rows_in_memory_and_those_saved_are_both_checked() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut definition = support::readings();
        definition.memory = Some(InMemory::default());
        definition.columns.iter_mut().for_each(|column| column.map = None);
        let table = engine.create_table(&definition).unwrap();
        append(&engine, &table, &[row(1, "a", "ok", 1), row(1, "a", "ok", 2)]);
        engine.save_resident(std::slice::from_ref(&table)).unwrap();
        let error = add_key(&engine, &["sensor", "time"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);

        let mut batch = engine.batch(None);
        batch.truncate(&table).unwrap();
        batch.append(&table, &batch_of(&[row(1, "a", "ok", 1)])).unwrap();
        batch.commit().unwrap();
        let error = add_key(&engine, &["sensor", "time"]).unwrap_err();
        assert_eq!(error.hint(), Some("CHECKPOINT the table first"), "{error}");
        engine.save_resident(std::slice::from_ref(&table)).unwrap();

        let other = support::engine(Arc::clone(engine.store()), atsdb_engine::SystemEnvironment);
        append(&other, &table, &[row(2, "b", "ok", 1), row(2, "b", "ok", 2)]);
        let keyed = add_key(&engine, &["sensor", "time"]).unwrap();
        assert_eq!(try_append(&engine, &keyed, &[row(1, "a", "x", 1)]).unwrap_err().kind(), ErrorKind::DuplicateKey);
        // This process has not seen the rows of the other one.
        let error = other.snapshot().unwrap().resident(&keyed).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
        assert!(error.message().contains("altered by another process"), "{error}");
        let again = redefine(&engine, definition).unwrap();
        assert_eq!(other.snapshot().unwrap().resident(&again).unwrap().row_count(), 3);
    }
}
