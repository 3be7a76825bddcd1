//! Changes that have every part are applied completely or not at all.

use super::helpers::*;
use crate::sample::{Plan, amended, amendment, series_table};
use atsdb_core::{
    BatchId, Change, ChunkGuard, ChunkId, ColumnId, CommitOutcome, DefinitionVersion, ErrorKind, NewChunk, StageId,
    Store, TableId,
};

/// A change with every part, and the required contents of the store.
struct Sample {
    old: TableId,
    table: TableId,
    renamed: TableId,
    staged: TableId,
    stage: StageId,
    more: NewChunk,
    change: Change,
}

/// `old` is dropped and another table takes its name, and `before` is renamed to `after`. Of the chunks of `t`, one is
/// removed, one gets a page, one is added, and one comes from the stage.
fn sample(store: &dyn Store) -> Sample {
    let (old, table, renamed) = (create(store, "old"), create(store, "t"), create(store, "before"));
    fill(store, old, 0..2);
    let entries = fill(store, table, 2..5);
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("old"), Some(stage)).unwrap().id;
    store.stage(stage, vec![Plan::new(10).chunk(staged), Plan::new(11).chunk(table)], NOW_MS).unwrap();
    let chunk = Plan::new(3).chunk(table);
    let more = amended(&chunk, 0, 700);
    let guard = |table: TableId, newest: ChunkId| ChunkGuard { table, newest };
    let change = Change {
        batch: None,
        parts: vec![BatchId::new("part").unwrap()],
        stage: Some(stage),
        add: vec![Plan::new(12).chunk(renamed), Plan::new(13).chunk(table), Plan::new(14).chunk(staged)],
        remove: vec![(table, entries[0].id)],
        drop: vec![old],
        redefine: vec![renaming(renamed, "before", "after")],
        amend: vec![amendment(entries[1].id, &chunk, &more)],
        guards: vec![guard(table, entries[2].id), guard(renamed, ChunkId(0)), guard(old, entries[2].id)],
        based_on: [old, table, renamed, staged].map(based_on_first).to_vec(),
    };
    Sample { old, table, renamed, staged, stage, more, change }
}

#[track_caller]
fn assert_done(store: &dyn Store, sample: &Sample) {
    let Sample { table, renamed, staged, .. } = *sample;
    assert_eq!(table_names(store), ["t", "after", "old"]);
    assert!(visible(store, sample.old).is_empty());
    let chunks =
        [sample.more.clone(), Plan::new(4).chunk(table), Plan::new(11).chunk(table), Plan::new(13).chunk(table)];
    assert_holds(store, table, &chunks);
    assert_holds(store, renamed, &[Plan::new(12).chunk(renamed)]);
    assert_holds(store, staged, &[Plan::new(10).chunk(staged), Plan::new(14).chunk(staged)]);
    assert_kind(store.stage_snapshot(sample.stage), ErrorKind::NotFound);
    assert_eq!(commit(store, named("part", Change::default())).unwrap(), CommitOutcome::Duplicate);
}

pub(super) fn a_change_of_all_parts_is_done_whole(store: &dyn Store) {
    let sample = sample(store);
    let held = store.snapshot().unwrap();
    assert_eq!(commit(store, named("batch", sample.change.clone())).unwrap(), CommitOutcome::Committed);
    assert_done(store, &sample);
    assert_eq!(held.tables().unwrap().len(), 3);
    assert_shows(&*held, sample.table, &[2, 3, 4].map(|seed| Plan::new(seed).chunk(sample.table)));
    drop(held);
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_done(store, &sample);
}

