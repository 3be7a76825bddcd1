//! Random inserts, updates and deletes: after each step the table has the same rows as a plain list, and its indexes
//! find them.

use crate::support::{ID, Row, all, append, columns, definition, draft, found, residents, rows_of, state, types};
use arrow::array::{ArrayRef, Int32Array, StringArray};
use arrow::datatypes::DataType;
use atsdb_core::{Column, ColumnType, ConflictPolicy, ErrorKind};
use atsdb_resident::{BatchDrafts, ResidentTables, TableState};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::cell::Cell;
use std::sync::Arc;

#[derive(Debug, Clone)]
enum ModelStep {
    Append(Vec<Row>, ConflictPolicy),
    Delete(i32),
    Update(i32, i32),
    Truncate,
    /// Appends rows without committing them.
    GiveUp(Vec<Row>),
}

fn row() -> impl Strategy<Value = Row> {
    (prop::option::weighted(0.9, -4..20_i32), prop::option::weighted(0.9, 0..60_u32))
        .prop_map(|(c1, c2)| (c1, c2.map(|c2| format!("text {c2}"))))
}

fn step() -> impl Strategy<Value = ModelStep> {
    let policy = prop::sample::select(ConflictPolicy::ALL.to_vec());
    prop_oneof![
        6 => (vec(row(), 1..40), policy).prop_map(|(rows, policy)| ModelStep::Append(rows, policy)),
        1 => (-4..20_i32, 200..2_000_usize).prop_map(|(c1, count)| {
            ModelStep::Append((0..count).map(|_| (Some(c1), None)).collect(), ConflictPolicy::Error)
        }),
        3 => (-4..20_i32).prop_map(ModelStep::Delete),
        2 => (-4..20_i32, -4..20_i32).prop_map(|(from, to)| ModelStep::Update(from, to)),
        1 => Just(ModelStep::Truncate),
        1 => vec(row(), 1..10).prop_map(ModelStep::GiveUp),
    ]
}

/// Returns the list after appending rows, or `None` if a key would occur twice.
fn appended(mut list: Vec<Row>, rows: &[Row], policy: ConflictPolicy, with_key: bool) -> Option<Vec<Row>> {
    for row in rows {
        let same = list.iter().position(|other| with_key && row.1.is_some() && other.1 == row.1);
        match (same, policy) {
            (None, _) => list.push(row.clone()),
            (Some(_), ConflictPolicy::Error) => return None,
            (Some(at), ConflictPolicy::Replace) => list[at] = row.clone(),
            (Some(_), ConflictPolicy::Keep) => {}
            (Some(at), ConflictPolicy::Merge) => list[at].0 = row.0.or(list[at].0),
        }
    }
    Some(list)
}

fn places(state: &TableState, c1: i32) -> (Vec<(u32, u32)>, Vec<Row>) {
    let (rows, places) = all(state).into_iter().filter(|(row, _)| row.0 == Some(c1)).unzip::<_, _, Vec<_>, Vec<_>>();
    (places, rows)
}

fn change(residents: &ResidentTables, with_key: bool, c1: i32, to: Option<i32>) {
    let before = state(residents, with_key);
    let (removed, rows) = places(&before, c1);
    let new: Vec<Row> = rows.into_iter().filter_map(|row| to.map(|to| (Some(to), row.1))).collect();
    let mut drafts = BatchDrafts::default();
    let batches = vec![(columns(&new), new.len())];
    draft(&mut drafts, residents, with_key, usize::MAX).change(&before, removed, batches).unwrap();
    drafts.commit(residents, || Ok(()), |_| true).unwrap();
}

fn check(state: &TableState, list: &[Row]) {
    let mut wanted = list.to_vec();
    wanted.sort();
    assert_eq!(state.row_count(), wanted.len());
    assert_eq!(all(state).into_iter().map(|(row, _)| row).collect::<Vec<_>>(), wanted);
    let numbers: Vec<Option<i32>> = (-6..24).map(Some).chain([None, Some(3), Some(3)]).collect();
    let keys: ArrayRef = Arc::new(Int32Array::from(numbers.clone()));
    let pairs = |matches: &dyn Fn(usize, &Row) -> bool, count: usize| {
        let mut pairs: Vec<(u32, Row)> = (0..count)
            .flat_map(|key| {
                wanted.iter().filter(move |row| matches(key, row)).map(move |row| (key as u32, row.clone()))
            })
            .collect();
        pairs.sort();
        pairs
    };
    let by_number = pairs(&|key, row| numbers[key].is_some() && row.0 == numbers[key], numbers.len());
    assert_eq!(found(state, "i1", &[Arc::clone(&keys)]), by_number);
    let texts: Vec<Option<String>> =
        (0..numbers.len()).map(|key| (key % 7 > 0).then(|| format!("text {key}"))).collect();
    let by_both = pairs(
        &|key, row| numbers[key].is_some() && texts[key].is_some() && *row == (numbers[key], texts[key].clone()),
        numbers.len(),
    );
    assert_eq!(found(state, "i2", &[keys, Arc::new(StringArray::from(texts))]), by_both);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_equals_a_plain_list(steps in vec(step(), 1..40), with_key in any::<bool>()) {
        let residents = residents();
        let mut list: Vec<Row> = Vec::new();
        for step in steps {
            let before = state(&residents, with_key);
            let rows_before = all(&before);
            match step {
                ModelStep::Append(rows, policy) => match appended(list.clone(), &rows, policy, with_key) {
                    Some(more) => {
                        append(&residents, with_key, &rows, policy).unwrap();
                        list = more;
                    }
                    None => {
                        let error = append(&residents, with_key, &rows, policy).unwrap_err();
                        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
                    }
                },
                ModelStep::Delete(c1) => {
                    change(&residents, with_key, c1, None);
                    list.retain(|row| row.0 != Some(c1));
                }
                ModelStep::Update(from, to) => {
                    change(&residents, with_key, from, Some(to));
                    list.iter_mut().filter(|row| row.0 == Some(from)).for_each(|row| row.0 = Some(to));
                }
                ModelStep::Truncate => {
                    let mut drafts = BatchDrafts::default();
                    let count = draft(&mut drafts, &residents, with_key, usize::MAX).truncate().unwrap();
                    assert_eq!(count, list.len() as u64);
                    drafts.commit(&residents, || Ok(()), |_| true).unwrap();
                    list.clear();
                }
                ModelStep::GiveUp(rows) => {
                    let mut drafts = BatchDrafts::default();
                    let draft = draft(&mut drafts, &residents, with_key, usize::MAX);
                    draft.append(columns(&rows), rows.len(), ConflictPolicy::Keep).unwrap();
                    draft.settle().unwrap();
                    let more = appended(list.clone(), &rows, ConflictPolicy::Keep, with_key).unwrap();
                    check(draft.working(), &more);
                }
            }
            check(&state(&residents, with_key), &list);
            // A reader of the previous state still sees the same rows.
            assert_eq!(all(&before), rows_before);
        }
    }
}

