//! Commits: all or nothing, conflicts, duplicates, numbers.

use super::helpers::*;
use crate::sample::Plan;
use atsdb_core::limits::{BATCH_ID_RETENTION_MS, EXPIRY_CONFIRM_MS};
use atsdb_core::{BatchId, Change, ChunkId, CommitOutcome, ErrorKind, Store, TableId};

pub(super) fn committed_chunks_are_read_back_unchanged(store: &dyn Store) {
    let table = create(store, "t");
    let chunks: Vec<_> = [0, 1, 479, 480, 4_000, 4_096, 65_536, 1_000_000]
        .into_iter()
        .enumerate()
        .map(|(seed, page_bytes)| Plan::new(seed as u64).with_pages(3, page_bytes).chunk(table))
        .collect();
    commit(store, adding(chunks.clone())).unwrap();
    assert_holds(store, table, &chunks);
}

pub(super) fn a_change_over_many_tables_is_all_or_nothing(store: &dyn Store) {
    let (first, second) = (create(store, "a"), create(store, "b"));
    let old = fill(store, first, 0..2);
    let change = Change {
        add: vec![Plan::new(5).chunk(first), Plan::new(6).chunk(second), Plan::new(7).chunk(TableId(second.0 + 9))],
        ..removing(&old)
    };
    assert_kind(commit(store, change), ErrorKind::NotFound);
    assert_eq!(visible(store, first), old);
    assert!(visible(store, second).is_empty());
}

pub(super) fn a_change_that_fails_leaves_the_others(store: &dyn Store) {
    let table = create(store, "t");
    let old = fill(store, table, 0..1);
    let changes = vec![
        adding(vec![Plan::new(1).chunk(table)]),
        Change { add: vec![Plan::new(2).chunk(table)], remove: vec![(table, ChunkId(9_999))], ..Change::default() },
        adding(vec![Plan::new(3).chunk(TableId(table.0 + 9))]),
        Change { add: vec![Plan::new(4).chunk(table)], ..removing(&old) },
        removing(&old),
        adding(vec![Plan::new(5).chunk(table)]),
    ];
    let outcomes = store.commit(&changes, NOW_MS).unwrap();
    let kinds: Vec<_> = outcomes.into_iter().map(|outcome| outcome.map_err(|error| error.kind())).collect();
    let done = Ok(CommitOutcome::Committed);
    assert_eq!(kinds, [done, Err(ErrorKind::Conflict), Err(ErrorKind::NotFound), done, Err(ErrorKind::Conflict), done]);
    let left = [1, 4, 5].map(|seed| Plan::new(seed).chunk(table));
    assert_holds(store, table, &left);
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_holds(store, table, &left);
}

pub(super) fn a_missing_chunk_is_a_conflict_and_nothing_is_done(store: &dyn Store) {
    let (table, other) = (create(store, "t"), create(store, "u"));
    let entries = fill(store, table, 0..3);
    commit(store, removing(&entries[1..2])).unwrap();
    let swap = Change { add: vec![Plan::new(9).chunk(table)], ..removing(&entries) };
    assert_kind(commit(store, swap), ErrorKind::Conflict);
    let twice = Change { remove: vec![(table, entries[0].id), (table, entries[0].id)], ..Change::default() };
    assert_kind(commit(store, twice), ErrorKind::Conflict);
    let elsewhere = Change { remove: vec![(other, entries[0].id)], ..Change::default() };
    assert_kind(commit(store, elsewhere), ErrorKind::Conflict);
    assert_holds(store, table, &[Plan::new(0).chunk(table), Plan::new(2).chunk(table)]);
}

pub(super) fn a_swap_is_seen_whole(store: &dyn Store) {
    let table = create(store, "t");
    let entries = fill(store, table, 0..10);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(20).chunk(table)], NOW_MS).unwrap();
    let swap = Change { stage: Some(stage), add: vec![Plan::new(21).chunk(table)], ..removing(&entries) };
    assert_eq!(commit(store, swap).unwrap(), CommitOutcome::Committed);
    assert_holds(store, table, &[Plan::new(20).chunk(table), Plan::new(21).chunk(table)]);
}

pub(super) fn a_batch_sent_twice_counts_once(store: &dyn Store) {
    let table = create(store, "t");
    let send = |name: &str, seed| commit(store, named(name, adding(vec![Plan::new(seed).chunk(table)])));
    assert_eq!(send("batch", 1).unwrap(), CommitOutcome::Committed);
    assert_eq!(send("batch", 2).unwrap(), CommitOutcome::Duplicate);
    for (seed, name) in ["Batch", "batch ", "batch\0", "b\u{e4}tch"].into_iter().enumerate() {
        assert_eq!(send(name, 10 + seed as u64).unwrap(), CommitOutcome::Committed, "{name:?}");
    }
    assert_eq!(visible(store, table).len(), 5);
    // It is a duplicate even if it could no longer be committed.
    let gone = Change { remove: vec![(table, ChunkId(9_999))], ..Change::default() };
    assert_eq!(commit(store, named("batch", gone)).unwrap(), CommitOutcome::Duplicate);
}

