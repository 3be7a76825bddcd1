//! Foreign keys: rows and the rows that they refer to, within a batch, and between batches of two processes that are
//! open at the same time.

use crate::support::{self, engines};
use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use atsdb_core::{
    ColumnType, ConflictPolicy, ErrorKind, ForeignKey, MapWidth, QualifiedName, ReferentialAction, Result, Table,
    TableDefinition, Unique,
};
use atsdb_engine::{Batch, CopyOptions, Engine, Rewrite, ScanRequest, Selection, SystemEnvironment};
use atsdb_memory::MemoryStore;
use std::collections::BTreeSet;
use std::sync::Arc;

fn parents() -> TableDefinition {
    let mut definition = TableDefinition::new("parents").with_column("id", ColumnType::Int64, None);
    definition = definition.with_column("name", ColumnType::Text, Some(MapWidth::U8));
    definition.unique.push(Unique::new(vec![definition.columns[0].id]));
    definition
}

fn key_to(parent: &str, child: &TableDefinition, column: usize, on_delete: ReferentialAction) -> ForeignKey {
    let (name, columns) = (format!("{}_fkey", child.name), vec![child.columns[column].id]);
    let parent = QualifiedName { schema: None, name: parent.to_owned() };
    ForeignKey { on_delete, ..ForeignKey::new(name, columns, parent, vec!["id".to_owned()]) }
}

fn unreferring() -> TableDefinition {
    let definition = TableDefinition::new("children").with_column("parent", ColumnType::Int64, None);
    definition.with_column("n", ColumnType::Int64, None)
}

fn children(on_delete: ReferentialAction) -> TableDefinition {
    let mut definition = unreferring();
    definition.foreign_keys.push(key_to("parents", &definition, 0, on_delete));
    definition
}

