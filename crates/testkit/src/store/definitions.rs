//! Changing definitions, and dropping tables as part of a change.

use super::helpers::*;
use crate::sample::{Plan, amended, amendment, series_table};
use atsdb_core::limits::INDEX_ID_MIN;
use atsdb_core::{
    Change, ColumnId, ColumnType, CommitOutcome, ConflictPolicy, DefaultFunction, DefinitionGuard, DefinitionVersion,
    ErrorKind, Index, Redefinition, Store, TableDefinition, TableId, TextLength, TimeUnit, Unique, Value,
};

fn widened(name: &str) -> TableDefinition {
    series_table(name).with_column("added", ColumnType::Int64, None)
}

pub(super) fn every_part_of_a_definition_is_kept(store: &dyn Store) {
    let mut full = widened("t").with_column("at", ColumnType::Timestamp(TimeUnit::Microsecond), None);
    full.columns[0].nullable = false;
    full.columns[1].default = Some(Value::Text("it's".to_owned()));
    full.columns[1].missing = Some(Value::UInt(u64::MAX));
    full.columns[1].length = Some(TextLength { characters: 3, is_char: true });
    full.columns[2].default = Some(Value::Float(f64::from_bits(0x7ff8_0000_dead_beef)));
    full.columns[2].missing = Some(Value::Float(-0.0));
    full.columns[3].missing = Some(Value::Int(i64::MIN));
    if let Some(at) = full.columns.last_mut() {
        at.default_function = Some(DefaultFunction::CurrentTimestamp);
    }
    full.unique = vec![
        Unique { primary: true, ..Unique::new(vec![ColumnId(0)]) },
        Unique { name: Some("U".to_owned()), nulls_equal: true, ..Unique::new(vec![ColumnId(2), ColumnId(1)]) },
    ];
    full.on_conflict = ConflictPolicy::Keep;
    full.indexes =
        vec![Index { id: ColumnId(INDEX_ID_MIN + 6), name: "By Sensor".to_owned(), columns: vec![ColumnId(1)] }];
    (full.columns_given, full.indexes_given) = (40, 7);
    full.check().unwrap();
    let created = store.create_table(&full, None).unwrap();
    assert_eq!(created.definition, full);
    assert_eq!(tables(store), [created]);
    let plain = create(store, "u");
    let to = TableDefinition { name: "v".to_owned(), ..full };
    commit(store, redefining(vec![Redefinition { table: plain, from: series_table("u"), to: to.clone() }])).unwrap();
    assert_eq!(tables(store)[1].definition, to);
}

pub(super) fn a_view_is_a_table_without_columns(store: &dyn Store) {
    let view = TableDefinition::new_view("v", "SELECT 'é' FROM t");
    let created = store.create_table(&view, None).unwrap();
    assert_kind(store.create_table(&series_table("V"), None), ErrorKind::Exists);
    assert_eq!(tables(store), std::slice::from_ref(&created));
    assert!(visible(store, created.id).is_empty());
    let to = TableDefinition::new_view("w", "SELECT 2");
    commit(store, redefining(vec![Redefinition { table: created.id, from: view, to: to.clone() }])).unwrap();
    assert_eq!(tables(store)[0].definition, to);
    store.drop_table(created.id).unwrap();
    assert!(tables(store).is_empty());
}

pub(super) fn a_new_definition_leaves_everything_else(store: &dyn Store) {
    let table = create(store, "t");
    store.map_values(table, ColumnId(1), 10, &[b"a", b"b"]).unwrap();
    let entries = fill(store, table, 0..3);
    let held = store.snapshot().unwrap();
    let redefinition = Redefinition { table, from: series_table("t"), to: widened("Other") };
    assert_eq!(commit(store, redefining(vec![redefinition])).unwrap(), CommitOutcome::Committed);
    assert_eq!(tables(store)[0].definition, widened("Other"));
    assert_eq!(visible(store, table), entries);
    assert_eq!(store.map_values(table, ColumnId(1), 10, &[b"b", b"c"]).unwrap(), [1, 2]);
    assert_eq!(held.tables().unwrap()[0].definition, series_table("t"));
    // The old name is free, the new one is not.
    assert_kind(store.create_table(&series_table("OTHER"), None), ErrorKind::Exists);
    assert!(create(store, "t") > table);
}

pub(super) fn a_definition_that_changed_meanwhile_is_a_conflict(store: &dyn Store) {
    let table = create(store, "t");
    let first = Redefinition { table, from: series_table("t"), to: widened("t") };
    let second = Redefinition { table, from: series_table("t"), to: series_table("u") };
    commit(store, redefining(vec![first.clone()])).unwrap();
    assert_kind(commit(store, redefining(vec![first])), ErrorKind::Conflict);
    assert_kind(commit(store, redefining(vec![second])), ErrorKind::Conflict);
    assert_eq!(tables(store)[0].definition, widened("t"));
}

