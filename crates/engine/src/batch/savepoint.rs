//! Marks in a batch, to return to: what was done after one is taken back, what was done before it stays.
//!
//! A mark is what the batch holds in memory, and which chunks and tables lie in its stage. As long as there is a mark,
//! no chunk of the stage is given up that one may return to: it is hidden, and goes with the commit.

use crate::batch::Batch;
use crate::batch::mark::Mark;
use atsdb_core::name::same_name;
use atsdb_core::{ChunkId, Error, ErrorKind, Result, StageId, TableId, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// Sets a mark. Several may have one name: the last one is meant.
    pub fn mark(&mut self, name: &str) -> Result<()> {
        self.settle()?;
        let staged = self.staged()?;
        let (own, changes, drafts) = (self.own.clone(), self.changes.clone(), self.drafts.clone());
        let (own_bytes, row_count) = (self.own_bytes, self.row_count);
        self.marks.push(Mark { name: name.to_owned(), own, own_bytes, changes, drafts, staged, row_count });
        Ok(())
    }

    /// Forgets a mark, and those after it; what was done stays. Says how many are left.
    pub fn release(&mut self, name: &str) -> Result<usize> {
        let at = self.find_mark(name)?;
        self.marks.truncate(at);
        Ok(at)
    }

    /// Takes back what was done after a mark, which stays; those after it go. The batch is as usable as it was then, also
    /// after an error. Says how many marks are left.
    pub fn return_to(&mut self, name: &str) -> Result<usize> {
        let at = self.find_mark(name)?;
        // What is taken back only in part cannot be committed; it can be returned to the mark again.
        self.is_half_done = true;
        self.forget_outstanding();
        let mark = self.marks[at].clone();
        if let Some(stage) = self.stage {
            let store = Arc::clone(&self.handle.shared.store);
            let made_before: BTreeSet<TableId> = mark.changes.created().iter().map(|table| table.id).collect();
            let tables = store.stage_snapshot(stage)?.tables()?;
            for table in tables.iter().filter(|table| !made_before.contains(&table.id)) {
                store.unstage_table(stage, table.id)?;
            }
            let later: Vec<ChunkId> = self.staged()?.difference(&mark.staged).copied().collect();
            store.unstage(stage, &later)?;
        }
        self.marks.truncate(at + 1);
        (self.own, self.own_bytes, self.row_count) = (mark.own, mark.own_bytes, mark.row_count);
        (self.changes, self.drafts) = (mark.changes, mark.drafts);
        self.is_half_done = false;
        Ok(at + 1)
    }

    /// Gives a chunk of the stage up, or hides it as long as there are marks.
    pub(crate) fn give_up_staged(&mut self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        match self.marks.is_empty() {
            true => self.handle.shared.store.unstage(stage, chunks),
            false => {
                self.changes.hide(chunks);
                Ok(())
            }
        }
    }

    /// Gives up what is hidden.
    pub(crate) fn give_up_hidden(&mut self) -> Result<()> {
        let hidden = self.changes.take_hidden();
        match self.stage.filter(|_| !hidden.is_empty()) {
            Some(stage) => {
                // Some may have gone with their table.
                let there: Vec<ChunkId> = self.staged()?.intersection(&hidden).copied().collect();
                self.handle.shared.store.unstage(stage, &there)
            }
            None => Ok(()),
        }
    }

    /// Refuses to take a table back that the batch made before a mark that is still there.
    pub(crate) fn check_unmarked(&self, table: TableId) -> Result<()> {
        let is_marked = self.marks.last().is_some_and(|mark| mark.changes.has_created(table));
        match is_marked {
            true => Err(Error::new(ErrorKind::Sql, "the table was made by the same transaction, before a savepoint")
                .with_hint("RELEASE the savepoint, or COMMIT, before dropping or changing the table")),
            false => Ok(()),
        }
    }

    /// Forgets the rows that wait, in whatever state an error has left them.
    fn forget_outstanding(&mut self) {
        while self.outstanding > 0 && self.receiver.recv().is_ok() {
            self.outstanding -= 1;
        }
        self.writers.clear();
        self.keyed.forget_all();
    }

    /// The chunks of the stage, hidden ones too.
    fn staged(&mut self) -> Result<BTreeSet<ChunkId>> {
        let Some(stage) = self.stage else { return Ok(BTreeSet::new()) };
        // Rows may lie there of a table that goes with the commit.
        let mut tables: BTreeSet<TableId> = self.tables()?.iter().map(|table| table.id).collect();
        tables.extend(self.changes.dropped());
        let snapshot = self.handle.shared.store.stage_snapshot(stage)?;
        let mut staged = BTreeSet::new();
        for table in tables {
            staged.extend(snapshot.chunks(table, TimeRange::ALL)?.iter().map(|entry| entry.id));
        }
        Ok(staged)
    }

    fn find_mark(&self, name: &str) -> Result<usize> {
        let found = self.marks.iter().rposition(|mark| same_name(&mark.name, name));
        found.ok_or_else(|| {
            Error::new(ErrorKind::Sql, format!("there is no savepoint {name}")).with_hint("SAVEPOINT name sets one")
        })
    }
}
