//! Copy: a store's tables at one moment, moved to another store without decoding them.
//!
//! Backup, restore and moving from one database to another are this one mechanism. What is copied is a [`Cut`]: one
//! snapshot, over all tables. Chunks keep their bytes and their 128-bit names, so that the name tells which of them the
//! target has already: a further copy moves only what is new, takes away what is gone (sealed, rewritten, expired) and
//! makes both visible in one commit. Until then everything lies in a stage of the target; a copy that was killed finds
//! its stage again and goes on where it was.
//!
//! Each part has a file: [`cut`] what is copied, [`read`] its chunks, `plan` what becomes of the target's tables, `stage`
//! what is written before the commit, `commit` the commit, `lease` that one copy works on a target at a time, `origin` how
//! a table remembers where it came from. Backups in a directory or a bucket read a cut as well; where their objects lie
//! is `archive`'s.

mod commit;
pub mod cut;
mod lease;
pub(crate) mod origin;
mod plan;
pub mod read;
mod stage;

use crate::engine::Engine;
use crate::environment::Environment;
use atsdb_core::{Error, ErrorKind, Result, Store, Table};
use cut::{Cut, Selection};
use std::fmt;
use std::sync::Arc;

/// What is called again and again while a copy is under way; its error ends the copy.
pub type Watcher = Arc<dyn Fn(&CopyProgress) -> Result<()> + Send + Sync>;

/// How a copy is made.
#[derive(Clone, Default)]
pub struct CopyOptions {
    /// What is copied.
    pub selection: Selection,
    /// Whether tables of the target that have the names of copied ones, or that were changed since they were copied, are
    /// replaced.
    pub overwrite: bool,
    /// Whether the target may have tables of its own, which stay.
    pub allow_non_empty: bool,
    /// Whether the source's structures are checked before, and everything that was written is read back and checked before
    /// it becomes visible. Pages are checked as they are read in any case.
    pub verify: bool,
    /// Who is told how far it is.
    pub watcher: Option<Watcher>,
}

impl fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selection, overwrite, allow_non_empty, verify, .. } = self;
        let mut shown = f.debug_struct("CopyOptions");
        shown.field("selection", selection).field("overwrite", overwrite);
        shown.field("allow_non_empty", allow_non_empty).field("verify", verify).finish_non_exhaustive()
    }
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyProgress {
    /// Bytes of pages moved.
    pub bytes: u64,
    /// Of how many, as far as is known before.
    pub bytes_total: u64,
    /// Rows moved.
    pub rows: u64,
}

/// What a copy did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Tables, views and rollups that were copied.
    pub tables: u64,
    /// Chunks moved.
    pub chunks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Chunks that the target had already.
    pub chunks_kept: u64,
    /// Of these, chunks that an interrupted copy had left there.
    pub chunks_resumed: u64,
    /// Chunks of the target that went.
    pub chunks_removed: u64,
    /// Tables of the target that went.
    pub tables_dropped: u64,
}

impl Engine {
    /// What a copy of the store would hold now.
    pub fn cut(&self, selection: &Selection) -> Result<Cut> {
        Cut::of(&self.snapshot()?, selection)
    }

    /// Makes the store hold what a cut does. What the process keeps of tables that went is forgotten.
    pub fn copy_from(&self, cut: &Cut, options: &CopyOptions) -> Result<CopyReport> {
        let before = self.tables()?;
        self.refuse_used_tables(cut, &before, options)?;
        let report = copy_cut(cut, self.store(), self.shared.environment.as_ref(), options)?;
        let after = self.tables()?;
        for table in before.iter().filter(|old| after.iter().all(|new| new.id != old.id)) {
            self.shared.residents.drop_table(table.id);
            self.shared.dictionaries.forget(table.id);
        }
        // At their next use their rows are those that came.
        let copied = after.iter().filter(|table| table.definition.is_in_memory() && is_copy(cut, table));
        copied.for_each(|table| self.shared.residents.forget(table.id));
        self.give_back();
        Ok(report)
    }

    /// Rows of a table in memory that the process uses are not all in its chunks, so that no fingerprint tells of them.
    fn refuse_used_tables(&self, cut: &Cut, tables: &[Table], options: &CopyOptions) -> Result<()> {
        let used = self.shared.residents.snapshot();
        let is_used = |table: &&Table| is_copy(cut, table) && used.get(table.id).is_some();
        match tables.iter().find(is_used).filter(|_| !options.overwrite) {
            None => Ok(()),
            Some(table) => {
                let name = &table.definition.name;
                Err(Error::new(
                    ErrorKind::Exists,
                    format!("table {name} is in use, with rows in this process's memory"),
                )
                .with_hint("--overwrite takes them away; or copy when it is not in use"))
            }
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
