//! The changes of a batch to in-memory tables before its commit: each table as it was, and as it will be.

use crate::concat::concat_arrays;
use crate::part::{PART_ROWS_MAX, PART_TEXT_BYTES_MAX, byte_count_of, text_bytes_of};
use crate::registry::{ResidentSnapshot, ResidentTables};
use crate::resolve::resolve;
use crate::state::TableState;
use arrow::array::{Array, ArrayRef};
use arrow::compute::filter;
use arrow::datatypes::DataType;
use atsdb_core::{Column, ConflictPolicy, Error, ErrorKind, Result, TableDefinition, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The size of a new column is estimated from this many of its values.
const SAMPLE_ROWS: usize = 64;

/// Rows that were added under one conflict policy.
#[derive(Debug, Clone)]
struct AddedRows {
    columns: Vec<ArrayRef>,
    row_count: usize,
    policy: ConflictPolicy,
}

/// The uncommitted state of one table in a batch.
#[derive(Debug, Clone)]
pub struct TableDraft {
    base: Arc<TableState>,
    working: Arc<TableState>,
    /// Appended rows that are not in a part yet.
    pending: Vec<Vec<ArrayRef>>,
    pending_rows: usize,
    pending_bytes: usize,
    pending_text: Vec<usize>,
    policy: ConflictPolicy,
    /// The added rows, if the batch only added rows. They can be added to another state as well.
    additions: Option<Vec<AddedRows>>,
    rejected: u64,
    bytes_max: usize,
}

impl TableDraft {
    /// Creates a draft of a table, which may use up to `bytes_max` bytes of memory.
    pub fn new(base: Arc<TableState>, bytes_max: usize) -> Self {
        let working = Arc::clone(&base);
        let (pending_text, additions) = (vec![0; base.shape.types.len()], Some(Vec::new()));
        let policy = ConflictPolicy::Error;
        Self {
            base,
            working,
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            pending_text,
            policy,
            additions,
            rejected: 0,
            bytes_max,
        }
    }

    /// Appends rows, one array for each column. They are [settled](Self::settle) later. It is a
    /// [`Limit`](ErrorKind::Limit) error if the table would become too large.
    pub fn append(&mut self, columns: Vec<ArrayRef>, row_count: usize, policy: ConflictPolicy) -> Result<()> {
        if row_count == 0 {
            return Ok(());
        }
        let texts: Vec<usize> = columns.iter().map(text_bytes_of).collect();
        let too_long = self.pending_text.iter().zip(&texts).any(|(own, more)| own + more > PART_TEXT_BYTES_MAX);
        if policy != self.policy || too_long || self.pending_rows + row_count > PART_ROWS_MAX {
            self.settle()?;
        }
        self.policy = policy;
        self.pending_rows += row_count;
        self.pending_bytes += columns.iter().map(byte_count_of).sum::<usize>();
        self.pending_text.iter_mut().zip(texts).for_each(|(own, more)| *own += more);
        self.pending.push(columns);
        self.check_bound(self.working.byte_count() + self.pending_bytes)
    }

    /// Replaces rows of the current state, given as part and row numbers, by others. It is a
    /// [`Conflict`](ErrorKind::Conflict) if the current state is not `expected`.
    pub fn change(
        &mut self,
        expected: &TableState,
        replaced: impl IntoIterator<Item = (u32, u32)>,
        rows: Vec<(Vec<ArrayRef>, usize)>,
    ) -> Result<()> {
        self.settle()?;
        if !self.working.is(expected) {
            return Err(conflict(self.working.definition()));
        }
        self.additions = None;
        self.working = Arc::new(self.working.without(replaced)?);
        rows.into_iter().try_for_each(|(columns, row_count)| self.append(columns, row_count, ConflictPolicy::Error))?;
        self.settle().map(drop)
    }

    /// Removes all rows and returns how many there were.
    pub fn truncate(&mut self) -> Result<u64> {
        self.settle()?;
        let row_count = self.working.row_count() as u64;
        self.additions = None;
        self.working = Arc::new(self.working.without_rows());
        Ok(row_count)
    }

    /// Changes the table's definition. `types` are the Arrow types of its columns. `added` returns the values of a new
    /// column for a number of rows.
    pub fn redefine(
        &mut self,
        definition: &TableDefinition,
        types: Vec<DataType>,
        added: impl Fn(&Column, usize) -> Result<ArrayRef>,
    ) -> Result<()> {
        self.settle()?;
        // This is checked before there are values for all rows.
        let more = self.added_bytes(definition, &added)?;
        self.check_bound(self.working.byte_count().saturating_add(more))?;
        self.additions = None;
        self.pending_text = vec![0; types.len()];
        self.working = Arc::new(self.working.redefined(definition, types, added)?);
        self.check_bound(self.working.byte_count())
    }

    /// Continues with the same rows under another definition, as `state` has them. No rows may be pending.
    pub fn continue_with(&mut self, state: Arc<TableState>) -> Result<()> {
        self.additions = None;
        self.pending_text = vec![0; state.shape.types.len()];
        self.working = state;
        self.check_bound(self.working.byte_count())
    }

    /// Estimates the bytes that the values of all rows in new columns will take. All rows get the same value.
    fn added_bytes(
        &self,
        definition: &TableDefinition,
        added: impl Fn(&Column, usize) -> Result<ArrayRef>,
    ) -> Result<usize> {
        let row_count = self.working.row_count();
        if row_count == 0 {
            return Ok(0);
        }
        let own = self.working.definition();
        let new = definition.columns.iter().filter(|column| own.column_by_id(column.id).is_none());
        let sizes = new.map(|column| added(column, SAMPLE_ROWS).map(|values| byte_count_of(&values)));
        let of_sample = sizes.sum::<Result<usize>>()?;
        Ok(of_sample.saturating_mul(row_count) / SAMPLE_ROWS)
    }

    /// Adds the pending rows to the table. Returns how many of all rows so far were rejected because of their keys.
    pub fn settle(&mut self) -> Result<u64> {
        if self.pending_rows == 0 {
            return Ok(self.rejected);
        }
        let pending = std::mem::take(&mut self.pending);
        let column = |position: usize| {
            let arrays: Vec<ArrayRef> = pending.iter().map(|columns| ArrayRef::clone(&columns[position])).collect();
            concat_arrays(&arrays, self.working.threads).map(compact)
        };
        let columns = (0..self.working.shape.types.len()).map(column).collect::<Result<Vec<_>>>()?;
        drop(pending);
        let addition = AddedRows { columns, row_count: self.pending_rows, policy: self.policy };
        (self.pending_rows, self.pending_bytes) = (0, 0);
        self.pending_text.fill(0);
        let (state, rejected) = added(&self.working, &addition)?;
        self.check_bound(state.byte_count())?;
        self.working = Arc::new(state);
        self.rejected += rejected;
        self.additions.iter_mut().for_each(|additions| additions.push(addition.clone()));
        Ok(self.rejected)
    }

    /// Returns the table with the changes. Pending rows are not included.
    pub fn working(&self) -> &Arc<TableState> {
        &self.working
    }

    fn check_bound(&self, byte_count: usize) -> Result<()> {
        if byte_count <= self.bytes_max {
            return Ok(());
        }
        let message = format!(
            "table {} is full: it would take {byte_count} bytes of memory; the maximum is {}",
            self.working.definition().name,
            self.bytes_max
        );
        let hint = "allow more: ALTER TABLE ... SET (max_memory = '4 GiB'), or DELETE rows";
        Err(Error::new(ErrorKind::Limit, message).with_hint(hint))
    }

    /// Starts from another state of the table. It is a [`Conflict`](ErrorKind::Conflict) unless rows were only added.
    fn rebase(&mut self, base: Arc<TableState>) -> Result<()> {
        if !base.is(&self.base) {
            (self.working, self.rejected) = self.over(&base)?;
            self.base = base;
        }
        Ok(())
    }

    /// Returns the state that replaces `current`, and how many of the added rows were rejected because of their keys.
    fn over(&self, current: &Arc<TableState>) -> Result<(Arc<TableState>, u64)> {
        if current.is(&self.base) {
            return Ok((Arc::clone(&self.working), self.rejected));
        }
        let same_shape = current.shape == self.base.shape;
        let Some(additions) = self.additions.as_ref().filter(|_| same_shape) else {
            return Err(conflict(current.definition()));
        };
        let (mut state, mut rejected) = (TableState::clone(current), 0);
        for addition in additions {
            let (next, more) = added(&state, addition)?;
            state = next;
            rejected += more;
        }
        self.check_bound(state.byte_count())?;
        Ok((Arc::new(state), rejected))
    }
}

/// Returns a state with more rows, and how many of them were rejected.
fn added(state: &TableState, addition: &AddedRows) -> Result<(TableState, u64)> {
    let part = state.build_part(addition.columns.clone(), addition.row_count)?;
    let resolved = resolve(state, &part, addition.policy)?;
    let part = match (resolved.merged, &resolved.kept) {
        (Some(merged), _) => {
            let row_count = merged.first().map_or(0, |column| column.len());
            state.build_part(merged, row_count)?
        }
        (None, None) => part,
        (None, Some(kept)) => {
            let columns = part.columns.iter().map(|column| filter(column, kept).map_err(Error::from));
            state.build_part(columns.collect::<Result<_>>()?, kept.true_count())?
        }
    };
    let state = match resolved.replaced.is_empty() {
        true => state.with_part(part)?,
        false => state.without(resolved.replaced)?.with_part(part)?,
    };
    Ok((state, resolved.rejected))
}

/// Copies an array that is a small slice of a large allocation.
fn compact(array: ArrayRef) -> ArrayRef {
    let own = byte_count_of(&array);
    match array.get_array_memory_size() > 2 * own + 4_096 {
        true => {
            let rows = arrow::array::UInt32Array::from_iter_values(0..array.len() as u32);
            arrow::compute::take(&array, &rows, None).unwrap_or(array)
        }
        false => array,
    }
}

fn conflict(definition: &TableDefinition) -> Error {
    Error::new(ErrorKind::Conflict, format!("table {} was changed by another writer in the meantime", definition.name))
}

/// The drafts of all in-memory tables that a batch changes.
#[derive(Debug, Clone, Default)]
pub struct BatchDrafts {
    tables: BTreeMap<TableId, TableDraft>,
    dropped: Vec<TableId>,
    /// Tables with new definitions whose rows nobody has used.
    unused: BTreeMap<TableId, TableDefinition>,
}

impl BatchDrafts {
    /// Returns whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.dropped.is_empty() && self.unused.is_empty()
    }

    /// Returns the draft of a table. `base` provides the table's state when the batch first uses it.
    pub fn table(
        &mut self,
        id: TableId,
        bytes_max: usize,
        base: impl FnOnce() -> Result<Arc<TableState>>,
    ) -> Result<&mut TableDraft> {
        use std::collections::btree_map::Entry;
        match self.tables.entry(id) {
            Entry::Occupied(draft) => Ok(draft.into_mut()),
            Entry::Vacant(vacant) => Ok(vacant.insert(TableDraft::new(base()?, bytes_max))),
        }
    }

    /// Lets drafts that only add rows start from other states. `base` returns that of a table; without one, its draft
    /// stays as it is. It is a [`Conflict`](ErrorKind::Conflict) if a draft that does more has another base.
    pub fn rebase(&mut self, base: impl Fn(TableId) -> Result<Option<Arc<TableState>>>) -> Result<()> {
        for (id, draft) in &mut self.tables {
            if let Some(base) = base(*id)? {
                draft.rebase(base)?;
            }
        }
        Ok(())
    }

    /// Returns whether the batch has a draft of a table.
    pub fn has(&self, id: TableId) -> bool {
        self.tables.contains_key(&id)
    }

    /// Makes the commit fail if others have used a table until then: their rows were not compared with its new
    /// definition.
    pub fn expect_unused(&mut self, id: TableId, definition: TableDefinition) {
        self.unused.insert(id, definition);
    }

    /// Drops a table with the commit.
    pub fn drop_table(&mut self, id: TableId) {
        self.tables.remove(&id);
        self.dropped.push(id);
    }

    /// Adds all pending rows to their tables. Returns how many were rejected because of their keys.
    pub fn settle(&mut self) -> Result<u64> {
        self.tables.values_mut().map(TableDraft::settle).sum()
    }

    /// Returns a snapshot with the batch's changes. Pending rows are not included.
    pub fn over(&self, snapshot: &ResidentSnapshot) -> ResidentSnapshot {
        let mut snapshot = snapshot.clone();
        self.tables.iter().for_each(|(id, draft)| snapshot.put(*id, Arc::clone(&draft.working)));
        snapshot
    }

    /// Makes all drafts visible at once if `commit`, which commits the rest of the batch, succeeds and `counts` accepts
    /// its result. It is a [`Conflict`](ErrorKind::Conflict) if another writer changed one of the tables other than by
    /// adding rows, or used one that was [expected](Self::expect_unused) to be unused, and
    /// [`NotFound`](ErrorKind::NotFound) if one was dropped.
    pub fn commit<T>(
        &mut self,
        residents: &ResidentTables,
        commit: impl FnOnce() -> Result<T>,
        counts: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        self.settle()?;
        residents.replace(|current, dropped| {
            if let Some((_, draft)) = self.tables.iter().find(|(id, _)| dropped.contains(id)) {
                return Err(Error::not_found(format!("table {} was dropped", draft.base.definition().name)));
            }
            let over = |(id, draft): (&TableId, &TableDraft)| {
                let current = current.get(*id).unwrap_or_else(|| Arc::clone(&draft.base));
                Ok((*id, draft.over(&current)?.0))
            };
            let states = self.tables.iter().map(over).collect::<Result<Vec<_>>>()?;
            if let Some((_, definition)) = self.unused.iter().find(|(id, _)| current.get(**id).is_some()) {
                return Err(conflict(definition));
            }
            let done = commit()?;
            let mut next = current.clone();
            if !counts(&done) {
                return Ok((next, done));
            }
            states.into_iter().for_each(|(id, state)| next.put(id, state));
            self.dropped.iter().for_each(|id| next.remove(*id));
            // A temporary table, whose number is below zero, is only known to the session that drops it.
            dropped.extend(self.dropped.iter().filter(|id| id.0 >= 0));
            Ok((next, done))
        })
    }
}
