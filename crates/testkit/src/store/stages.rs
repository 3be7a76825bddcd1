//! Stages.

use super::helpers::*;
use crate::sample::{Plan, series_table};
use atsdb_core::limits::{EXPIRY_CONFIRM_MS, STAGE_IDLE_MS_MAX};
use atsdb_core::{Change, CommitOutcome, ErrorKind, StageId, Store, TableId};

pub(super) fn staged_chunks_appear_together_at_commit(store: &dyn Store) {
    let (first, second) = (create(store, "a"), create(store, "b"));
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(1).chunk(first), Plan::new(2).chunk(second)], NOW_MS).unwrap();
    store.stage(stage, Vec::new(), NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(3).chunk(first)], NOW_MS).unwrap();
    assert!(visible(store, first).is_empty() && visible(store, second).is_empty());
    let change = Change { stage: Some(stage), add: vec![Plan::new(4).chunk(second)], ..Change::default() };
    assert_eq!(commit(store, change).unwrap(), CommitOutcome::Committed);
    assert_holds(store, first, &[Plan::new(1).chunk(first), Plan::new(3).chunk(first)]);
    assert_holds(store, second, &[Plan::new(2).chunk(second), Plan::new(4).chunk(second)]);
}

pub(super) fn a_staged_chunk_is_numbered_by_its_commit(store: &dyn Store) {
    let (staged, direct) = (create(store, "staged"), create(store, "direct"));
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(1).chunk(staged), Plan::new(2).chunk(staged)], NOW_MS).unwrap();
    let before = fill(store, direct, 3..5);
    commit(store, publishing(stage)).unwrap();
    let after = visible(store, staged);
    assert!(after.iter().all(|late| before.iter().all(|early| early.id < late.id)));
    // Within the stage, in the order written.
    assert_entry(&after[0], &Plan::new(1).chunk(staged));
    assert_entry(&after[1], &Plan::new(2).chunk(staged));
    assert_holds(store, staged, &[Plan::new(1).chunk(staged), Plan::new(2).chunk(staged)]);
}

pub(super) fn an_abandoned_stage_leaves_nothing(store: &dyn Store) {
    let table = create(store, "t");
    let size_before = store.size().unwrap();
    let stage = store.open_stage(NOW_MS).unwrap();
    store
        .stage(stage, (0..8).map(|seed| Plan::new(seed).with_pages(3, 20_000).chunk(table)).collect(), NOW_MS)
        .unwrap();
    store.abandon_stage(stage).unwrap();
    assert!(visible(store, table).is_empty());
    assert_kind(commit(store, publishing(stage)), ErrorKind::NotFound);
    reclaim_all(store, 1 << 20, NOW_MS);
    assert!(visible(store, table).is_empty());
    let size_after = store.size().unwrap();
    assert!(size_after.total < size_before.total + 100_000, "{size_before:?} {size_after:?}");
}

pub(super) fn abandoning_a_missing_stage_does_nothing(store: &dyn Store) {
    store.abandon_stage(StageId(99)).unwrap();
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(1).chunk(table)], NOW_MS).unwrap();
    commit(store, publishing(stage)).unwrap();
    store.abandon_stage(stage).unwrap();
    assert_eq!(visible(store, table).len(), 1);
}

pub(super) fn numbers_of_stages_are_not_used_again(store: &dyn Store) {
    let first = store.open_stage(NOW_MS).unwrap();
    let second = store.open_stage(NOW_MS).unwrap();
    store.abandon_stage(second).unwrap();
    store.abandon_stage(first).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    let third = store.open_stage(NOW_MS).unwrap();
    assert!(first < second && second < third);
}

pub(super) fn a_missing_stage_accepts_no_chunks(store: &dyn Store) {
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    commit(store, publishing(stage)).unwrap();
    assert_kind(store.stage(stage, vec![Plan::new(1).chunk(table)], NOW_MS), ErrorKind::NotFound);
    assert_kind(store.stage(StageId(stage.0 + 9), vec![Plan::new(1).chunk(table)], NOW_MS), ErrorKind::NotFound);
    let change = Change { stage: Some(stage), add: vec![Plan::new(2).chunk(table)], ..Change::default() };
    assert_kind(commit(store, change), ErrorKind::NotFound);
    assert!(visible(store, table).is_empty());
}