pub(super) fn a_batch_twice_in_one_commit_counts_once(store: &dyn Store) {
    let table = create(store, "t");
    let changes: Vec<_> = (0..3).map(|seed| named("batch", adding(vec![Plan::new(seed).chunk(table)]))).collect();
    let outcomes: Vec<_> = store.commit(&changes, NOW_MS).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes, [CommitOutcome::Committed, CommitOutcome::Duplicate, CommitOutcome::Duplicate]);
    assert_holds(store, table, &[Plan::new(0).chunk(table)]);
}

pub(super) fn the_parts_of_a_batch_are_recorded_with_it(store: &dyn Store) {
    let table = create(store, "t");
    let id = |name: &str| BatchId::new(name).unwrap();
    let send = |name: &str, parts: &[&str], seed| {
        let change = adding(vec![Plan::new(seed).chunk(table)]);
        let parts = parts.iter().map(|part| id(part)).collect();
        commit(store, Change { parts, ..named(name, change) })
    };
    assert_eq!(send("both", &["a", "b"], 1).unwrap(), CommitOutcome::Committed);
    assert_eq!(send("a", &[], 2).unwrap(), CommitOutcome::Duplicate);
    assert_kind(send("more", &["c", "b"], 3), ErrorKind::Conflict);
    // Nothing of the refused change was recorded.
    assert_eq!(send("c", &[], 4).unwrap(), CommitOutcome::Committed);
    assert_eq!(send("more", &["d"], 5).unwrap(), CommitOutcome::Committed);
    assert_eq!(visible(store, table).len(), 3);
}

pub(super) fn a_duplicate_drops_its_stage(store: &dyn Store) {
    let table = create(store, "t");
    commit(store, named("batch", adding(vec![Plan::new(1).chunk(table)]))).unwrap();
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(1).chunk(table)], NOW_MS).unwrap();
    assert_eq!(commit(store, named("batch", publishing(stage))).unwrap(), CommitOutcome::Duplicate);
    assert_kind(commit(store, publishing(stage)), ErrorKind::NotFound);
    assert_eq!(visible(store, table).len(), 1);
}

pub(super) fn a_batch_that_failed_may_be_sent_again(store: &dyn Store) {
    let table = create(store, "t");
    let missing = Change { remove: vec![(table, ChunkId(9_999))], ..Change::default() };
    assert_kind(commit(store, named("batch", missing)), ErrorKind::Conflict);
    let good = named("batch", adding(vec![Plan::new(1).chunk(table)]));
    assert_eq!(commit(store, good).unwrap(), CommitOutcome::Committed);
}

/// Commits a chunk as a batch with this name.
fn send_batch(store: &dyn Store, table: TableId, name: &str, now_ms: i64) -> CommitOutcome {
    let change = named(name, adding(vec![Plan::new(1).chunk(table)]));
    store.commit(&[change], now_ms).unwrap().remove(0).unwrap()
}

pub(super) fn a_batch_is_remembered_for_its_time(store: &dyn Store) {
    let table = create(store, "t");
    let send = |now_ms| send_batch(store, table, "batch", now_ms);
    assert_eq!(send(NOW_MS), CommitOutcome::Committed);
    reclaim_all(store, 1 << 20, NOW_MS + BATCH_ID_RETENTION_MS);
    assert_eq!(send(NOW_MS + BATCH_ID_RETENTION_MS), CommitOutcome::Duplicate);
    // It is found old, and is still old an hour later.
    let later_ms = NOW_MS + BATCH_ID_RETENTION_MS + 1_000;
    for passed_ms in [0, EXPIRY_CONFIRM_MS / 2, EXPIRY_CONFIRM_MS - 1] {
        reclaim_all(store, 1 << 20, later_ms + passed_ms);
        assert_eq!(send(later_ms + passed_ms), CommitOutcome::Duplicate);
    }
    reclaim_all(store, 1 << 20, later_ms + EXPIRY_CONFIRM_MS);
    assert_eq!(send(later_ms + EXPIRY_CONFIRM_MS), CommitOutcome::Committed);
}