fn parent_rows(ids: &[i64]) -> RecordBatch {
    let names = ids.iter().map(|id| format!("name {id}")).collect::<Vec<_>>();
    let columns: [(&str, ArrayRef); 2] =
        [("id", Arc::new(Int64Array::from(ids.to_vec()))), ("name", Arc::new(StringArray::from(names)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn child_rows(parents: &[Option<i64>]) -> RecordBatch {
    let numbers: Vec<i64> = (0..).take(parents.len()).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("parent", Arc::new(Int64Array::from(parents.to_vec()))), ("n", Arc::new(Int64Array::from(numbers)))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn committed(engine: &Engine, work: impl FnOnce(&mut Batch) -> Result<()>) -> Result<()> {
    let mut batch = engine.batch(None);
    work(&mut batch)?;
    batch.commit().map(drop)
}

/// Deletes the rows whose first column has one of these values.
fn delete(batch: &mut Batch, table: &Table, values: &[i64]) -> Result<()> {
    let snapshot = batch.snapshot()?;
    let scan = snapshot.scan(table, &ScanRequest::all(table))?;
    batch.set_deleting(true);
    for position in 0..scan.chunks().len() {
        let stored = scan.read_stored(position, &[0])?.remove(0);
        let stays = |value: Option<i64>| Some(!value.is_some_and(|value| values.contains(&value)));
        let keep: BooleanArray = stored.as_primitive::<Int64Type>().iter().map(stays).collect();
        if keep.true_count() < keep.len() {
            let successor = scan.rewrite(position, &Rewrite { keep: Some(keep), set: Vec::new() })?;
            batch.replace(table, scan.chunks()[position].entry.id, successor)?;
        }
    }
    batch.set_deleting(false);
    batch.end_statement()
}

/// Gives all rows of a table other values in the first column.
fn shift(batch: &mut Batch, table: &Table, by: i64) -> Result<()> {
    let snapshot = batch.snapshot()?;
    let scan = snapshot.scan(table, &ScanRequest::all(table))?;
    for position in 0..scan.chunks().len() {
        let stored = scan.read_stored(position, &[0])?.remove(0);
        let values: ArrayRef = Arc::new(stored.as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| value + by));
        let successor = scan.rewrite(position, &Rewrite { keep: None, set: vec![(0, values)] })?;
        batch.replace(table, scan.chunks()[position].entry.id, successor)?;
    }
    batch.end_statement()
}

/// The values of a table's first column, in order.
fn values(engine: &Engine, name: &str) -> Vec<Option<i64>> {
    let snapshot = engine.snapshot().unwrap();
    let table = snapshot.table(name).unwrap();
    let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
    let mut all = Vec::new();
    for position in 0..scan.chunks().len() {
        let stored = scan.read_stored(position, &[0]).unwrap().remove(0);
        all.extend(stored.as_primitive::<Int64Type>().iter());
    }
    all.sort_unstable();
    all
}

fn kind(done: &Result<()>) -> Option<ErrorKind> {
    done.as_ref().err().map(atsdb_core::Error::kind)
}

/// An engine of another process on the same store, and the tables with these parents.
fn both(engine: &Engine, on_delete: ReferentialAction, ids: &[i64]) -> (Engine, Table, Table) {
    let other = support::engine(Arc::clone(engine.store()), SystemEnvironment);
    engine.create_table(&parents()).unwrap();
    let child = engine.create_table(&children(on_delete)).unwrap();
    // The foreign key has given the parent another version.
    let parent = engine.table("parents").unwrap();
    committed(engine, |batch| batch.append(&parent, &parent_rows(ids))).unwrap();
    (other, parent, child)
}

#[test]
fn a_row_needs_its_parent_and_a_parent_is_needed() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (_, parent, child) = both(&engine, ReferentialAction::NoAction, &[1, 2, 3]);
        committed(&engine, |batch| batch.append(&child, &child_rows(&[Some(1), None, Some(3)]))).unwrap();
        let refused = committed(&engine, |batch| batch.append(&child, &child_rows(&[Some(1), Some(9)])));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForeignKeyViolation);
        assert!(error.message().ends_with("Key (parent)=(9) is not present in table \"parents\""), "{error}");
        let error = committed(&engine, |batch| delete(batch, &parent, &[2, 3])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForeignKeyViolation);
        assert!(error.message().ends_with("Key (id)=(3) is still referenced from table \"children\""), "{error}");
        let error = committed(&engine, |batch| shift(batch, &child, 1)).unwrap_err();
        assert!(error.message().ends_with("Key (parent)=(4) is not present in table \"parents\""), "{error}");
        committed(&engine, |batch| delete(batch, &parent, &[2])).unwrap();
        assert_eq!(values(&engine, "parents"), [Some(1), Some(3)]);
        assert_eq!(values(&engine, "children"), [None, Some(1), Some(3)]);
        assert_eq!(engine.verify(None).unwrap().findings, []);
    }
}

#[test]
fn what_a_batch_adds_and_removes_counts_at_the_end_of_each_statement() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (_, parent, child) = both(&engine, ReferentialAction::NoAction, &[1]);
        let mut batch = engine.batch(None);
        // A parent of the same batch, in memory and then in a chunk.
        batch.append(&child, &child_rows(&[Some(7)])).unwrap();
        batch.append(&parent, &parent_rows(&[7, 8])).unwrap();
        batch.end_statement().unwrap();
        batch.savepoint("a").unwrap();
        assert_eq!(kind(&delete(&mut batch, &parent, &[7])), Some(ErrorKind::ForeignKeyViolation));
        batch.rollback_to_savepoint("a").unwrap();
        batch.append(&child, &child_rows(&[Some(9)])).unwrap();
        assert_eq!(kind(&batch.end_statement()), Some(ErrorKind::ForeignKeyViolation));
        batch.rollback_to_savepoint("a").unwrap();
        delete(&mut batch, &parent, &[8]).unwrap();
        batch.append(&child, &child_rows(&[Some(8)])).unwrap();
        assert_eq!(kind(&batch.end_statement()), Some(ErrorKind::ForeignKeyViolation));
        batch.rollback_to_savepoint("a").unwrap();
        delete(&mut batch, &child, &[7]).unwrap();
        delete(&mut batch, &parent, &[7]).unwrap();
        batch.commit().unwrap();
        assert_eq!(values(&engine, "parents"), [Some(1), Some(8)]);
        assert!(values(&engine, "children").is_empty());
    }
}

