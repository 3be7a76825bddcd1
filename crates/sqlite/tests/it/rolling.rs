//! A store on which each step changes every part in a single commit. Any interruption must leave a whole step.
//!
//! After step n, the table `steady n` holds the chunk of step n - 1 with one more page, and the chunk of step n. The
//! table `swapped` was replaced by a new one, which holds one chunk of step n.

use crate::support::{NOW_MS, visible};
use atsdb_core::{
    Change, ChunkGuard, DefinitionGuard, NewChunk, Redefinition, Result, Store, Table, TableDefinition, TableId,
    TimeRange,
};
use atsdb_testkit::sample::{Plan, amended, amendment, series_table};

fn steady(step: u64) -> TableDefinition {
    series_table(&format!("steady {step}"))
}

fn plain(table: TableId, step: u64) -> NewChunk {
    Plan::new(step * 10).with_pages(3, 20_000).chunk(table)
}

fn indexed(table: TableId, step: u64) -> NewChunk {
    amended(&plain(table, step), 4, 30_000)
}

fn swapped(table: TableId, step: u64) -> NewChunk {
    Plan::new(step * 10 + 1).with_pages(3, 20_000).chunk(table)
}

/// Creates the store's tables, as after step 1.
pub(crate) fn begin(store: &dyn Store) {
    let table = store.create_table(&steady(1), None).unwrap().id;
    let other = store.create_table(&series_table("swapped"), None).unwrap().id;
    let add = vec![indexed(table, 0), plain(table, 1), swapped(other, 1)];
    store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
}

fn tables(store: &dyn Store) -> (Table, Table, u64) {
    let mut tables = store.snapshot().unwrap().tables().unwrap();
    tables.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
    let [steady, swapped] = <[Table; 2]>::try_from(tables).expect("two tables");
    let step = steady.definition.name.strip_prefix("steady ").unwrap().parse().unwrap();
    (steady, swapped, step)
}

/// Performs the next step and returns its number.
pub(crate) fn step(store: &dyn Store) -> Result<u64> {
    let (table, old, last) = tables(store);
    let next = last + 1;
    let entries = visible(store, table.id);
    let stage = store.open_stage(NOW_MS)?;
    let new = store.create_table(&old.definition, Some(stage))?.id;
    let abandoned = store.create_table(&series_table("abandoned"), Some(stage))?.id;
    store.stage(stage, vec![swapped(new, 7), swapped(new, next), swapped(abandoned, 8)], NOW_MS)?;
    let staged = store.stage_snapshot(stage)?.chunks(new, TimeRange::ALL)?;
    store.unstage(stage, &[staged[0].id])?;
    store.unstage_table(stage, abandoned)?;
    let (from, to) = (plain(table.id, last), indexed(table.id, last));
    let id = |chunk: &NewChunk| {
        entries.iter().find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes).expect("the chunk is there").id
    };
    let change = Change {
        parts: Vec::new(),
        batch: None,
        stage: Some(stage),
        add: vec![plain(table.id, next)],
        remove: vec![(table.id, id(&indexed(table.id, last - 1)))],
        drop: vec![old.id],
        redefine: vec![Redefinition { table: table.id, from: table.definition.clone(), to: steady(next) }],
        amend: vec![amendment(id(&from), &from, &to)],
        guards: vec![ChunkGuard { table: table.id, newest: entries.iter().map(|entry| entry.id).max().unwrap() }],
        based_on: vec![DefinitionGuard::of(&table)],
    };
    store.commit(&[change], NOW_MS)?.remove(0)?;
    Ok(next)
}

/// Checks that the store is in the state after one of the steps, bit for bit, and returns its number.
pub(crate) fn check(store: &dyn Store) -> u64 {
    let (table, other, step) = tables(store);
    let expected = [
        (table.id, vec![indexed(table.id, step - 1), plain(table.id, step)]),
        (other.id, vec![swapped(other.id, step)]),
    ];
    let snapshot = store.snapshot().unwrap();
    for (table, chunks) in expected {
        let entries = snapshot.chunks(table, TimeRange::ALL).unwrap();
        assert_eq!(entries.len(), chunks.len(), "step {step}");
        for chunk in chunks {
            let columns: Vec<_> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
            let entry = entries.iter().find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes);
            let id = entry.unwrap_or_else(|| panic!("a chunk of step {step} is missing")).id;
            assert!(snapshot.read_pages(id, &columns).unwrap() == chunk.pages, "step {step}");
        }
    }
    step
}
