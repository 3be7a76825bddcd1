//! Guards: a change is applied only if nothing was added to a table in the meantime.

use super::helpers::*;
use crate::sample::{Plan, amended, amendment, series_table};
use atsdb_core::{Change, ChunkId, CommitOutcome, ErrorKind, Store, TableId, TimeRange};

const NONE: ChunkId = ChunkId(0);

fn newest(store: &dyn Store, table: TableId) -> ChunkId {
    visible(store, table).iter().map(|entry| entry.id).max().unwrap_or(NONE)
}

pub(super) fn a_guard_holds_while_nothing_newer_is_there(store: &dyn Store) {
    let table = create(store, "t");
    commit(store, guarded(table, NONE, Change::default())).unwrap();
    let first = append(store, &Plan::new(1).chunk(table));
    let second = append(store, &Plan::new(2).chunk(table));
    commit(store, guarded(table, second, adding(vec![Plan::new(3).chunk(table)]))).unwrap();
    commit(store, guarded(table, ChunkId(i64::MAX), adding(vec![Plan::new(4).chunk(table)]))).unwrap();
    assert_kind(commit(store, guarded(table, first, Change::default())), ErrorKind::Conflict);
    assert_kind(commit(store, guarded(table, second, Change::default())), ErrorKind::Conflict);
    assert_kind(commit(store, guarded(table, NONE, Change::default())), ErrorKind::Conflict);
    assert_eq!(visible(store, table).len(), 4);
}

pub(super) fn chunks_of_the_change_itself_do_not_break_its_guard(store: &dyn Store) {
    let table = create(store, "t");
    let old = fill(store, table, 0..2);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(5).chunk(table)], NOW_MS).unwrap();
    let change = Change { stage: Some(stage), add: vec![Plan::new(6).chunk(table)], ..removing(&old) };
    let change = guarded(table, newest(store, table), change);
    assert_eq!(commit(store, change).unwrap(), CommitOutcome::Committed);
    assert_holds(store, table, &[Plan::new(5).chunk(table), Plan::new(6).chunk(table)]);
}

pub(super) fn chunks_of_another_writer_break_a_guard(store: &dyn Store) {
    let table = create(store, "t");
    let other = create(store, "u");
    let stage = || {
        let stage = store.open_stage(NOW_MS).unwrap();
        store.stage(stage, vec![Plan::new(30).chunk(table)], NOW_MS).unwrap();
        stage
    };
    let old = fill(store, table, 0..2);
    let sealed = Change { add: vec![Plan::new(20).chunk(table)], ..removing(&old) };
    for another in [adding(vec![Plan::new(10).chunk(table)]), sealed, publishing(stage())] {
        let known = newest(store, table);
        commit(store, another).unwrap();
        let before = everything(store);
        let change = adding(vec![Plan::new(40).chunk(other), Plan::new(41).chunk(table)]);
        assert_kind(commit(store, guarded(table, known, change.clone())), ErrorKind::Conflict);
        assert_eq!(everything(store), before);
        commit(store, guarded(table, newest(store, table), change)).unwrap();
    }
}

pub(super) fn removed_and_amended_chunks_break_no_guard(store: &dyn Store) {
    let table = create(store, "t");
    let old = fill(store, table, 0..3);
    let known = newest(store, table);
    commit(store, removing(&old[..1])).unwrap();
    commit(store, removing(&old[2..])).unwrap();
    let chunk = Plan::new(1).chunk(table);
    commit(store, amending(vec![amendment(old[1].id, &chunk, &amended(&chunk, 0, 50))])).unwrap();
    commit(store, redefining(vec![renaming(table, "t", "u")])).unwrap();
    commit(store, guarded(table, known, Change::default())).unwrap();
    // The number of a removed chunk is never reused, so an older number is equivalent.
    commit(store, guarded(table, old[1].id, Change::default())).unwrap();
}

pub(super) fn a_guard_is_of_one_table_and_of_what_is_visible(store: &dyn Store) {
    let (table, other) = (create(store, "t"), create(store, "u"));
    let known = append(store, &Plan::new(1).chunk(table));
    fill(store, other, 10..15);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(20).chunk(table)], NOW_MS).unwrap();
    let gone = create(store, "gone");
    fill(store, gone, 30..33);
    store.drop_table(gone).unwrap();
    commit(store, guarded(table, known, adding(vec![Plan::new(2).chunk(table)]))).unwrap();
    assert_kind(commit(store, guarded(other, known, Change::default())), ErrorKind::Conflict);
}