#[test]
fn a_deletion_goes_on_and_a_change_does_not() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (_, parent, child) = both(&engine, ReferentialAction::Cascade, &[1, 2, 3]);
        committed(&engine, |batch| batch.append(&child, &child_rows(&[Some(1), Some(2), Some(2)]))).unwrap();
        let mut grandchildren = TableDefinition { name: "grandchildren".into(), ..unreferring() };
        grandchildren.foreign_keys.push(ForeignKey {
            parent_columns: vec!["n".to_owned()],
            ..key_to("children", &grandchildren, 0, ReferentialAction::SetNull)
        });
        let refused = engine.create_table(&grandchildren).unwrap_err();
        assert!(refused.message().contains("no unique constraint"), "{refused}");
        let mut keyed = child.definition.clone();
        keyed.unique.push(Unique::new(vec![keyed.columns[1].id]));
        committed(&engine, |batch| batch.redefine(&child, keyed).map(drop)).unwrap();
        let grandchild = engine.create_table(&grandchildren).unwrap();
        committed(&engine, |batch| batch.append(&grandchild, &child_rows(&[Some(0), Some(1), None]))).unwrap();
        let error = committed(&engine, |batch| shift(batch, &parent, 10)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ForeignKeyViolation, "{error}");
        let parent = engine.table("parents").unwrap();
        committed(&engine, |batch| delete(batch, &parent, &[2, 3])).unwrap();
        assert_eq!(values(&engine, "children"), [Some(1)]);
        assert_eq!(values(&engine, "grandchildren"), [None, None, Some(0)]);
        let parent = engine.table("parents").unwrap();
        committed(&engine, |batch| batch.truncate(&parent).map(drop)).unwrap();
        assert!(values(&engine, "children").is_empty());
        assert_eq!(values(&engine, "grandchildren"), [None, None, None]);
        assert_eq!(engine.verify(None).unwrap().findings, []);
    }
}

#[test]
fn of_a_new_row_and_the_deletion_of_its_parent_only_the_first_is_committed() {
    let (_folder, engines) = engines();
    for engine in engines {
        for action in [ReferentialAction::NoAction, ReferentialAction::Cascade] {
            for deletes_first in [false, true] {
                for is_whole_chunk in [false, true] {
                    let ids: &[i64] = if is_whole_chunk { &[1] } else { &[1, 2] };
                    let (other, parent, child) = both(&engine, action, ids);
                    let mut adding = engine.batch(None);
                    adding.append(&child, &child_rows(&[Some(1)])).unwrap();
                    adding.end_statement().unwrap();
                    let mut deleting = other.batch(None);
                    delete(&mut deleting, &parent, &[1]).unwrap();
                    let (first, second) = if deletes_first { (deleting, adding) } else { (adding, deleting) };
                    first.commit().unwrap();
                    let refused = second.commit_unrepeated().map(drop);
                    // A repeated deletion would also delete the new row.
                    let expected = match (action, deletes_first) {
                        (ReferentialAction::Cascade, false) => ErrorKind::Conflict,
                        _ => ErrorKind::ForeignKeyViolation,
                    };
                    assert_eq!(kind(&refused), Some(expected), "{action:?} {deletes_first}");
                    let known: BTreeSet<_> = values(&engine, "parents").into_iter().collect();
                    assert!(values(&engine, "children").iter().all(|value| known.contains(value)));
                    assert_eq!(values(&engine, "children").is_empty(), deletes_first);
                    let tables = engine.tables().unwrap();
                    committed(&engine, |batch| batch.drop_tables(&tables)).unwrap();
                }
            }
        }
    }
}

#[test]
fn what_does_not_matter_to_the_other_batch_is_no_conflict() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (other, parent, child) = both(&engine, ReferentialAction::NoAction, &[1, 2, 3]);
        // Another parent is deleted, and then the chunk of the parents is sealed.
        let mut adding = engine.batch(None);
        adding.append(&child, &child_rows(&[Some(1)])).unwrap();
        adding.end_statement().unwrap();
        committed(&other, |batch| delete(batch, &parent, &[2])).unwrap();
        other.recompress(None).unwrap();
        adding.commit().unwrap();
        // Another row is added, and the children are sealed.
        let parent = engine.table("parents").unwrap();
        let mut deleting = engine.batch(None);
        delete(&mut deleting, &parent, &[3]).unwrap();
        committed(&other, |batch| batch.append(&child, &child_rows(&[Some(1), None]))).unwrap();
        other.recompress(Some(&child)).unwrap();
        deleting.commit().unwrap();
        assert_eq!(values(&engine, "parents"), [Some(1)]);
        assert_eq!(values(&engine, "children"), [None, Some(1), Some(1)]);
        // Two batches delete different parents, and a third adds one.
        committed(&engine, |batch| batch.append(&engine.table("parents")?, &parent_rows(&[4, 5]))).unwrap();
        let parent = engine.table("parents").unwrap();
        committed(&engine, |batch| batch.append(&parent, &parent_rows(&[6]))).unwrap();
        let mut adding = engine.batch(None);
        adding.append(&parent, &parent_rows(&[7])).unwrap();
        adding.end_statement().unwrap();
        let mut deleting = engine.batch(None);
        delete(&mut deleting, &parent, &[6]).unwrap();
        committed(&other, |batch| delete(batch, &parent, &[4])).unwrap();
        deleting.commit().unwrap();
        adding.commit().unwrap();
        assert_eq!(values(&engine, "parents"), [Some(1), Some(5), Some(7)]);
    }
}

