//! Tables whose definitions change: rows under several definitions, and rows that others begin to use meanwhile.

use crate::support::{ID, append, columns, definition, residents, types};
use atsdb_core::{ConflictPolicy, Error, ErrorKind, TableDefinition};
use atsdb_resident::{BatchDrafts, ResidentTables, TableDraft, TableState};
use std::cell::Cell;
use std::sync::Arc;

fn named(name: &str) -> TableDefinition {
    TableDefinition { name: name.into(), ..definition(false) }
}

/// The state under another name, and whether it had to be made.
fn under(residents: &ResidentTables, found: &Arc<TableState>, name: &str) -> (Arc<TableState>, bool) {
    let (to, made) = (named(name), Cell::new(false));
    let state = residents.under(ID, found, &to, || {
        made.set(true);
        found.redefined(&to, types(), |_, _| Err(Error::internal("no column is new")))
    });
    (state.unwrap(), made.get())
}

#[test]
fn the_same_rows_are_made_once_for_each_definition() {
    let residents = residents();
    append(&residents, false, &[(Some(1), None)], ConflictPolicy::Error).unwrap();
    let found = residents.snapshot().get(ID).unwrap();
    let ((one, _), (other, _)) = (under(&residents, &found, "one"), under(&residents, &found, "other"));
    for (name, before) in [("one", &one), ("other", &other), ("one", &one)] {
        let (again, is_made) = under(&residents, &found, name);
        assert!(!is_made && Arc::ptr_eq(&again, before), "{name}");
    }
    append(&residents, false, &[(Some(2), None)], ConflictPolicy::Error).unwrap();
    let later = residents.snapshot().get(ID).unwrap();
    assert_eq!(under(&residents, &later, "one").0.row_count(), 2);
    assert_eq!(under(&residents, &found, "one").0.row_count(), 1);
}

#[test]
fn a_table_that_others_have_begun_to_use_is_a_conflict() {
    let residents = residents();
    let mut drafts = BatchDrafts::default();
    drafts.expect_unused(ID, named("later"));
    assert!(!drafts.is_empty());
    drafts.clone().commit(&residents, || Ok(()), |_| true).unwrap();
    let saved = residents.empty(&definition(false), types());
    let mut loaded = TableDraft::new(saved, usize::MAX);
    loaded.append(columns(&[(Some(1), None)]), 1, ConflictPolicy::Error).unwrap();
    loaded.settle().unwrap();
    residents.begin(ID, &definition(false), Vec::new(), || Ok(Arc::clone(loaded.working()))).unwrap();
    let is_stored = Cell::new(false);
    let refused = drafts.commit(
        &residents,
        || {
            is_stored.set(true);
            Ok(())
        },
        |_| true,
    );
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    assert!(!is_stored.get());
}
