//! Creating, listing and dropping tables.

use super::helpers::*;
use crate::sample::{Plan, series_table, wide_table};
use atsdb_core::{ColumnId, CommitOutcome, ErrorKind, Retention, StageId, Store, TableDefinition, TableId};

pub(super) fn a_new_store_is_empty_and_undamaged(store: &dyn Store) {
    assert!(tables(store).is_empty());
    assert_eq!(store.verify().unwrap(), []);
    assert!(store.size().unwrap().tables.is_empty());
    assert!(!store.url().is_empty());
}

pub(super) fn a_created_table_is_listed_as_defined(store: &dyn Store) {
    let mut readings = series_table("Readings");
    readings.retention = Some(Retention::parse("2 years").unwrap());
    readings.key = vec![ColumnId(1)];
    let first = store.create_table(&readings, None).unwrap();
    let second = store.create_table(&wide_table("wide", 1_000), None).unwrap();
    assert_eq!(first.definition, readings);
    assert!(first.id < second.id);
    assert_eq!(tables(store), [first, second]);
}

pub(super) fn a_name_is_taken_in_any_case(store: &dyn Store) {
    create(store, "Größe");
    assert_kind(store.create_table(&series_table("GRÖßE"), None), ErrorKind::Exists);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.create_table(&series_table("größe"), Some(stage)).unwrap();
    assert_kind(store.create_table(&series_table("GRÖßE"), Some(stage)), ErrorKind::Exists);
    assert_kind(commit(store, publishing(stage)), ErrorKind::Exists);
    assert_eq!(table_names(store), ["Größe"]);
}

pub(super) fn a_definition_that_cannot_be_is_refused(store: &dyn Store) {
    assert_kind(store.create_table(&TableDefinition::new("empty"), None), ErrorKind::Usage);
    assert_kind(store.create_table(&wide_table("wide", 1_001), None), ErrorKind::Limit);
    assert!(tables(store).is_empty());
}

pub(super) fn dropping_takes_the_chunks_along(store: &dyn Store) {
    let (gone, kept) = (create(store, "gone"), create(store, "kept"));
    fill(store, gone, 0..3);
    fill(store, kept, 3..5);
    store.drop_table(gone).unwrap();
    assert_eq!(table_names(store), ["kept"]);
    assert!(visible(store, gone).is_empty());
    assert_holds(store, kept, &[Plan::new(3).chunk(kept), Plan::new(4).chunk(kept)]);
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_holds(store, kept, &[Plan::new(3).chunk(kept), Plan::new(4).chunk(kept)]);
}

pub(super) fn dropping_what_is_not_there_is_not_found(store: &dyn Store) {
    assert_kind(store.drop_table(TableId(7)), ErrorKind::NotFound);
    let table = create(store, "t");
    store.drop_table(table).unwrap();
    assert_kind(store.drop_table(table), ErrorKind::NotFound);
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("staged"), Some(stage)).unwrap();
    assert_kind(store.drop_table(staged.id), ErrorKind::NotFound);
}

pub(super) fn a_dropped_table_leaves_its_name_but_not_its_number(store: &dyn Store) {
    let first = create(store, "t");
    store.map_values(first, ColumnId(1), 10, &[b"old"]).unwrap();
    fill(store, first, 0..2);
    store.drop_table(first).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    let second = create(store, "T");
    assert!(second > first);
    assert!(visible(store, second).is_empty());
    assert!(store.snapshot().unwrap().mapping(second, ColumnId(1), 0).unwrap().is_empty());
    assert_eq!(store.map_values(second, ColumnId(1), 10, &[b"new"]).unwrap(), [0]);
}

pub(super) fn a_staged_table_appears_with_its_commit(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let table = store.create_table(&series_table("t"), Some(stage)).unwrap();
    assert_kind(store.create_table(&series_table("T"), Some(stage)), ErrorKind::Exists);
    store.stage(stage, vec![Plan::new(1).chunk(table.id)], NOW_MS).unwrap();
    assert!(tables(store).is_empty());
    assert!(visible(store, table.id).is_empty());
    assert_eq!(commit(store, publishing(stage)).unwrap(), CommitOutcome::Committed);
    assert_eq!(tables(store), std::slice::from_ref(&table));
    assert_holds(store, table.id, &[Plan::new(1).chunk(table.id)]);
    assert_kind(store.create_table(&series_table("u"), Some(StageId(stage.0 + 1_000))), ErrorKind::NotFound);
    assert_eq!(table_names(store), ["t"]);
}

pub(super) fn a_staged_table_whose_name_was_taken_is_refused_whole(store: &dyn Store) {
    let other = create(store, "other");
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("t"), Some(stage)).unwrap().id;
    store.stage(stage, vec![Plan::new(1).chunk(staged), Plan::new(2).chunk(other)], NOW_MS).unwrap();
    let taken = create(store, "T");
    assert_kind(commit(store, publishing(stage)), ErrorKind::Exists);
    assert!(visible(store, other).is_empty() && visible(store, staged).is_empty());
    // The conflicting table may be dropped; the stage still exists.
    store.drop_table(taken).unwrap();
    assert_eq!(commit(store, publishing(stage)).unwrap(), CommitOutcome::Committed);
    assert_holds(store, staged, &[Plan::new(1).chunk(staged)]);
}

pub(super) fn a_staged_table_is_removed_with_its_stage(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("t"), Some(stage)).unwrap().id;
    store.abandon_stage(stage).unwrap();
    assert_kind(commit(store, adding(vec![Plan::new(1).chunk(staged)])), ErrorKind::NotFound);
    assert!(create(store, "t") > staged);
    assert_eq!(tables(store).len(), 1);
}

pub(super) fn names_may_hold_anything_printable(store: &dyn Store) {
    let names = ["a'b", "a\"b", "a`b; DROP TABLE x", "%_", "表", "atsdb_table", "select", "é", "e\u{301}"];
    for name in names {
        create(store, name);
    }
    assert_eq!(table_names(store), names);
}
