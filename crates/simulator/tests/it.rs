//! Runs a number of histories from one seed, all of which must keep the promises. `make simulate` runs more.

use atsdb_core::{Initially, ReferentialAction};
use atsdb_simulator::action::{Action, HistoryStep};
use atsdb_simulator::references::{Child, KeyClauses, ReferenceChange};
use atsdb_simulator::subject::{Cells, Policy, RowSelection, Shape};
use atsdb_simulator::{Language, Limit, Setting, StoreKind, are_there, generate, run_history, simulate};

fn run(store: StoreKind, language: Language, count: u64) {
    // The histories of different seeds do not overlap.
    let seed = atsdb_testkit::seed() << 32;
    let ran =
        simulate(Setting { store, language }, seed, Limit::Count(count)).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(ran, count);
}

#[test]
fn histories_in_memory_are_as_promised() {
    run(StoreKind::Memory, Language::Calls, 7_000);
}

#[test]
fn histories_in_a_file_are_as_promised() {
    run(StoreKind::Sqlite, Language::Calls, 900);
}

#[test]
fn histories_in_a_split_store_are_as_promised() {
    run(StoreKind::Split, Language::Calls, 900);
}

#[test]
fn histories_in_sql_are_as_promised() {
    run(StoreKind::Memory, Language::Sql, 1_200);
    run(StoreKind::Sqlite, Language::Sql, 100);
    run(StoreKind::Split, Language::Sql, 100);
}

#[test]
fn histories_on_servers_are_as_promised() {
    for store in [StoreKind::Postgres, StoreKind::Mariadb] {
        if are_there(store) {
            run(store, Language::Calls, 10);
            run(store, Language::Sql, 5);
        }
    }
}

#[test]
fn a_history_follows_from_its_seed_alone() {
    for seed in 0..100 {
        let history = |language| generate::history(seed, language);
        assert_eq!(history(Language::Sql), history(Language::Sql));
        assert_eq!(history(Language::Calls), history(Language::Calls));
    }
    assert_ne!(generate::history(1, Language::Calls), generate::history(2, Language::Calls));
    run_history(Setting { store: StoreKind::Memory, language: Language::Calls }, &[]).unwrap();
}

#[test]
fn transactions_that_insert_different_keys_commit_although_chunks_are_sealed() {
    let append = |session: usize, count: i64, note: i64| {
        let row = Cells { time: 60, sensor: Some(1), note: Some(note), count: Some(count), extra: None };
        Action::Append { session, table: 0, policy: None, batch: None, rows: vec![row] }
    };
    let actions = [
        Action::Create { session: 0, table: 0, shape: Shape::Counted, policy: Policy::Error, is_checked: true },
        append(0, 0, 0),
        Action::Begin { session: 0 },
        append(0, 1, 0),
        Action::Begin { session: 1 },
        append(1, 2, 0),
        append(2, 3, 0),
        Action::Seal { process: 2 },
        Action::Commit { session: 1 },
        Action::Commit { session: 0 },
        // The constraint refuses this row, and the other one has a key that exists.
        append(0, 7, 2),
        append(1, 3, 0),
        Action::Update { session: 1, table: 0, rows: RowSelection::All, note: Some(2) },
    ];
    let steps: Vec<HistoryStep> = actions.into_iter().map(|action| HistoryStep { action, fault: None }).collect();
    for store in [StoreKind::Memory, StoreKind::Sqlite, StoreKind::Split] {
        for language in [Language::Calls, Language::Sql] {
            let setting = Setting { store, language };
            run_history(setting, &steps).unwrap_or_else(|problem| panic!("{setting}: {problem}"));
        }
    }
}

