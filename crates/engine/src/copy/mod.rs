//! Copying: transfers a store's tables at one moment to another store without decoding them.
//!
//! Backup, restore and migration between databases use this one mechanism. A copy transfers a [`Cut`]: one snapshot
//! over all tables. Chunks keep their bytes and their 128-bit names, so the names show which chunks the target has: a
//! repeated copy transfers only new chunks, removes those that the source no longer has (sealed, rewritten, expired),
//! and makes both visible in one commit. Until then everything is in a stage of the target. An interrupted copy is
//! found by its stage and resumed. One part per file: [`cut`] is the contents of a copy, [`read`] reads its chunks,
//! `plan` decides how the target's tables change, `stage` and `transfer` write before the commit, `commit` commits,
//! `lease` lets only one copy write to a target at a time. Not owned: the origin that a copied table remembers
//! (`shared::origin`), and the objects of backups, which read a cut as well (`archive`).

mod commit;
pub mod cut;
mod lease;
pub mod options;
mod plan;
pub mod read;
mod stage;
mod transfer;

use crate::copy::cut::Cut;
use crate::copy::options::{CopyOptions, CopyReport};
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::environment::Environment;
use atsdb_core::{Error, ErrorKind, Result, Store, Table};
use std::sync::Arc;

/// Copies a cut into the engine's store, and clears this process's caches of removed tables.
pub(crate) fn copy_from(shared: &Arc<Shared>, cut: &Cut, options: &CopyOptions) -> Result<CopyReport> {
    let tables = || ReadSnapshot::take(shared).map(|snapshot| snapshot.tables().to_vec());
    let before: Vec<Table> = tables()?;
    refuse_used_tables(shared, cut, &before, options)?;
    let report = copy_cut(cut, &shared.store, shared.environment.as_ref(), options)?;
    let after: Vec<Table> = tables()?;
    for table in before.iter().filter(|old| after.iter().all(|new| new.id != old.id)) {
        shared.residents.drop_table(table.id);
        shared.dictionaries.forget(table.id);
    }
    // Copied tables in memory are loaded again at their next use.
    let copied = after.iter().filter(|table| table.definition.is_in_memory() && is_copy(cut, table));
    copied.for_each(|table| shared.residents.forget(table.id));
    shared.give_back();
    Ok(report)
}

/// Refuses to replace tables in memory that this process uses: their rows are not all in chunks, so the fingerprint
/// does not show whether they have changed.
fn refuse_used_tables(shared: &Shared, cut: &Cut, tables: &[Table], options: &CopyOptions) -> Result<()> {
    let used = shared.residents.snapshot();
    let is_used = |table: &&Table| is_copy(cut, table) && used.get(table.id).is_some();
    match tables.iter().find(is_used).filter(|_| !options.overwrite) {
        None => Ok(()),
        Some(table) => {
            let name = &table.definition.name;
            let message = format!("table {name} is in use, with rows in this process's memory");
            let hint = "--overwrite discards them; or copy when the table is not in use";
            Err(Error::new(ErrorKind::Exists, message).with_hint(hint))
        }
    }
}

fn is_copy(cut: &Cut, table: &Table) -> bool {
    table.definition.origin.as_ref().is_some_and(|origin| origin.store == cut.source_name())
}

/// Copies a cut into a store.
pub fn copy_cut(
    cut: &Cut,
    target: &Arc<dyn Store>,
    environment: &dyn Environment,
    options: &CopyOptions,
) -> Result<CopyReport> {
    plan::refuse_itself(cut, target.as_ref())?;
    if options.verify {
        cut.check_source()?;
    }
    let lease = lease::Lease::take(target, environment)?;
    let before = target.snapshot()?;
    let plan = plan::Plan::make(cut, before.as_ref(), target.as_ref(), options)?;
    let mut report = CopyReport { tables: cut.tables().len() as u64, ..CopyReport::default() };
    let mut staged = stage::CopyStage::find(cut, &plan, target.as_ref(), environment)?;
    let (mut chunks, missing) = staged.compare_all(cut, &plan, before.as_ref(), &mut report)?;
    // While it is held, the target cannot reclaim space.
    drop(before);
    staged.transfer(cut, &missing, &mut chunks, &lease, options, &mut report)?;
    staged.check(&chunks, options.verify)?;
    lease.require()?;
    commit::commit(cut, &plan, staged, chunks, environment, &mut report)?;
    drop(lease);
    Ok(report)
}