pub(super) fn a_part_that_fails_undoes_all_others(store: &dyn Store) {
    let sample = sample(store);
    let missing = TableId(sample.staged.0 + 99);
    let stray = Plan::new(99).chunk(missing);
    type Break<'a> = Box<dyn Fn(&mut Change) + 'a>;
    let breaks: [(ErrorKind, Break<'_>); 16] = [
        (ErrorKind::Conflict, Box::new(|change| change.based_on[1].version = DefinitionVersion(2))),
        (ErrorKind::NotFound, Box::new(|change| change.based_on.push(based_on_first(missing)))),
        (ErrorKind::NotFound, Box::new(|change| change.guards.push(ChunkGuard { table: missing, newest: ChunkId(9) }))),
        (ErrorKind::Conflict, Box::new(|change| change.guards[0].newest.0 -= 1)),
        (ErrorKind::NotFound, Box::new(|change| change.drop.push(missing))),
        (ErrorKind::NotFound, Box::new(|change| change.redefine.push(renaming(missing, "x", "y")))),
        (ErrorKind::Conflict, Box::new(|change| change.redefine[0].from = series_table("other"))),
        (ErrorKind::Exists, Box::new(|change| change.redefine[0].to = series_table("T"))),
        // The stage also has a table of this name.
        (ErrorKind::Exists, Box::new(|change| change.redefine[0].to = series_table("OLD"))),
        (ErrorKind::NotFound, Box::new(|change| change.remove.push((missing, ChunkId(1))))),
        (ErrorKind::Conflict, Box::new(|change| change.remove.push((sample.table, ChunkId(9_999))))),
        (ErrorKind::Conflict, Box::new(|change| change.amend[0].from.push(0))),
        (ErrorKind::Internal, Box::new(|change| change.amend[0].pages[0].1.push(0))),
        // Unless the old table is dropped, the name of the staged table is taken.
        (ErrorKind::Exists, Box::new(|change| change.drop.clear())),
        (ErrorKind::NotFound, Box::new(|change| change.stage = Some(StageId(sample.stage.0 + 99)))),
        (ErrorKind::NotFound, Box::new(|change| change.add.push(stray.clone()))),
    ];
    let before = everything(store);
    for (position, (kind, break_part)) in breaks.into_iter().enumerate() {
        let mut change = named("batch", sample.change.clone());
        break_part(&mut change);
        let error = commit(store, change).expect_err("a broken change is refused");
        assert_eq!(error.kind(), kind, "{position}: {error}");
        assert_eq!(everything(store), before, "{position}");
        let staged = store.stage_snapshot(sample.stage).unwrap();
        assert_shows(&*staged, sample.table, &[Plan::new(11).chunk(sample.table)]);
        assert_shows(&*staged, sample.staged, &[Plan::new(10).chunk(sample.staged)]);
        assert_shows(
            &*store.snapshot().unwrap(),
            sample.table,
            &[2, 3, 4].map(|seed| Plan::new(seed).chunk(sample.table)),
        );
    }
    reclaim_all(store, 1 << 20, NOW_MS);
    // Between two changes that fail, it is applied as if it were alone, under the batch name that a failing one had.
    let broken = Change { remove: vec![(sample.table, ChunkId(9_999))], ..sample.change.clone() };
    let changes = vec![broken, named("batch", sample.change.clone()), sample.change.clone()];
    let kinds: Vec<_> = store.commit(&changes, NOW_MS).unwrap();
    let kinds: Vec<_> = kinds.into_iter().map(|outcome| outcome.map_err(|error| error.kind())).collect();
    // The third is refused because its part was committed by the second.
    assert_eq!(kinds, [Err(ErrorKind::Conflict), Ok(CommitOutcome::Committed), Err(ErrorKind::Conflict)]);
    assert_done(store, &sample);
}

pub(super) fn a_duplicate_does_no_part_of_it(store: &dyn Store) {
    let sample = sample(store);
    commit(store, named("batch", Change::default())).unwrap();
    let before = everything(store);
    assert_eq!(commit(store, named("batch", sample.change.clone())).unwrap(), CommitOutcome::Duplicate);
    assert_eq!(everything(store), before);
    assert_kind(store.stage_snapshot(sample.stage), ErrorKind::NotFound);
    assert_kind(store.map_values(sample.staged, ColumnId(1), 10, &[b"a"]), ErrorKind::NotFound);
    // It is a duplicate even if no part of it could be applied any more.
    let mut gone = Change { stage: None, ..sample.change };
    gone.guards[0].newest = ChunkId(0);
    gone.drop.push(TableId(9_999));
    gone.redefine[0].from = series_table("other");
    gone.amend[0].from.push(0);
    assert_eq!(commit(store, named("batch", gone)).unwrap(), CommitOutcome::Duplicate);
    assert_eq!(everything(store), before);
}