#[test]
fn of_two_transactions_that_add_a_child_and_delete_its_parent_one_commits() {
    use ReferenceChange::{
        AddCheck, AddChildren, AddKey, AddMood, AddParents, CreateParents, Declare, DeleteParents, DropCheck,
        DropParents, Forget, Refresh, SetChild, TruncateParents,
    };
    let refer = |session: usize, change: ReferenceChange| Action::Refer { session, change };
    let child = |session: usize, id: i64, parent: i64| {
        let rows = vec![Child { id, parent: Some(parent), mood: Some(0), amount: None }];
        refer(session, AddChildren { rows, has_mood: id % 2 == 0, has_amount: id % 3 == 0 })
    };
    let set = |mood: i64, amount: i64| SetChild { id: 4, mood: Some(mood), amount: Some(amount) };
    for on_delete in [
        ReferentialAction::NoAction,
        ReferentialAction::Restrict,
        ReferentialAction::Cascade,
        ReferentialAction::SetNull,
        ReferentialAction::SetDefault,
    ] {
        let actions = [
            refer(0, Declare(KeyClauses::deleting(on_delete))),
            refer(0, AddParents(vec![0, 1, 2])),
            child(1, 4, 0),
            refer(2, Refresh),
            Action::Begin { session: 0 },
            refer(0, DeleteParents(Some(1))),
            Action::Begin { session: 1 },
            child(1, 5, 1),
            child(1, 6, 2),
            Action::ReadReferences { session: 1 },
            Action::Seal { process: 2 },
            Action::Commit { session: 1 },
            Action::Commit { session: 0 },
            // The other order: the child comes too late.
            Action::Begin { session: 0 },
            child(0, 7, 2),
            refer(1, TruncateParents { cascade: true }),
            Action::Commit { session: 0 },
            // Rows with other keys are added by both.
            refer(2, AddParents(vec![0, 1, 2])),
            Action::Begin { session: 0 },
            child(0, 8, 0),
            child(1, 4, 0),
            Action::Commit { session: 0 },
            // Labels and constraints.
            refer(2, set(3, 9)),
            refer(2, AddMood(3)),
            refer(0, DropCheck),
            refer(2, set(3, 9)),
            refer(1, AddCheck),
            refer(1, set(3, 2)),
            refer(1, AddCheck),
            refer(2, Refresh),
            refer(0, DeleteParents(Some(0))),
            refer(0, DropParents { cascade: false }),
            refer(0, DropParents { cascade: true }),
            refer(1, CreateParents),
            refer(1, AddKey(KeyClauses::deleting(ReferentialAction::Cascade))),
            refer(1, AddParents(vec![0])),
            refer(1, AddKey(KeyClauses::deleting(ReferentialAction::Cascade))),
            refer(2, Forget),
            refer(0, Declare(KeyClauses::deleting(on_delete))),
        ];
        let steps: Vec<HistoryStep> = actions.into_iter().map(|action| HistoryStep { action, fault: None }).collect();
        for store in [StoreKind::Memory, StoreKind::Sqlite, StoreKind::Split] {
            let setting = Setting { store, language: Language::Sql };
            run_history(setting, &steps).unwrap_or_else(|problem| panic!("{setting}, {on_delete:?}: {problem}"));
        }
    }
}

#[test]
fn deferred_and_unvalidated_foreign_keys_are_as_promised() {
    use ReferenceChange::{
        AddChildren, AddKey, AddParents, Declare, DeleteChildren, DeleteParents, DropKey, MoveParent, SetChild,
        SetConstraints, Validate,
    };
    let refer = |session: usize, change: ReferenceChange| Action::Refer { session, change };
    let child = |session: usize, id: i64, parent: i64| {
        let rows = vec![Child { id, parent: Some(parent), mood: Some(0), amount: None }];
        refer(session, AddChildren { rows, has_mood: true, has_amount: true })
    };
    for on_delete in [ReferentialAction::NoAction, ReferentialAction::Restrict, ReferentialAction::SetDefault] {
        let clauses = KeyClauses {
            on_update: ReferentialAction::Cascade,
            deferrable: Some(Initially::Deferred),
            ..KeyClauses::deleting(on_delete)
        };
        let actions = [
            refer(0, Declare(clauses)),
            refer(0, AddParents(vec![0, 1, 2])),
            child(1, 4, 1),
            // A parent that is deleted comes back before the transaction ends, and then it does not.
            Action::Begin { session: 0 },
            refer(0, DeleteParents(Some(1))),
            Action::ReadReferences { session: 0 },
            refer(0, AddParents(vec![1])),
            Action::Commit { session: 0 },
            Action::Begin { session: 0 },
            refer(0, DeleteParents(Some(1))),
            Action::Commit { session: 0 },
            // A child comes before its parent, while another session adds one, too.
            Action::Begin { session: 0 },
            child(0, 5, 7),
            child(1, 6, 2),
            refer(0, MoveParent { from: 2, to: 7 }),
            Action::Commit { session: 0 },
            Action::Begin { session: 0 },
            refer(0, SetConstraints { deferred: false }),
            child(0, 8, 9),
            Action::Commit { session: 0 },
            Action::Begin { session: 0 },
            Action::Mark { session: 0, mark: 0 },
            refer(0, SetConstraints { deferred: false }),
            Action::ReturnTo { session: 0, mark: 0 },
            child(0, 8, 9),
            refer(0, AddParents(vec![9])),
            refer(0, SetConstraints { deferred: false }),
            Action::Commit { session: 0 },
            // Older rows need no parent until the foreign key is valid.
            refer(1, MoveParent { from: 9, to: 3 }),
            refer(2, DropKey),
            refer(2, DeleteParents(Some(3))),
            refer(2, AddKey(KeyClauses { is_valid: false, ..clauses })),
            child(2, 10, 3),
            refer(2, Validate),
            Action::Seal { process: 2 },
            refer(2, SetChild { id: 8, mood: Some(1), amount: None }),
            refer(1, DeleteChildren(Some(3))),
            refer(2, Validate),
            child(2, 10, 3),
            refer(2, DeleteParents(Some(0))),
        ];
        let steps: Vec<HistoryStep> = actions.into_iter().map(|action| HistoryStep { action, fault: None }).collect();
        for store in [StoreKind::Memory, StoreKind::Sqlite, StoreKind::Split] {
            let setting = Setting { store, language: Language::Sql };
            run_history(setting, &steps).unwrap_or_else(|problem| panic!("{setting}, {on_delete:?}: {problem}"));
        }
    }
}