#[test]
fn a_foreign_key_is_added_only_if_all_rows_have_parents_when_it_is_committed() {
    let (_folder, engines) = engines();
    for engine in engines {
        let other = support::engine(Arc::clone(engine.store()), SystemEnvironment);
        let parent = engine.create_table(&parents()).unwrap();
        committed(&engine, |batch| batch.append(&parent, &parent_rows(&[1, 2]))).unwrap();
        let plain = engine.create_table(&unreferring()).unwrap();
        committed(&engine, |batch| batch.append(&plain, &child_rows(&[Some(1), Some(9)]))).unwrap();
        let refused = engine.batch(None).redefine(&plain, children(ReferentialAction::NoAction)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ForeignKeyViolation);
        committed(&engine, |batch| delete(batch, &plain, &[9])).unwrap();
        // Another writer, who does not know the foreign key, deletes the parent.
        let mut adding = engine.batch(None);
        adding.redefine(&plain, children(ReferentialAction::NoAction)).unwrap();
        committed(&other, |batch| delete(batch, &parent, &[1])).unwrap();
        assert_eq!(adding.commit().unwrap_err().kind(), ErrorKind::Conflict);
        committed(&engine, |batch| batch.append(&parent, &parent_rows(&[1]))).unwrap();
        // Another writer adds a row without a parent.
        let mut adding = engine.batch(None);
        adding.redefine(&plain, children(ReferentialAction::NoAction)).unwrap();
        committed(&other, |batch| batch.append(&plain, &child_rows(&[Some(8)]))).unwrap();
        assert_eq!(adding.commit().unwrap_err().kind(), ErrorKind::Conflict);
        committed(&engine, |batch| delete(batch, &plain, &[8])).unwrap();
        // Others have prepared a deletion and a row before the foreign key is committed.
        let mut deleting = other.batch(None);
        delete(&mut deleting, &parent, &[1]).unwrap();
        let mut late = other.batch(None);
        late.append(&plain, &child_rows(&[Some(8)])).unwrap();
        committed(&engine, |batch| batch.redefine(&plain, children(ReferentialAction::NoAction)).map(drop)).unwrap();
        assert_eq!(deleting.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(late.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(values(&engine, "children"), [Some(1)]);
    }
}

#[test]
fn a_parent_keeps_its_key_and_gives_its_new_names_to_its_children() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (_, parent, child) = both(&engine, ReferentialAction::NoAction, &[1]);
        let mut keyless = parent.definition.clone();
        keyless.unique.clear();
        let error = engine.batch(None).redefine(&parent, keyless).unwrap_err();
        assert!(error.message().contains("other objects depend on it"), "{error}");
        let error = engine.batch(None).drop_table(&parent).unwrap_err();
        assert!(error.message().starts_with("cannot drop table parents because"), "{error}");
        let mut renamed = parent.definition.clone();
        renamed.name = "elders".to_owned();
        renamed.columns[0].name = "number".to_owned();
        committed(&engine, |batch| batch.redefine(&parent, renamed).map(drop)).unwrap();
        let child = engine.snapshot().unwrap().table_by_id(child.id).unwrap().clone();
        let key = &child.definition.foreign_keys[0];
        assert_eq!((key.parent.name.as_str(), key.parent_columns[0].as_str()), ("elders", "number"));
        let refused = committed(&engine, |batch| batch.append(&child, &child_rows(&[Some(2)])));
        assert_eq!(kind(&refused), Some(ErrorKind::ForeignKeyViolation));
        committed(&engine, |batch| batch.append(&child, &child_rows(&[Some(1)]))).unwrap();
        let tables = engine.tables().unwrap();
        committed(&engine, |batch| batch.drop_tables(&tables)).unwrap();
    }
}

