//! Committing a batch: its chunks and changes become one [`Change`] of the store, retried where that can succeed.
//!
//! Four things are retried. A batch that only appends is committed under the present definitions if these changed. One
//! whose new definitions refer to others follows the versions of these. Rows with keys are checked again if another
//! writer added to their tables: those that still wait as if they came now, and those that were checked before against
//! the new chunks. Rows with foreign keys are looked up again if their parents lack keys now. A batch with an id that
//! was committed before is reported as a duplicate, even if it has other errors.

use crate::batch::Batch;
use crate::batch::changes::Changes;
use atsdb_core::{Change, CommitOutcome, Error, ErrorKind, Result, TableId};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of attempts at a commit while definitions that it relies on get other versions. Each such change
/// means that another writer has succeeded, for example in creating a table in the same schema.
const DEFINITION_ATTEMPTS_MAX: usize = 200;
/// The maximum number of checks of rows with keys while other writers add to their tables.
const KEY_ATTEMPTS_MAX: usize = 20;

impl Batch {
    /// Makes everything visible in one step. [`CommitOutcome::Duplicate`] means that a batch of the same id was
    /// committed before and this one is dropped. After an error nothing is stored.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict) if another writer changed what this batch relies on;
    /// [`DuplicateKey`](ErrorKind::DuplicateKey) if a row's key exists; [`Usage`](ErrorKind::Usage) after an earlier
    /// call on this batch failed halfway.
    pub fn commit(self) -> Result<CommitOutcome> {
        if self.is_duplicate {
            return Ok(CommitOutcome::Duplicate);
        }
        let (shared, id) = (Arc::clone(&self.handle.shared), self.id.clone());
        match self.commit_new() {
            Err(error) if shared.is_duplicate_batch(id.as_ref(), &error) => Ok(CommitOutcome::Duplicate),
            done => done,
        }
    }

    fn commit_new(mut self) -> Result<CommitOutcome> {
        if self.is_half_done {
            return Err(Error::usage("an earlier operation of the batch failed, so nothing was stored")
                .with_hint("begin a new batch"));
        }
        self.supplied.keep_restarted(self.changes.redefined_mut());
        self.end_temporary()?;
        self.draft_redefined()?;
        let temporary = self.session.take().map(|session| (session, self.changes.temporary().to_vec()));
        let outcome = self.commit_beside_temporary()?;
        if let Some((session, tables)) = temporary
            && outcome == CommitOutcome::Committed
        {
            session.replace(tables);
        }
        Ok(outcome)
    }

    fn commit_beside_temporary(mut self) -> Result<CommitOutcome> {
        let mut drafts = std::mem::take(&mut self.drafts);
        // Lock order: the tables' commit locks first, then the lock of tables in memory.
        let locks = self.commit_locks();
        let _guards: Vec<_> = locks.iter().map(|lock| lock.lock()).collect();
        if drafts.is_empty() {
            return self.commit_locked();
        }
        let shared = Arc::clone(&self.handle.shared);
        self.keyed.count_skipped_in_memory(drafts.settle()?);
        drafts.commit(&shared.residents, || self.commit_locked(), |outcome| *outcome == CommitOutcome::Committed)
    }

    /// [`commit`](Self::commit) for a caller that does not repeat the batch after a conflict: a row whose key another
    /// writer has added is a [`DuplicateKey`](ErrorKind::DuplicateKey), unless a conflict policy was applied to the
    /// table's rows, so that the batch would now do something else.
    pub fn commit_unrepeated(mut self) -> Result<CommitOutcome> {
        self.keyed.name_duplicates();
        self.commit()
    }

    /// The locks that serialise commits of rows with keys, in the order in which they are taken.
    fn commit_locks(&self) -> Vec<Arc<Mutex<()>>> {
        let mut tables: BTreeSet<_> = self.keyed.waiting().into_iter().collect();
        tables.extend(self.changes.guards().iter().map(|guard| guard.table));
        tables.into_iter().map(|table| self.handle.shared.commit_locks.of(table)).collect()
    }

    /// Commits while the [`commit_locks`](Self::commit_locks) are held. A batch that holds nothing but waiting rows
    /// with keys checks them again if another process added to their tables.
    fn commit_locked(mut self) -> Result<CommitOutcome> {
        if self.keyed.waiting().is_empty() || self.chunks.has_rows() || self.changes.has_looked() {
            return self.commit_checked();
        }
        let held = self.keyed.hold();
        for _ in 1..KEY_ATTEMPTS_MAX {
            match self.commit_once() {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done,
            }
            self.reset()?;
            self.keyed.restore(&held);
        }
        self.commit_once().map_err(with_retry_hint)
    }

