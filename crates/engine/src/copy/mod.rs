//! Copy: a store's tables at one moment, moved to another store without decoding them.
//!
//! Backup, restore and moving from one database to another are this one mechanism. What is copied is a [`Cut`]: one
//! snapshot, over all tables. Chunks keep their bytes and their 128-bit names, so that the name tells which of them the
//! target has already: a further copy moves only what is new, takes away what is gone (sealed, rewritten, expired) and
//! makes both visible in one commit. Until then everything lies in a stage of the target; a copy that was killed finds
//! its stage again and goes on where it was.
//!
//! Each part has a file: [`cut`] what is copied, [`read`] its chunks, `plan` what becomes of the target's tables, `stage`
//! what is written before the commit, `commit` the commit, `lease` that one copy works on a target at a time. How a table
//! remembers where it came from is `shared::origin`'s. Backups in a directory or a bucket read a cut as well; where their
//! objects lie is `archive`'s.

mod commit;
pub mod cut;
mod lease;
pub mod options;
mod plan;
pub mod read;
mod stage;

use crate::copy::cut::Cut;
use crate::copy::options::{CopyOptions, CopyReport};
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::environment::Environment;
use atsdb_core::{Error, ErrorKind, Result, Store, Table};
use std::sync::Arc;

/// Makes the store hold what a cut does. What the process keeps of tables that went is forgotten.
pub(crate) fn copy_from(shared: &Arc<Shared>, cut: &Cut, options: &CopyOptions) -> Result<CopyReport> {
    let tables = || Ok(ReadSnapshot::take(shared)?.tables().to_vec());
    let before: Vec<Table> = tables()?;
    refuse_used_tables(shared, cut, &before, options)?;
    let report = copy_cut(cut, &shared.store, shared.environment.as_ref(), options)?;
    let after: Vec<Table> = tables()?;
    for table in before.iter().filter(|old| after.iter().all(|new| new.id != old.id)) {
        shared.residents.drop_table(table.id);
        shared.dictionaries.forget(table.id);
    }
    // At their next use their rows are those that came.
    let copied = after.iter().filter(|table| table.definition.is_in_memory() && is_copy(cut, table));
    copied.for_each(|table| shared.residents.forget(table.id));
    shared.give_back();
    Ok(report)
}

/// Rows of a table in memory that the process uses are not all in its chunks, so that no fingerprint tells of them.
fn refuse_used_tables(shared: &Shared, cut: &Cut, tables: &[Table], options: &CopyOptions) -> Result<()> {
    let used = shared.residents.snapshot();
    let is_used = |table: &&Table| is_copy(cut, table) && used.get(table.id).is_some();
    match tables.iter().find(is_used).filter(|_| !options.overwrite) {
        None => Ok(()),
        Some(table) => {
            let name = &table.definition.name;
            let message = format!("table {name} is in use, with rows in this process's memory");
            let hint = "--overwrite takes them away; or copy when it is not in use";
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
    let mut staged = stage::Staged::find(cut, &plan, target.as_ref(), environment)?;
    let (mut chunks, missing) = staged.compare_all(cut, &plan, before.as_ref(), &mut report)?;
    // Held while much is written, it would keep the target from giving up what it wrote.
    drop(before);
    staged.transfer(cut, &missing, &mut chunks, &lease, options, &mut report)?;
    staged.check(&chunks, options.verify)?;
    lease.require()?;
    commit::commit(cut, &plan, staged, chunks, environment, &mut report)?;
    drop(lease);
    Ok(report)
}
