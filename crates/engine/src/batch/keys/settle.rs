//! Keys in a batch: which rows wait, when they are settled, and the commit with its guards.

use crate::batch::Batch;
use crate::batch::keys::keyed_rows::KeyedRows;
use arrow::array::RecordBatch;
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Guard, Outcome, Result, Table, TableId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Rows wait up to this many bytes; as long as all of a batch wait, they can be settled again when another was faster.
const WAITING_BYTES_MAX: usize = 48 << 20;
/// How often rows are settled again.
const ATTEMPTS_MAX: usize = 20;

impl Batch {
    /// How many rows were left out because their key was there, by [`ConflictPolicy::Keep`]. The number is final after
    /// the commit, or after [`settle_keys`](Self::settle_keys) for the rows before it.
    pub fn kept_out(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.keyed.kept_out)
    }

    /// Compares the rows that wait with the others and with the store, so that a
    /// [`DuplicateKey`](ErrorKind::DuplicateKey) comes now rather than with the commit. The commit then fails with
    /// [`ErrorKind::Conflict`] if another adds to the table meanwhile. After a `DuplicateKey` the rows are forgotten, and
    /// the batch goes on without them; after any other error it cannot be committed.
    pub fn settle_keys(&mut self) -> Result<()> {
        let settled = self.settle_waiting();
        match &settled {
            Err(error) if error.kind() == ErrorKind::DuplicateKey => settled,
            _ => self.note_half_done(settled),
        }
    }

    fn settle_waiting(&mut self) -> Result<()> {
        let kept_out = self.drafts.settle()?;
        self.count_kept_out(kept_out);
        self.keyed.waiting().into_iter().try_for_each(|table| self.settle_table(table))
    }

    /// Takes notice of how many rows of tables in memory were left out so far.
    pub(crate) fn count_kept_out(&mut self, of_drafts: u64) {
        let more = of_drafts.saturating_sub(self.keyed.kept_out_in_memory);
        self.keyed.kept_out_in_memory += more;
        self.keyed.kept_out.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn push_keyed(&mut self, table: &Table, rows: RecordBatch, policy: ConflictPolicy) -> Result<()> {
        let known = self.keyed.tables.get(&table.id).map(|(_, rows)| rows.policy());
        match known {
            Some(Some(other)) if other != policy => self.settle_table(table.id)?,
            Some(_) => {}
            None => {
                let rows = KeyedRows::new(&table.definition)?;
                self.keyed.tables.insert(table.id, (table.clone(), rows));
            }
        }
        let Some((_, keyed)) = self.keyed.tables.get_mut(&table.id) else {
            return Err(Error::internal("rows with keys of no table"));
        };
        keyed.push(rows, policy);
        let byte_count: usize = self.keyed.tables.values().map(|(_, rows)| rows.byte_count()).sum();
        if byte_count > WAITING_BYTES_MAX { self.settle_keys() } else { Ok(()) }
    }

    fn settle_table(&mut self, id: TableId) -> Result<()> {
        let Some((table, mut keyed)) = self.keyed.tables.remove(&id) else { return Ok(()) };
        let (waiting, grows) = keyed.take();
        let snapshot = match grows && !self.keyed.rewritten.contains(&id) {
            true => self.base(),
            false => self.snapshot(),
        };
        let is_created = self.changes.has_created(id);
        let settled = snapshot.and_then(|snapshot| {
            if !is_created {
                snapshot.require(&table)?;
            }
            keyed.settle(&table, &waiting, grows, &snapshot)
        });
        self.keyed.tables.insert(id, (table.clone(), keyed));
        let settled = settled?;
        self.guard_keys(id)?;
        for (chunk, successor) in settled.replaced {
            self.replace(&table, chunk, successor)?;
        }
        self.keyed.kept_out.fetch_add(settled.kept_out, Ordering::Relaxed);
        settled.rows.into_iter().try_for_each(|rows| self.push_rows(&table, rows))
    }

    /// Sends rows on their way that have no key that is there already, in stored form.
    pub(crate) fn push_settled(&mut self, table: &Table, rows: RecordBatch) -> Result<()> {
        let ready = self.settle_table(table.id).and_then(|()| self.guard_keys(table.id));
        self.note_half_done(ready)?;
        // The clocks have not seen them.
        self.keyed.note_rewritten(table.id);
        self.push_rows(table, rows)
    }

    /// The commit fails if another adds to the table what this batch has not seen.
    pub(crate) fn guard_keys(&mut self, id: TableId) -> Result<()> {
        if !self.changes.has_created(id) && !self.changes.has_guard(id) {
            let newest = self.base()?.inner.store.newest_chunk()?;
            self.changes.guard(Guard { table: id, newest });
        }
        Ok(())
    }

    /// The locks that serialise commits of rows with keys that wait, in the order in which they are taken.
    pub(crate) fn turns(&self) -> Vec<Arc<Mutex<()>>> {
        self.keyed.waiting().into_iter().map(|table| self.handle.shared.turns.of(table)).collect()
    }

    /// Commits, with the [`turns`](Self::turns) held. If all there is are rows with keys that wait, and another adds to their tables meanwhile, they are
    /// settled again.
    pub(crate) fn commit_in_turn(mut self) -> Result<Outcome> {
        let waiting = self.keyed.waiting();
        if waiting.is_empty() {
            return self.commit_settled();
        }
        if self.has_rows() || self.changes.has_looked() {
            return self.commit_settled();
        }
        let held: Vec<_> = waiting.iter().filter_map(|table| self.keyed.tables.get(table)?.1.held(*table)).collect();
        let kept_out = self.keyed.kept_out.load(Ordering::Relaxed);
        for _ in 1..ATTEMPTS_MAX {
            match self.commit_once() {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done,
            }
            self.start_anew()?;
            self.keyed.rewritten.clear();
            self.keyed.kept_out.store(kept_out, Ordering::Relaxed);
            for (table, waiting, grows) in &held {
                if let Some((_, keyed)) = self.keyed.tables.get_mut(table) {
                    keyed.put_back(waiting.clone(), *grows);
                }
            }
        }
        self.commit_once().map_err(with_hint)
    }

    /// Commits what can no longer be settled again.
    fn commit_settled(mut self) -> Result<Outcome> {
        self.settle()?;
        self.look_again().and_then(|()| self.commit_once()).map_err(with_hint)
    }
}

fn with_hint(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Conflict if error.hint().is_none() => error.with_hint("nothing was stored; do it again"),
        _ => error,
    }
}