    /// Commits rows some of which were checked before. If another process adds to their tables, they are compared with
    /// what it has added.
    fn commit_checked(mut self) -> Result<CommitOutcome> {
        self.prepare()?;
        self.commit_compared().map_err(with_retry_hint)
    }

    fn commit_compared(&mut self) -> Result<CommitOutcome> {
        self.recheck_guards()?;
        for _ in 1..KEY_ATTEMPTS_MAX {
            let conflict = match self.hand_over() {
                Err(error) if error.kind() == ErrorKind::Conflict => error,
                done => return done,
            };
            if !self.recheck_guards()? {
                return Err(conflict);
            }
        }
        self.hand_over()
    }

    /// Returns to the state of a new batch. The caller restores the rows with keys.
    fn reset(&mut self) -> Result<()> {
        self.is_half_done = false;
        self.changes = Changes::default();
        self.chunks.discard_chunks()
    }

    fn commit_once(&mut self) -> Result<CommitOutcome> {
        self.prepare()?;
        self.hand_over()
    }

    /// Turns all that waits into chunks, checks foreign keys, and removes from the stage what the batch has removed.
    fn prepare(&mut self) -> Result<()> {
        self.settle()?;
        while self.check_references()? {
            self.settle()?;
        }
        self.end_transaction()?;
        self.savepoints.clear();
        self.unstage_hidden()
    }

    /// Hands the prepared change to the store, again under the present definitions if these changed in a way that does
    /// not matter to the batch. After an error a batch with guards has its chunks and changes again, so that the guards
    /// can be raised. No snapshot is held meanwhile: it would keep an SQLite log from being reused.
    fn hand_over(&mut self) -> Result<CommitOutcome> {
        let (stage, add) = self.chunks.take_chunks();
        if stage.is_none() && add.is_empty() && self.id.is_none() && self.changes.is_empty() {
            // The store gets no change with which it would compare the definitions.
            if self.changes.relies_on_memory() {
                self.check_definitions()?;
            }
            return Ok(CommitOutcome::Committed);
        }
        let (batch, parts) = (self.id.clone(), self.parts.clone());
        let mut change = Change { batch, parts, stage, add, ..Change::default() };
        let only_appends = !self.changes.has_looked();
        let guarded = self.changes.guarded();
        self.changes.fill(&mut change);
        let committed = self.commit_change(&mut change, only_appends);
        if committed.is_err() {
            self.chunks.put_stage_back(stage);
            if let Some(changes) = guarded {
                self.changes = changes;
                change.add.into_iter().try_for_each(|chunk| self.keep(chunk))?;
            }
        }
        committed
    }

    /// Commits a change. After an error it is what was refused.
    fn commit_change(&self, change: &mut Change, only_appends: bool) -> Result<CommitOutcome> {
        let shared = &self.handle.shared;
        let redefined: Vec<TableId> = change.redefine.iter().map(|redefinition| redefinition.table).collect();
        for _ in 0..DEFINITION_ATTEMPTS_MAX {
            let refused = match shared.commit(std::mem::take(change), self.changes.created()) {
                Ok(outcome) => {
                    for table in self.changes.dropped() {
                        shared.forget(*table);
                    }
                    // A statement that begins with an outdated definition is repeated, and its numbers leave a gap.
                    for table in redefined {
                        shared.definitions.forget(table);
                    }
                    shared.maintenance.wake();
                    return Ok(outcome);
                }
                Err(refused) => refused,
            };
            *change = *refused.change;
            let can_retry = match refused.error.kind() {
                ErrorKind::Conflict if only_appends => !self.pins_definitions && self.follow_definitions(change)?,
                ErrorKind::Conflict | ErrorKind::NotFound => self.follow_dependencies(change)?,
                _ => false,
            };
            if !can_retry {
                return Err(refused.error);
            }
        }
        Err(Error::new(ErrorKind::Conflict, "other writers keep changing the definitions of the batch's tables")
            .with_hint("retry"))
    }

    /// Ignores that rows were refused if a batch of this id was committed before. Further rows are then ignored, too.
    pub(crate) fn unless_duplicate(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Err(error) if self.handle.shared.is_duplicate_batch(self.id.as_ref(), &error) => {
                self.is_duplicate = true;
                Ok(())
            }
            done => done,
        }
    }
}

fn with_retry_hint(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Conflict if error.hint().is_none() => error.with_hint("nothing was stored; retry"),
        _ => error,
    }
}