#[test]
fn many_parts_become_few() {
    let residents = residents();
    let mut list = Vec::new();
    for number in 0..2_000 {
        let row = (Some(number % 50), Some(format!("text {number}")));
        append(&residents, true, std::slice::from_ref(&row), ConflictPolicy::Error).unwrap();
        list.push(row);
    }
    let state = state(&residents, true);
    assert!(state.part_count() <= 12, "{}", state.part_count());
    check(&state, &list);
    assert_eq!(rows_of(&state.gather(&Default::default(), &[0, 1]).unwrap()), []);
}

#[test]
fn a_change_beyond_the_memory_bound_is_refused_whole() {
    let residents = residents();
    let rows: Vec<Row> = (0..1_000).map(|number| (Some(number), None)).collect();
    append(&residents, false, &rows, ConflictPolicy::Error).unwrap();
    let mut drafts = BatchDrafts::default();
    let bound = state(&residents, false).byte_count() + 10_000;
    let draft = draft(&mut drafts, &residents, false, bound);
    let mut failed = None;
    for _ in 0..100 {
        failed = draft.append(columns(&rows), rows.len(), ConflictPolicy::Error).and_then(|()| draft.settle()).err();
        if failed.is_some() {
            break;
        }
    }
    let error = failed.unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("table t is full"), "{error}");
    drop(drafts);
    check(&state(&residents, false), &rows);
}

#[test]
fn a_column_beyond_the_memory_bound_is_refused_before_there_are_values_for_all_rows() {
    let residents = residents();
    let rows: Vec<Row> = (0..1_000).map(|number| (Some(number), None)).collect();
    append(&residents, false, &rows, ConflictPolicy::Error).unwrap();
    let to = definition(false).with_column("c3", ColumnType::Text, None);
    let types = || [types(), vec![DataType::Utf8]].concat();
    let most = Cell::new(0);
    let added = |_: &Column, row_count: usize| {
        most.set(most.get().max(row_count));
        let values: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n("x".repeat(100), row_count)));
        Ok(values)
    };
    let redefine = |bytes_more: usize| {
        let mut drafts = BatchDrafts::default();
        let bound = state(&residents, false).byte_count() + bytes_more;
        draft(&mut drafts, &residents, false, bound).redefine(&to, types(), added)
    };
    assert_eq!(redefine(50_000).unwrap_err().kind(), ErrorKind::Limit);
    assert!(most.get() < rows.len(), "{} values", most.get());
    redefine(200_000).unwrap();
    assert_eq!(most.get(), rows.len());
}

#[test]
fn emptying_a_table_that_another_draft_changed_is_a_conflict() {
    let residents = residents();
    append(&residents, false, &[(Some(1), None), (Some(2), None)], ConflictPolicy::Error).unwrap();
    let (mut added, mut emptied) = (BatchDrafts::default(), BatchDrafts::default());
    draft(&mut added, &residents, false, usize::MAX)
        .append(columns(&[(Some(3), None)]), 1, ConflictPolicy::Error)
        .unwrap();
    draft(&mut emptied, &residents, false, usize::MAX).truncate().unwrap();
    append(&residents, false, &[(Some(4), None)], ConflictPolicy::Error).unwrap();
    added.commit(&residents, || Ok(()), |_| true).unwrap();
    let error = emptied.commit(&residents, || Ok(()), |_| true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(state(&residents, false).row_count(), 4);
}

#[test]
fn no_rows_are_added_to_a_dropped_table() {
    let residents = residents();
    append(&residents, false, &[(Some(1), None)], ConflictPolicy::Error).unwrap();
    let (mut added, mut dropped) = (BatchDrafts::default(), BatchDrafts::default());
    draft(&mut added, &residents, false, usize::MAX)
        .append(columns(&[(Some(2), None)]), 1, ConflictPolicy::Error)
        .unwrap();
    dropped.drop_table(ID);
    dropped.commit(&residents, || Ok(()), |_| true).unwrap();
    let error = added.commit(&residents, || Ok(()), |_| true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    // Nor does it come back when a snapshot from before the drop reads it.
    residents.begin(ID, &definition(false), Vec::new(), || Ok(residents.empty(&definition(false), types()))).unwrap();
    assert!(residents.snapshot().get(ID).is_none());
}