pub(super) fn every_new_definition_has_the_next_version(store: &dyn Store) {
    let (table, other) = (create(store, "t"), create(store, "other"));
    let versions = || tables(store).iter().map(|table| table.version.0).collect::<Vec<_>>();
    assert_eq!(versions(), [1, 1]);
    commit(store, redefining(vec![renaming(table, "t", "u")])).unwrap();
    assert_eq!(versions(), [2, 1]);
    // This also applies to an unchanged definition.
    commit(store, redefining(vec![renaming(table, "u", "u")])).unwrap();
    assert_eq!(versions(), [3, 1]);
    let steps = vec![renaming(table, "u", "v"), renaming(table, "v", "w"), renaming(other, "other", "u")];
    commit(store, redefining(steps)).unwrap();
    assert_eq!(versions(), [4, 2]);
    let entries = fill(store, table, 0..2);
    commit(store, removing(&entries)).unwrap();
    assert_eq!(versions(), [4, 2], "rows are no definition");
}

pub(super) fn a_change_made_under_another_definition_is_a_conflict(store: &dyn Store) {
    let (table, other) = (create(store, "t"), create(store, "other"));
    let entries = fill(store, table, 0..2);
    let under = |version: i64, change: Change| {
        let own = DefinitionGuard { table, version: DefinitionVersion(version), name: "t".to_owned() };
        Change { based_on: vec![own, based_on_first(other)], ..change }
    };
    let chunk = Plan::new(7).chunk(table);
    assert_eq!(commit(store, under(1, adding(vec![chunk.clone()]))).unwrap(), CommitOutcome::Committed);
    commit(store, redefining(vec![renaming(table, "t", "u")])).unwrap();
    let before = everything(store);
    for stale in [1, 3] {
        assert_kind(commit(store, under(stale, adding(vec![chunk.clone()]))), ErrorKind::Conflict);
        assert_kind(commit(store, under(stale, removing(&entries))), ErrorKind::Conflict);
        assert_kind(commit(store, under(stale, dropping(table))), ErrorKind::Conflict);
        let redefinition = redefining(vec![renaming(table, "u", "v")]);
        assert_kind(commit(store, under(stale, redefinition)), ErrorKind::Conflict);
        // This also applies to a table that the change does not touch, and to rows that were staged long before.
        assert_kind(commit(store, under(stale, adding(vec![Plan::new(8).chunk(other)]))), ErrorKind::Conflict);
        let stage = store.open_stage(NOW_MS).unwrap();
        store.stage(stage, vec![Plan::new(9).chunk(table)], NOW_MS).unwrap();
        assert_kind(commit(store, under(stale, publishing(stage))), ErrorKind::Conflict);
        store.abandon_stage(stage).unwrap();
    }
    assert_eq!(everything(store), before);
    // The definition that the change itself sets is not one that it was made under.
    let both = Change { add: vec![chunk], ..redefining(vec![renaming(table, "u", "v")]) };
    assert_eq!(commit(store, under(2, both)).unwrap(), CommitOutcome::Committed);
    commit(store, dropping(other)).unwrap();
    assert_kind(commit(store, under(3, adding(vec![Plan::new(10).chunk(table)]))), ErrorKind::NotFound);
}

pub(super) fn a_refused_change_names_tables_as_it_knows_them(store: &dyn Store) {
    let (table, other) = (create(store, "readings"), create(store, "other"));
    let entries = fill(store, table, 0..3);
    let [first, second] = [&tables(store)[0], &tables(store)[1]].map(DefinitionGuard::of);
    let refused = |based_on: &DefinitionGuard, change: Change, expected: &str| {
        let error = commit(store, Change { based_on: vec![based_on.clone()], ..change }).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    };
    commit(store, removing(&entries[..1])).unwrap();
    let replaced = format!("chunk {} of table readings was replaced by another writer", entries[0].id.0);
    refused(&first, removing(&entries[..1]), &replaced);
    let chunk = Plan::new(0).chunk(table);
    let amended = amending(vec![amendment(entries[0].id, &chunk, &amended(&chunk, 0, 50))]);
    refused(&first, amended, &replaced.replace("replaced", "changed"));
    let guarded = guarded(table, entries.iter().map(|entry| entry.id).min().unwrap(), Change::default());
    refused(&first, guarded, "another writer added to table readings in the meantime");
    // The change does not know the new name.
    commit(store, redefining(vec![renaming(table, "readings", "renamed")])).unwrap();
    let message = "the definition of table readings was changed by another writer";
    refused(&first, Change::default(), message);
    commit(store, dropping(other)).unwrap();
    refused(&second, Change::default(), "table other was dropped by another writer");
}