/// A process whose clock is months ahead checks repeatedly, for longer than old ids must be observed. Others commit, or
/// check, by a right clock.
pub(super) fn a_clock_that_is_ahead_forgets_no_batch(store: &dyn Store) {
    let table = create(store, "t");
    let send = |name: &str, now_ms| send_batch(store, table, name, now_ms);
    let ahead = 3 * BATCH_ID_RETENTION_MS;
    assert_eq!(send("batch", NOW_MS), CommitOutcome::Committed);
    for hour in 0..4 {
        let now_ms = NOW_MS + hour * EXPIRY_CONFIRM_MS;
        assert_eq!(send(&format!("batch {hour}"), now_ms), CommitOutcome::Committed);
        reclaim_all(store, 1 << 20, now_ms + ahead);
        reclaim_all(store, 1 << 20, now_ms + ahead + EXPIRY_CONFIRM_MS - 1);
    }
    for hour in 4..8 {
        let now_ms = NOW_MS + hour * EXPIRY_CONFIRM_MS;
        reclaim_all(store, 1 << 20, now_ms);
        reclaim_all(store, 1 << 20, now_ms + ahead);
    }
    assert_eq!(send("batch", NOW_MS + 8 * EXPIRY_CONFIRM_MS), CommitOutcome::Duplicate);
}

/// However many old ids there are, one confirmation is enough for all.
pub(super) fn old_batches_are_forgotten_in_steps(store: &dyn Store) {
    let table = create(store, "t");
    let send = |name: &str, now_ms| send_batch(store, table, name, now_ms);
    let names: Vec<String> = (0..5).map(|number| format!("batch {number}")).collect();
    for (passed_ms, name) in names.iter().enumerate() {
        assert_eq!(send(name, NOW_MS + passed_ms as i64), CommitOutcome::Committed);
    }
    let later_ms = NOW_MS + BATCH_ID_RETENTION_MS + 1_000;
    for passed_ms in [0, EXPIRY_CONFIRM_MS] {
        reclaim_all(store, 1, later_ms + passed_ms);
    }
    for name in &names {
        assert_eq!(send(name, later_ms + EXPIRY_CONFIRM_MS), CommitOutcome::Committed);
    }
}

pub(super) fn later_commits_have_higher_numbers(store: &dyn Store) {
    let tables = [create(store, "a"), create(store, "b")];
    let mut last = ChunkId(i64::MIN);
    for seed in 0..10 {
        let table = tables[seed as usize % 2];
        commit(store, adding(vec![Plan::new(seed).in_slice(-86_400 * seed as i64).chunk(table)])).unwrap();
        let newest = tables.iter().flat_map(|table| visible(store, *table)).map(|entry| entry.id).max().unwrap();
        assert!(newest > last);
        last = newest;
    }
}

pub(super) fn numbers_of_chunks_are_not_used_again(store: &dyn Store) {
    let (table, dropped) = (create(store, "t"), create(store, "dropped"));
    let mut used = Vec::new();
    for round in 0..3 {
        let entries = fill(store, table, 0..3);
        used.extend(entries.iter().map(|entry| entry.id));
        commit(store, removing(&entries)).unwrap();
        if round == 1 {
            used.extend(fill(store, dropped, 3..6).iter().map(|entry| entry.id));
            store.drop_table(dropped).unwrap();
        }
        reclaim_all(store, 1 << 20, NOW_MS);
    }
    let mut different = used.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), used.len());
}

pub(super) fn a_dropped_table_takes_no_chunks(store: &dyn Store) {
    let table = create(store, "t");
    let entries = fill(store, table, 0..1);
    store.drop_table(table).unwrap();
    assert_kind(commit(store, adding(vec![Plan::new(1).chunk(table)])), ErrorKind::NotFound);
    assert_kind(commit(store, removing(&entries)), ErrorKind::NotFound);
    assert!(visible(store, table).is_empty());
}

pub(super) fn an_empty_change_can_be_committed(store: &dyn Store) {
    assert!(store.commit(&[], NOW_MS).unwrap().is_empty());
    assert_eq!(commit(store, Change::default()).unwrap(), CommitOutcome::Committed);
    assert_eq!(commit(store, named("empty", Change::default())).unwrap(), CommitOutcome::Committed);
    assert_eq!(commit(store, named("empty", Change::default())).unwrap(), CommitOutcome::Duplicate);
    let stage = store.open_stage(NOW_MS).unwrap();
    assert_eq!(commit(store, publishing(stage)).unwrap(), CommitOutcome::Committed);
}

pub(super) fn a_chunk_that_contradicts_itself_is_refused(store: &dyn Store) {
    let table = create(store, "t");
    let mut missing = Plan::new(1).chunk(table);
    missing.pages.pop();
    let mut shorter = Plan::new(2).chunk(table);
    shorter.pages[0].pop();
    let stage = store.open_stage(NOW_MS).unwrap();
    for bad in [missing, shorter] {
        assert_kind(commit(store, adding(vec![Plan::new(3).chunk(table), bad.clone()])), ErrorKind::Internal);
        assert_kind(store.stage(stage, vec![bad], NOW_MS), ErrorKind::Internal);
    }
    commit(store, publishing(stage)).unwrap();
    assert!(visible(store, table).is_empty());
}