#[test]
fn rows_of_a_conflict_policy_and_of_texts_are_looked_up() {
    let (_folder, engines) = engines();
    for engine in engines {
        let mut names = TableDefinition::new("names").with_column("id", ColumnType::Text, Some(MapWidth::U8));
        names.unique.push(Unique::new(vec![names.columns[0].id]));
        let names = engine.create_table(&names).unwrap();
        let mut keyed = TableDefinition::new("keyed").with_column("n", ColumnType::Int64, None);
        keyed = keyed.with_column("name", ColumnType::Text, Some(MapWidth::U16));
        keyed.unique.push(Unique::new(vec![keyed.columns[0].id]));
        keyed.foreign_keys.push(key_to("names", &keyed, 1, ReferentialAction::NoAction));
        let keyed = engine.create_table(&keyed).unwrap();
        let texts = |texts: &[&str]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
        // The strings have other indices in the other dictionary.
        let rows = RecordBatch::try_from_iter([("id", texts(&["x", "b", "a"]))]).unwrap();
        committed(&engine, |batch| batch.append(&engine.table("names")?, &rows)).unwrap();
        let rows = |numbers: &[i64], names: &[&str]| {
            let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
            RecordBatch::try_from_iter([("n", numbers), ("name", texts(names))]).unwrap()
        };
        committed(&engine, |batch| batch.append(&keyed, &rows(&[1, 2], &["a", "b"]))).unwrap();
        for policy in [ConflictPolicy::Replace, ConflictPolicy::Merge] {
            let put = |name: &str| committed(&engine, |batch| batch.append_with(&keyed, &rows(&[1], &[name]), policy));
            assert_eq!(kind(&put("c")), Some(ErrorKind::ForeignKeyViolation), "{policy:?}");
            put("x").unwrap();
        }
        committed(&engine, |batch| batch.append_with(&keyed, &rows(&[1], &["c"]), ConflictPolicy::Keep)).unwrap();
        let names = engine.table("names").unwrap_or(names);
        let refused = committed(&engine, |batch| batch.truncate(&names).map(drop));
        assert_eq!(kind(&refused), Some(ErrorKind::ForeignKeyViolation));
    }
}

#[test]
fn a_copy_has_the_foreign_keys_whose_parents_it_has() {
    let (_folder, engines) = engines();
    for engine in engines {
        let (_, _, child) = both(&engine, ReferentialAction::Cascade, &[1, 2]);
        committed(&engine, |batch| batch.append(&child, &child_rows(&[Some(1)]))).unwrap();
        let copy = |tables: &[&str]| {
            let target = support::engine(Arc::new(MemoryStore::new([9; 16])), SystemEnvironment);
            let tables = tables.iter().map(|name| (*name).to_owned()).collect();
            let cut = engine.cut(&Selection { tables, ..Selection::default() }).unwrap();
            target.copy_from(&cut, &CopyOptions::default()).unwrap();
            target
        };
        let whole = copy(&[]);
        let table = whole.table("children").unwrap();
        assert_eq!(table.definition.foreign_keys, child.definition.foreign_keys);
        let refused = committed(&whole, |batch| batch.append(&table, &child_rows(&[Some(5)])));
        assert_eq!(kind(&refused), Some(ErrorKind::ForeignKeyViolation));
        let part = copy(&["children"]);
        assert!(part.table("children").unwrap().definition.foreign_keys.is_empty());
    }
}

/// A generator of numbers with a period that is long enough for the histories below.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn in_no_history_of_two_processes_does_a_row_lose_its_parent() {
    let mut commits = 0;
    for seed in 0..60 {
        let own = support::engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment);
        let action = [ReferentialAction::NoAction, ReferentialAction::Cascade, ReferentialAction::SetNull];
        let (other, ..) = both(&own, action[seed as usize % 3], &[0, 1, 2, 3]);
        let engines = [own, other];
        let mut numbers = Numbers(seed);
        let mut open: Vec<Option<Batch>> = vec![None, None, None];
        for _ in 0..80 {
            let at = numbers.below(3) as usize;
            let engine = &engines[at % 2];
            if numbers.below(40) == 0 {
                engine.recompress(None).unwrap();
            }
            let mut batch = open[at].take().unwrap_or_else(|| engine.batch(None));
            let id = numbers.below(6) as i64;
            let tables = batch.tables().unwrap();
            let named = |name: &str| tables.iter().find(|table| table.definition.name == name).unwrap();
            let done = match numbers.below(5) {
                0 => batch.append(named("parents"), &parent_rows(&[id])).and_then(|()| batch.end_statement()),
                1 => delete(&mut batch, named("parents"), &[id]),
                2 => delete(&mut batch, named("children"), &[id]),
                3 => {
                    let rows = child_rows(&[Some(id), None]);
                    batch.append(named("children"), &rows).and_then(|()| batch.end_statement())
                }
                _ => {
                    commits += i32::from(batch.commit().is_ok());
                    let known: BTreeSet<_> = values(engine, "parents").into_iter().collect();
                    let lost =
                        values(engine, "children").into_iter().find(|value| value.is_some() && !known.contains(value));
                    assert_eq!(lost, None, "seed {seed}");
                    continue;
                }
            };
            // After an error the batch is begun anew.
            open[at] = done.is_ok().then_some(batch);
        }
    }
    assert!(commits > 200, "only {commits} commits");
}