pub(super) fn a_guard_is_of_a_table_that_is_there(store: &dyn Store) {
    let (gone, kept) = (create(store, "gone"), create(store, "kept"));
    store.drop_table(gone).unwrap();
    let (own, other) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    let mine = store.create_table(&series_table("mine"), Some(own)).unwrap().id;
    let foreign = store.create_table(&series_table("foreign"), Some(other)).unwrap().id;
    store.stage(own, vec![Plan::new(1).chunk(mine)], NOW_MS).unwrap();
    for missing in [gone, foreign, TableId(kept.0 + 99)] {
        let change = guarded(missing, NONE, adding(vec![Plan::new(2).chunk(kept)]));
        assert_kind(commit(store, change), ErrorKind::NotFound);
    }
    assert!(visible(store, kept).is_empty());
    commit(store, guarded(mine, NONE, publishing(own))).unwrap();
    assert_holds(store, mine, &[Plan::new(1).chunk(mine)]);
}

pub(super) fn every_guard_of_a_change_must_hold(store: &dyn Store) {
    let tables = [create(store, "a"), create(store, "b"), create(store, "c")];
    let known: Vec<_> = tables.iter().map(|table| append(store, &Plan::new(1).chunk(*table))).collect();
    let guards = |known: &[ChunkId]| {
        let guard = |(table, newest): (&TableId, &ChunkId)| atsdb_core::ChunkGuard { table: *table, newest: *newest };
        tables.iter().zip(known).map(guard).collect::<Vec<_>>()
    };
    let change = |known: &[ChunkId]| Change { guards: guards(known), ..adding(vec![Plan::new(9).chunk(tables[0])]) };
    append(store, &Plan::new(2).chunk(tables[2]));
    assert_kind(commit(store, change(&known)), ErrorKind::Conflict);
    assert_eq!(visible(store, tables[0]).len(), 1);
    let known: Vec<_> = tables.iter().map(|table| newest(store, *table)).collect();
    commit(store, change(&known)).unwrap();
}

pub(super) fn a_guard_sees_the_changes_before_it(store: &dyn Store) {
    let table = create(store, "t");
    let known = append(store, &Plan::new(1).chunk(table));
    let change = |seed| guarded(table, known, adding(vec![Plan::new(seed).chunk(table)]));
    let failing = Change { remove: vec![(table, ChunkId(9_999))], ..change(7) };
    let outcomes = store.commit(&[failing, change(2), change(3)], NOW_MS).unwrap();
    let kinds: Vec<_> = outcomes.into_iter().map(|outcome| outcome.map_err(|error| error.kind())).collect();
    assert_eq!(kinds, [Err(ErrorKind::Conflict), Ok(CommitOutcome::Committed), Err(ErrorKind::Conflict)]);
    assert_holds(store, table, &[Plan::new(1).chunk(table), Plan::new(2).chunk(table)]);
}

pub(super) fn the_newest_number_is_a_guard_for_every_table(store: &dyn Store) {
    let newest = || store.snapshot().unwrap().newest_chunk().unwrap();
    let (table, other) = (create(store, "t"), create(store, "u"));
    let empty = newest();
    let first = append(store, &Plan::new(1).chunk(table));
    assert!(first > empty && first <= newest());
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(5).chunk(table)], NOW_MS).unwrap();
    let old = store.snapshot().unwrap();
    let known = old.newest_chunk().unwrap();
    commit(store, guarded(table, known, adding(vec![Plan::new(2).chunk(other)]))).unwrap();
    commit(store, guarded(table, known, Change::default())).unwrap();
    commit(store, publishing(stage)).unwrap();
    assert_kind(commit(store, guarded(table, known, Change::default())), ErrorKind::Conflict);
    assert_eq!(old.newest_chunk().unwrap(), known, "a snapshot does not see later chunks");
    commit(store, guarded(table, newest(), Change::default())).unwrap();
    commit(store, guarded(other, newest(), Change::default())).unwrap();
    let now = store.snapshot().unwrap();
    for number in [empty, first, known, newest()] {
        let mut expected = now.chunks(table, TimeRange::ALL).unwrap();
        expected.retain(|entry| entry.id > number);
        assert_eq!(now.chunks_since(table, number).unwrap(), expected);
    }
    for snapshot in [&old, &now] {
        for table in [table, other] {
            let listed = snapshot.chunks(table, TimeRange::ALL).unwrap().len();
            assert_eq!(snapshot.chunk_count(table).unwrap(), listed);
        }
    }
    assert_eq!(old.chunks_since(table, empty).unwrap().len(), 1);
    assert_eq!(old.chunks_since(table, first).unwrap(), []);
}