pub(super) fn a_staged_table_has_its_first_definition(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("s"), Some(stage)).unwrap();
    assert_eq!(staged.version, DefinitionVersion::FIRST);
    store.stage(stage, vec![Plan::new(1).chunk(staged.id)], NOW_MS).unwrap();
    let later = DefinitionGuard { version: DefinitionVersion(2), ..DefinitionGuard::of(&staged) };
    assert_kind(commit(store, Change { based_on: vec![later], ..publishing(stage) }), ErrorKind::Conflict);
    let change = Change { based_on: vec![based_on_first(staged.id)], ..publishing(stage) };
    assert_eq!(commit(store, change).unwrap(), CommitOutcome::Committed);
    assert_eq!(tables(store)[0].version, DefinitionVersion::FIRST);
}

pub(super) fn a_table_is_redefined_step_by_step_in_one_change(store: &dyn Store) {
    let table = create(store, "t");
    let steps = vec![renaming(table, "t", "u"), Redefinition { table, from: series_table("u"), to: widened("v") }];
    let twice = vec![renaming(table, "t", "u"), renaming(table, "t", "v")];
    assert_kind(commit(store, redefining(twice)), ErrorKind::Conflict);
    commit(store, redefining(steps)).unwrap();
    assert_eq!(tables(store)[0].definition, widened("v"));
}

pub(super) fn a_name_that_another_table_has_is_not_given(store: &dyn Store) {
    let (table, other) = (create(store, "t"), create(store, "Größe"));
    assert_kind(commit(store, redefining(vec![renaming(table, "t", "GRÖßE")])), ErrorKind::Exists);
    let both = vec![renaming(table, "t", "x"), renaming(other, "Größe", "X")];
    assert_kind(commit(store, redefining(both)), ErrorKind::Exists);
    assert_eq!(table_names(store), ["t", "Größe"]);
    // The table may keep its own name.
    commit(store, redefining(vec![renaming(other, "Größe", "GRÖßE")])).unwrap();
    assert_eq!(table_names(store), ["t", "GRÖßE"]);
}

pub(super) fn names_are_exchanged_in_one_change(store: &dyn Store) {
    let (a, b, c) = (create(store, "a"), create(store, "b"), create(store, "c"));
    commit(store, redefining(vec![renaming(a, "a", "b"), renaming(b, "b", "a")])).unwrap();
    assert_eq!(table_names(store), ["b", "a", "c"]);
    commit(store, redefining(vec![renaming(a, "b", "C"), renaming(b, "a", "B"), renaming(c, "c", "A")])).unwrap();
    assert_eq!(table_names(store), ["C", "B", "A"]);
    assert_kind(store.create_table(&series_table("b"), None), ErrorKind::Exists);
}

pub(super) fn a_staged_table_does_not_occupy_its_name(store: &dyn Store) {
    let table = create(store, "t");
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("s"), Some(stage)).unwrap().id;
    commit(store, redefining(vec![renaming(table, "t", "S")])).unwrap();
    assert_kind(commit(store, publishing(stage)), ErrorKind::Exists);
    // Renamed out of the way by the same change.
    let change = Change { redefine: vec![renaming(table, "S", "t")], ..publishing(stage) };
    commit(store, change).unwrap();
    assert_eq!(table_names(store), ["t", "s"]);
    assert!(staged > table);
}

pub(super) fn a_definition_that_cannot_be_is_not_given(store: &dyn Store) {
    let table = create(store, "t");
    let empty = Redefinition { table, from: series_table("t"), to: TableDefinition::new("t") };
    assert_kind(commit(store, redefining(vec![empty])), ErrorKind::Usage);
    assert_eq!(tables(store)[0].definition, series_table("t"));
}

pub(super) fn a_later_change_of_a_commit_finds_the_tables_of_an_earlier_one(store: &dyn Store) {
    let stage = store.open_stage(NOW_MS).unwrap();
    let table = store.create_table(&series_table("staged"), Some(stage)).unwrap().id;
    store.stage(stage, vec![Plan::new(1).chunk(table)], NOW_MS).unwrap();
    let later = redefining(vec![renaming(table, "staged", "shown")]);
    let outcomes = store.commit(&[publishing(stage), later], NOW_MS).unwrap();
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == CommitOutcome::Committed));
    assert_eq!(table_names(store), ["shown"]);
    assert_holds(store, table, &[Plan::new(1).chunk(table)]);
}

