//! What a batch does to tables in memory, until its commit: each table as it was, and as it is to be.

use crate::error::internal;
use crate::joined::joined;
use crate::part::{PART_ROWS_MAX, PART_TEXT_BYTES_MAX, byte_count_of, text_bytes_of};
use crate::registry::{ResidentSnapshot, Residents};
use crate::resolve::resolve;
use crate::state::TableState;
use arrow::array::{Array, ArrayRef};
use arrow::compute::filter;
use arrow::datatypes::DataType;
use atsdb_core::{ConflictPolicy, Error, ErrorKind, Result, TableDefinition, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows that were added, under one policy.
#[derive(Debug, Clone)]
struct Addition {
    columns: Vec<ArrayRef>,
    row_count: usize,
    policy: ConflictPolicy,
}

/// One table in a batch.
#[derive(Debug, Clone)]
pub struct Draft {
    base: Arc<TableState>,
    working: Arc<TableState>,
    /// Rows that wait to become a part.
    waiting: Vec<Vec<ArrayRef>>,
    waiting_rows: usize,
    waiting_bytes: usize,
    waiting_text: Vec<usize>,
    policy: ConflictPolicy,
    /// What was added, if nothing else was done: it can be added to another state as well.
    additions: Option<Vec<Addition>>,
    kept_out: u64,
    bytes_max: usize,
}

impl Draft {
    /// A draft that begins as the table is; it may take so many bytes.
    pub fn new(base: Arc<TableState>, bytes_max: usize) -> Self {
        let working = Arc::clone(&base);
        let (waiting_text, additions) = (vec![0; base.shape.types.len()], Some(Vec::new()));
        let policy = ConflictPolicy::Error;
        Self {
            base,
            working,
            waiting: Vec::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
            waiting_text,
            policy,
            additions,
            kept_out: 0,
            bytes_max,
        }
    }

    /// Adds rows: an array for each column.
    pub fn append(&mut self, columns: Vec<ArrayRef>, row_count: usize, policy: ConflictPolicy) -> Result<()> {
        if row_count == 0 {
            return Ok(());
        }
        let texts: Vec<usize> = columns.iter().map(text_bytes_of).collect();
        let too_long = self.waiting_text.iter().zip(&texts).any(|(own, more)| own + more > PART_TEXT_BYTES_MAX);
        if policy != self.policy || too_long || self.waiting_rows + row_count > PART_ROWS_MAX {
            self.settle()?;
        }
        self.policy = policy;
        self.waiting_rows += row_count;
        self.waiting_bytes += columns.iter().map(byte_count_of).sum::<usize>();
        self.waiting_text.iter_mut().zip(texts).for_each(|(own, more)| *own += more);
        self.waiting.push(columns);
        self.check_bound(self.working.byte_count() + self.waiting_bytes)
    }

    /// Takes rows of the present state away, and adds others in their place.
    pub fn change(
        &mut self,
        expected: &TableState,
        gone: impl IntoIterator<Item = (u32, u32)>,
        rows: Vec<(Vec<ArrayRef>, usize)>,
    ) -> Result<()> {
        self.settle()?;
        if !self.working.is(expected) {
            return Err(changed(self.working.definition()));
        }
        self.additions = None;
        self.working = Arc::new(self.working.without(gone)?);
        rows.into_iter().try_for_each(|(columns, row_count)| self.append(columns, row_count, ConflictPolicy::Error))?;
        self.settle().map(drop)
    }

    /// Takes all rows away, and says how many there were.
    pub fn truncate(&mut self) -> Result<u64> {
        self.settle()?;
        let row_count = self.working.row_count() as u64;
        self.additions = None;
        self.working = Arc::new(self.working.without_rows());
        Ok(row_count)
    }

    /// Gives the table another definition.
    pub fn redefine(&mut self, definition: &TableDefinition, types: Vec<DataType>) -> Result<()> {
        self.settle()?;
        self.additions = None;
        self.waiting_text = vec![0; types.len()];
        self.working = Arc::new(self.working.redefined(definition, types)?);
        self.check_bound(self.working.byte_count())
    }

    /// Lets the rows that wait into the table. Says how many of all so far were kept out by their keys.
    pub fn settle(&mut self) -> Result<u64> {
        if self.waiting_rows == 0 {
            return Ok(self.kept_out);
        }
        let waiting = std::mem::take(&mut self.waiting);
        let column = |position: usize| {
            let arrays: Vec<ArrayRef> = waiting.iter().map(|columns| ArrayRef::clone(&columns[position])).collect();
            joined(&arrays, self.working.threads).map(compact)
        };
        let columns = (0..self.working.shape.types.len()).map(column).collect::<Result<Vec<_>>>()?;
        drop(waiting);
        let addition = Addition { columns, row_count: self.waiting_rows, policy: self.policy };
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        self.waiting_text.fill(0);
        let (state, kept_out) = added(&self.working, &addition)?;
        self.check_bound(state.byte_count())?;
        self.working = Arc::new(state);
        self.kept_out += kept_out;
        self.additions.iter_mut().for_each(|additions| additions.push(addition.clone()));
        Ok(self.kept_out)
    }

    /// The table with what was done. Rows that wait are not in it.
    pub fn working(&self) -> &Arc<TableState> {
        &self.working
    }

    fn check_bound(&self, byte_count: usize) -> Result<()> {
        if byte_count <= self.bytes_max {
            return Ok(());
        }
        let message = format!(
            "table {} is full: it would take {byte_count} bytes of memory, and may take {}",
            self.working.definition().name,
            self.bytes_max
        );
        let hint = "allow more: ALTER TABLE ... SET (max_memory = '4 GiB'), or DELETE rows";
        Err(Error::new(ErrorKind::Limit, message).with_hint(hint))
    }

    /// What to put in the place of `current`.
    fn over(&self, current: &Arc<TableState>) -> Result<Arc<TableState>> {
        if current.is(&self.base) {
            return Ok(Arc::clone(&self.working));
        }
        let same_shape = current.shape == self.base.shape;
        let Some(additions) = self.additions.as_ref().filter(|_| same_shape) else {
            return Err(changed(current.definition()));
        };
        let mut state = TableState::clone(current);
        for addition in additions {
            state = added(&state, addition)?.0;
        }
        self.check_bound(state.byte_count())?;
        Ok(Arc::new(state))
    }
}

/// A state with more rows, and how many of them were kept out.
fn added(state: &TableState, addition: &Addition) -> Result<(TableState, u64)> {
    let part = state.part_of(addition.columns.clone(), addition.row_count)?;
    let resolved = resolve(state, &part, addition.policy)?;
    let part = match &resolved.stays {
        None => part,
        Some(stays) => {
            let kept = part.columns.iter().map(|column| filter(column, stays).map_err(internal));
            state.part_of(kept.collect::<Result<_>>()?, stays.true_count())?
        }
    };
    let state = match resolved.gone.is_empty() {
        true => state.with_part(part)?,
        false => state.without(resolved.gone)?.with_part(part)?,
    };
    Ok((state, resolved.kept_out))
}

/// An array of its own, where it is a small piece of a large one.
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

fn changed(definition: &TableDefinition) -> Error {
    Error::new(ErrorKind::Conflict, format!("table {} was changed by somebody else meanwhile", definition.name))
}

/// The tables in memory that a batch works on.
#[derive(Debug, Clone, Default)]
pub struct Drafts {
    tables: BTreeMap<TableId, Draft>,
    dropped: Vec<TableId>,
}

impl Drafts {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.dropped.is_empty()
    }

    /// The draft of a table; `base` says what the table is like when the batch first touches it.
    pub fn table(
        &mut self,
        id: TableId,
        bytes_max: usize,
        base: impl FnOnce() -> Result<Arc<TableState>>,
    ) -> Result<&mut Draft> {
        use std::collections::btree_map::Entry;
        match self.tables.entry(id) {
            Entry::Occupied(draft) => Ok(draft.into_mut()),
            Entry::Vacant(vacant) => Ok(vacant.insert(Draft::new(base()?, bytes_max))),
        }
    }

    /// Whether a table is worked on.
    pub fn has(&self, id: TableId) -> bool {
        self.tables.contains_key(&id)
    }

    /// The table goes with the commit.
    pub fn drop_table(&mut self, id: TableId) {
        self.tables.remove(&id);
        self.dropped.push(id);
    }

    /// Lets all rows that wait into their tables. Says how many were kept out by their keys.
    pub fn settle(&mut self) -> Result<u64> {
        self.tables.values_mut().map(Draft::settle).sum()
    }

    /// A snapshot with what the batch did. Rows that wait are not in it.
    pub fn over(&self, snapshot: &ResidentSnapshot) -> ResidentSnapshot {
        let mut snapshot = snapshot.clone();
        self.tables.iter().for_each(|(id, draft)| snapshot.put(*id, Arc::clone(&draft.working)));
        snapshot
    }

    /// Makes everything visible at once if `commit` succeeds, which makes visible what else belongs to it, and `counts`
    /// says that it did. If somebody changed the same tables otherwise than by adding rows, that is
    /// [`ErrorKind::Conflict`]; if somebody dropped one, [`ErrorKind::NotFound`].
    pub fn commit<T>(
        &mut self,
        residents: &Residents,
        commit: impl FnOnce() -> Result<T>,
        counts: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        self.settle()?;
        residents.replace(|current, dropped| {
            if let Some((_, draft)) = self.tables.iter().find(|(id, _)| dropped.contains(id)) {
                return Err(Error::not_found(format!("table {} is gone", draft.base.definition().name)));
            }
            let over = |(id, draft): (&TableId, &Draft)| {
                let current = current.get(*id).unwrap_or_else(|| Arc::clone(&draft.base));
                Ok((*id, draft.over(&current)?))
            };
            let states = self.tables.iter().map(over).collect::<Result<Vec<_>>>()?;
            let done = commit()?;
            let mut next = current.clone();
            if !counts(&done) {
                return Ok((next, done));
            }
            states.into_iter().for_each(|(id, state)| next.put(id, state));
            self.dropped.iter().for_each(|id| next.remove(*id));
            dropped.extend(&self.dropped);
            Ok((next, done))
        })
    }
}