pub(super) fn an_idle_stage_is_abandoned_and_a_touched_one_is_not(store: &dyn Store) {
    let table = create(store, "t");
    let (idle, touched) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    store.create_table(&series_table("idle"), Some(idle)).unwrap();
    for stage in [idle, touched] {
        store.stage(stage, vec![Plan::new(1).chunk(table)], NOW_MS).unwrap();
    }
    store.stage(touched, vec![Plan::new(2).chunk(table)], NOW_MS + STAGE_IDLE_MS_MAX).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS + STAGE_IDLE_MS_MAX / 2);
    store.stage(idle, vec![Plan::new(3).chunk(table)], NOW_MS).unwrap();
    // It is found idle, and is still idle an hour later.
    for later in [1, EXPIRY_CONFIRM_MS / 2, EXPIRY_CONFIRM_MS, EXPIRY_CONFIRM_MS + 1] {
        assert_eq!(store.stages().unwrap(), [idle, touched]);
        reclaim_all(store, 1 << 20, NOW_MS + STAGE_IDLE_MS_MAX + later);
    }
    assert_kind(commit(store, publishing(idle)), ErrorKind::NotFound);
    assert_eq!(commit(store, publishing(touched)).unwrap(), CommitOutcome::Committed);
    assert_holds(store, table, &[Plan::new(1).chunk(table), Plan::new(2).chunk(table)]);
    assert_eq!(table_names(store), ["t"]);
    create(store, "idle");
}

/// A process whose clock is days ahead checks repeatedly, for longer than idle stages must be observed.
pub(super) fn a_clock_that_is_ahead_takes_no_stage_that_is_written_to(store: &dyn Store) {
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    let ahead = 3 * STAGE_IDLE_MS_MAX;
    for hour in 0..6 {
        let now_ms = NOW_MS + hour * EXPIRY_CONFIRM_MS;
        store.stage(stage, vec![Plan::new(hour as u64).chunk(table)], now_ms).unwrap();
        reclaim_all(store, 1 << 20, now_ms + ahead);
        reclaim_all(store, 1 << 20, now_ms + ahead + EXPIRY_CONFIRM_MS - 1);
    }
    // A reader with a right clock is not misled either.
    let now_ms = NOW_MS + 6 * EXPIRY_CONFIRM_MS;
    for minute in 0..180 {
        reclaim_all(store, 1 << 20, now_ms + minute * 60_000);
        reclaim_all(store, 1 << 20, now_ms + minute * 60_000 + ahead);
    }
    commit(store, publishing(stage)).unwrap();
    assert_eq!(visible(store, table).len(), 6);
}

pub(super) fn staging_for_a_table_that_is_not_there_writes_nothing(store: &dyn Store) {
    let table = create(store, "t");
    let (stage, other) = (store.open_stage(NOW_MS).unwrap(), store.open_stage(NOW_MS).unwrap());
    let foreign = store.create_table(&series_table("foreign"), Some(other)).unwrap().id;
    for missing in [TableId(table.0 + 70), foreign] {
        let chunks = vec![Plan::new(1).chunk(table), Plan::new(2).chunk(missing)];
        assert_kind(store.stage(stage, chunks, NOW_MS), ErrorKind::NotFound);
    }
    commit(store, publishing(stage)).unwrap();
    assert!(visible(store, table).is_empty());
}

pub(super) fn committing_a_stage_for_a_dropped_table_is_not_found(store: &dyn Store) {
    let (gone, kept) = (create(store, "gone"), create(store, "kept"));
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(1).chunk(kept), Plan::new(2).chunk(gone)], NOW_MS).unwrap();
    store.drop_table(gone).unwrap();
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_kind(commit(store, publishing(stage)), ErrorKind::NotFound);
    assert!(visible(store, kept).is_empty() && visible(store, gone).is_empty());
    store.abandon_stage(stage).unwrap();
}

pub(super) fn a_chunk_may_join_a_table_of_the_same_commit(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let table = store.create_table(&series_table("t"), Some(stage)).unwrap().id;
    assert_kind(commit(store, adding(vec![Plan::new(1).chunk(table)])), ErrorKind::NotFound);
    let change = Change { stage: Some(stage), add: vec![Plan::new(1).chunk(table)], ..Change::default() };
    commit(store, change).unwrap();
    assert_holds(store, table, &[Plan::new(1).chunk(table)]);
}
