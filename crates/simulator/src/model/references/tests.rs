//! Tests of single changes and of pairs of transactions.

use super::*;

/// Parents 1 and 2, and a child of 1.
fn declared(on_delete: ReferentialAction) -> References {
    let mut references = References::default();
    let child = added(5, Some(1));
    let declare = ReferenceChange::Declare(KeyClauses::deleting(on_delete));
    for change in [declare, ReferenceChange::AddParents(vec![1, 2]), child] {
        references.apply(&change).expect("allowed");
    }
    references
}

fn added(id: i64, parent: Option<i64>) -> ReferenceChange {
    let rows = vec![Child { id, parent, mood: None, amount: None }];
    ReferenceChange::AddChildren { rows, has_mood: false, has_amount: true }
}

fn after(references: &References, changes: &[ReferenceChange]) -> Option<References> {
    let mut next = references.clone();
    changes.iter().try_for_each(|change| next.apply(change)).map(|()| next)
}

/// The ids of the children, and their parents.
fn children(references: &References) -> Vec<(i64, Option<i64>)> {
    let rows = references.children.iter().flat_map(|children| &children.rows.rows);
    rows.map(|row| (row.cells.id, row.cells.parent)).collect()
}

#[test]
fn a_deletion_does_what_the_foreign_key_says() {
    let delete = [ReferenceChange::DeleteParents(Some(1))];
    let deleted = |on_delete| after(&declared(on_delete), &delete).as_ref().map(children);
    assert_eq!(deleted(ReferentialAction::NoAction), None);
    assert_eq!(deleted(ReferentialAction::Restrict), None);
    assert_eq!(deleted(ReferentialAction::Cascade), Some(vec![]));
    assert_eq!(deleted(ReferentialAction::SetNull), Some(vec![(5, None)]));
    let without = [ReferenceChange::DropKey, ReferenceChange::DeleteParents(Some(1))];
    let lonely = after(&declared(ReferentialAction::Cascade), &without).expect("allowed");
    assert_eq!(children(&lonely), [(5, Some(1))]);
    assert!(after(&lonely, &[ReferenceChange::AddKey(KeyClauses::deleting(ReferentialAction::SetNull))]).is_none());
    // What a foreign key says of deletions does not hold for a parent that gets another key.
    let moved = [ReferenceChange::MoveParent { from: 1, to: 3 }];
    assert!(after(&declared(ReferentialAction::Cascade), &moved).is_none());
}

#[test]
fn another_key_of_a_parent_does_what_the_foreign_key_says() {
    let moved = |on_update, to| {
        let clauses = KeyClauses { on_update, ..KeyClauses::deleting(ReferentialAction::NoAction) };
        let changes = [ReferenceChange::DropKey, ReferenceChange::AddKey(clauses), add_default(), move_to(to)];
        after(&declared(ReferentialAction::NoAction), &changes).as_ref().map(children)
    };
    assert_eq!(moved(ReferentialAction::NoAction, 3), None);
    assert_eq!(moved(ReferentialAction::Restrict, 3), None);
    assert_eq!(moved(ReferentialAction::Cascade, 3), Some(vec![(5, Some(3))]));
    assert_eq!(moved(ReferentialAction::SetNull, 3), Some(vec![(5, None)]));
    assert_eq!(moved(ReferentialAction::SetDefault, 3), Some(vec![(5, Some(DEFAULT_PARENT))]));
    assert_eq!(moved(ReferentialAction::Cascade, 2), None, "another parent has the key");
    assert_eq!(moved(ReferentialAction::Restrict, 1), Some(vec![(5, Some(1))]));
    let delete = [ReferenceChange::DeleteParents(Some(1))];
    let lonely = after(&declared(ReferentialAction::SetDefault), &delete);
    assert!(lonely.is_none(), "no parent has the default");
}

fn add_default() -> ReferenceChange {
    ReferenceChange::AddParents(vec![DEFAULT_PARENT])
}

fn move_to(to: i64) -> ReferenceChange {
    ReferenceChange::MoveParent { from: 1, to }
}

#[test]
fn a_foreign_key_that_is_not_valid_holds_for_later_rows() {
    let not_valid = KeyClauses { is_valid: false, ..KeyClauses::deleting(ReferentialAction::NoAction) };
    let lost = [ReferenceChange::DropKey, ReferenceChange::DeleteParents(Some(1)), ReferenceChange::AddKey(not_valid)];
    let older = after(&declared(ReferentialAction::NoAction), &lost).expect("the row is older");
    assert!(after(&older, &[added(6, Some(1))]).is_none(), "the row is newer");
    let set = ReferenceChange::SetChild { id: 5, mood: None, amount: None };
    assert!(after(&older, &[set]).is_none(), "it is another row now");
    assert!(after(&older, &[ReferenceChange::Validate]).is_none());
    let parent = ReferenceChange::AddParents(vec![1]);
    assert!(after(&older, &[parent.clone(), ReferenceChange::Validate]).is_some());
    let delete = ReferenceChange::DeleteParents(Some(1));
    assert!(after(&older, &[parent, delete]).is_none(), "older rows refer to parents, too");
}