pub(super) fn only_visible_tables_are_redefined_or_dropped(store: &dyn Store) {
    let gone = create(store, "gone");
    store.drop_table(gone).unwrap();
    let stage = store.open_stage(NOW_MS).unwrap();
    let staged = store.create_table(&series_table("staged"), Some(stage)).unwrap().id;
    for (table, name) in [(gone, "gone"), (staged, "staged"), (TableId(staged.0 + 50), "none")] {
        for stage in [None, Some(stage)] {
            let change = Change { stage, ..redefining(vec![renaming(table, name, "x")]) };
            assert_kind(commit(store, change), ErrorKind::NotFound);
            assert_kind(commit(store, Change { stage, ..dropping(table) }), ErrorKind::NotFound);
        }
    }
    commit(store, publishing(stage)).unwrap();
    assert_eq!(table_names(store), ["staged"]);
}

pub(super) fn a_change_drops_a_table_with_all_it_has(store: &dyn Store) {
    let (gone, kept) = (create(store, "gone"), create(store, "kept"));
    let entries = fill(store, gone, 0..3);
    store.map_values(gone, ColumnId(1), 10, &[b"a"]).unwrap();
    let held = store.snapshot().unwrap();
    let change = Change { add: vec![Plan::new(5).chunk(kept)], ..guarded(gone, entries[2].id, dropping(gone)) };
    assert_eq!(commit(store, change).unwrap(), CommitOutcome::Committed);
    assert_eq!(table_names(store), ["kept"]);
    assert!(visible(store, gone).is_empty());
    assert_holds(store, kept, &[Plan::new(5).chunk(kept)]);
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_eq!(held.chunks(gone, atsdb_core::TimeRange::ALL).unwrap(), entries);
    assert_eq!(held.mapping(gone, ColumnId(1), 0).unwrap(), [b"a"]);
    assert!(held.read_pages(entries[0].id, &columns(3)).unwrap() == Plan::new(0).chunk(gone).pages);
}

pub(super) fn another_table_takes_the_name_of_a_dropped_one(store: &dyn Store) {
    let old = create(store, "t");
    fill(store, old, 0..2);
    let stage = store.open_stage(NOW_MS).unwrap();
    let new = store.create_table(&series_table("T"), Some(stage)).unwrap().id;
    store.map_values(new, ColumnId(1), 10, &[b"x"]).unwrap();
    store.stage(stage, vec![Plan::new(5).chunk(new)], NOW_MS).unwrap();
    assert_kind(commit(store, publishing(stage)), ErrorKind::Exists);
    commit(store, Change { stage: Some(stage), ..dropping(old) }).unwrap();
    assert_eq!(table_names(store), ["T"]);
    assert_holds(store, new, &[Plan::new(5).chunk(new)]);
    reclaim_all(store, 1 << 20, NOW_MS);
    assert_eq!(store.snapshot().unwrap().mapping(new, ColumnId(1), 0).unwrap(), [b"x"]);
    // The name may also be taken by renaming.
    let other = create(store, "other");
    commit(store, Change { redefine: vec![renaming(other, "other", "t")], ..dropping(new) }).unwrap();
    assert_eq!(tables(store).iter().map(|table| table.id).collect::<Vec<_>>(), [other]);
}

pub(super) fn a_dropped_table_takes_no_more_part_in_its_change(store: &dyn Store) {
    let (table, kept) = (create(store, "t"), create(store, "kept"));
    let entries = fill(store, table, 0..2);
    let chunk = Plan::new(0).chunk(table);
    let stage = store.open_stage(NOW_MS).unwrap();
    store.stage(stage, vec![Plan::new(7).chunk(table)], NOW_MS).unwrap();
    let before = everything(store);
    let changes = [
        adding(vec![Plan::new(5).chunk(kept), Plan::new(6).chunk(table)]),
        removing(&entries),
        redefining(vec![renaming(table, "t", "u")]),
        amending(vec![amendment(entries[0].id, &chunk, &amended(&chunk, 0, 10))]),
        publishing(stage),
    ];
    for change in changes {
        assert_kind(commit(store, Change { drop: vec![table], ..change }), ErrorKind::NotFound);
        assert_eq!(everything(store), before);
    }
    assert_kind(commit(store, Change { drop: vec![table, table], ..Change::default() }), ErrorKind::NotFound);
    assert_kind(commit(store, Change { drop: vec![table, TableId(99)], ..Change::default() }), ErrorKind::NotFound);
    assert_eq!(everything(store), before);
    store.abandon_stage(stage).unwrap();
}