#[test]
fn a_deferred_foreign_key_is_checked_when_the_transaction_ends() {
    let base = |deferrable| {
        let clauses = KeyClauses { deferrable, ..KeyClauses::deleting(ReferentialAction::NoAction) };
        let changes = [ReferenceChange::DropKey, ReferenceChange::AddKey(clauses)];
        after(&declared(ReferentialAction::NoAction), &changes).expect("allowed")
    };
    let set = |deferred| ReferenceChange::SetConstraints { deferred };
    // What a transaction does, and whether it is committed; `None` if a statement is refused.
    let committed = |deferrable, changes: &[ReferenceChange]| {
        let store = base(deferrable);
        let mut view = store.clone();
        view.begin(Deferral::default());
        changes.iter().try_for_each(|change| view.apply(change))?;
        Some(References::merge(&store, &view, &store, false).is_some())
    };
    let (deferred, immediate) = (Some(Initially::Deferred), Some(Initially::Immediate));
    let (delete, again) = (ReferenceChange::DeleteParents(Some(1)), ReferenceChange::AddParents(vec![1]));
    assert_eq!(committed(deferred, std::slice::from_ref(&delete)), Some(false));
    assert_eq!(committed(deferred, &[delete.clone(), again.clone()]), Some(true));
    assert_eq!(committed(deferred, &[added(6, Some(7)), set(false)]), None);
    assert_eq!(committed(deferred, &[set(false), added(6, Some(7))]), None);
    assert_eq!(committed(immediate, std::slice::from_ref(&delete)), None);
    assert_eq!(committed(immediate, &[set(true), delete.clone(), again]), Some(true));
    assert_eq!(committed(None, &[set(true), delete.clone()]), None);
    // A statement by itself is a transaction.
    assert!(after(&base(deferred), &[set(true), delete]).is_none());
}

#[test]
fn rows_have_what_the_definitions_require() {
    let references = declared(ReferentialAction::NoAction);
    let set = |mood, amount| ReferenceChange::SetChild { id: 5, mood: Some(mood), amount: Some(amount) };
    assert!(after(&references, &[added(5, None)]).is_none(), "the id exists");
    assert!(after(&references, &[added(6, Some(9))]).is_none(), "there is no such parent");
    assert!(after(&references, &[set(MOODS_END, 0)]).is_none(), "there is no such label");
    assert!(after(&references, &[ReferenceChange::AddMood(MOODS_END), set(MOODS_END, 0)]).is_some());
    assert!(after(&references, &[set(0, AMOUNTS_END)]).is_none(), "the constraint forbids it");
    let unchecked = [ReferenceChange::DropCheck, set(0, AMOUNTS_END)];
    assert!(after(&references, &unchecked).is_some());
    let checked_again = [unchecked.to_vec(), vec![ReferenceChange::AddCheck]].concat();
    assert!(after(&references, &checked_again).is_none());
    let drop = |cascade| ReferenceChange::DropParents { cascade };
    assert!(after(&references, &[drop(false)]).is_none());
    assert_eq!(after(&references, &[drop(true)]).as_ref().map(children), Some(vec![(5, Some(1))]));
}

/// The children, each with its parent, and whether a transaction may be refused.
type Merged = (Vec<(i64, Option<i64>)>, bool);

/// The children after two transactions that began in the same state, and whether the second may be refused.
fn merged(first: &[ReferenceChange], second: &[ReferenceChange]) -> Option<Merged> {
    let base = declared(ReferentialAction::Cascade);
    let (mut present, view) = (after(&base, first).expect("allowed"), after(&base, second).expect("allowed"));
    present.note_rewritten();
    let only_adds = second.iter().all(ReferenceChange::is_addition);
    let (merged, may_conflict) = References::merge(&base, &view, &present, only_adds)?;
    Some((children(&merged), may_conflict))
}

#[test]
fn of_two_transactions_that_break_a_rule_together_the_second_is_refused() {
    let delete = |id| ReferenceChange::DeleteParents(Some(id));
    assert_eq!(merged(&[delete(2)], &[added(6, Some(2))]), None);
    assert_eq!(merged(&[added(6, Some(2))], &[delete(2)]), None);
    assert_eq!(merged(&[added(6, None)], &[added(6, Some(2))]), None, "both have the same id");
    assert_eq!(merged(&[delete(1)], &[ReferenceChange::DeleteChildren(Some(1))]), None, "both delete a row");
    let anew = [ReferenceChange::DropParents { cascade: true }, ReferenceChange::CreateParents];
    assert_eq!(merged(&anew, &[ReferenceChange::AddParents(vec![3])]), None, "it is another table");
    // Nothing but rows with other keys was added: there is no reason for a conflict.
    let both = vec![(5, Some(1)), (6, Some(2)), (7, Some(1))];
    assert_eq!(merged(&[added(6, Some(2))], &[added(7, Some(1))]), Some((both, false)));
    let deleted = vec![(5, Some(1)), (7, Some(1))];
    assert_eq!(merged(&[delete(2)], &[added(7, Some(1))]), Some((deleted, true)));
}
