//! The state of the checks of foreign keys in a batch: the rows and keys to check, and the results so far.

use crate::batch::collector::PendingChunk;
use crate::batch::keys::key::KeyColumns;
use arrow::array::RecordBatch;
use atsdb_core::name::name_key;
use atsdb_core::{
    Amendment, Change, ChunkId, ChunkUid, ColumnId, DefinitionGuard, ForeignKey, Redefinition, ReferentialAction,
    Table, TableId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Rows are kept to the end of the statement up to this number.
const ADDED_ROWS_MAX: usize = 1 << 20;

/// A chunk that the batch has removed from a parent.
#[derive(Clone)]
pub(crate) struct RemovedChunk {
    pub(crate) table: TableId,
    pub(crate) chunk: ChunkId,
    /// Whether its rows are deleted, rather than changed, as far as they are not in its successor.
    pub(crate) is_deletion: bool,
    /// The chunk itself, if only the batch's memory had it.
    pub(crate) pending: Option<PendingChunk>,
}

/// Rows of a child table that were added since the last check.
#[derive(Clone)]
pub(crate) struct AddedRows {
    pub(crate) table: Table,
    /// The columns of its foreign keys in stored form.
    pub(crate) batches: Vec<RecordBatch>,
    row_count: usize,
    /// The number of rows from which on they are looked up in the middle of a statement.
    row_count_max: usize,
}

/// A foreign key of a table.
#[derive(Clone, PartialEq)]
pub(crate) struct Reference {
    pub(crate) child: TableId,
    pub(crate) key: ForeignKey,
}

/// Rows of a parent that were removed and added again with other values.
#[derive(Clone)]
pub(crate) struct MovedRows {
    pub(crate) table: TableId,
    /// The columns that foreign keys refer to that follow other keys, in stored form.
    pub(crate) before: RecordBatch,
    /// The columns of `before` with the new values of the rows.
    pub(crate) after: RecordBatch,
}

/// Rows of a parent that are deleted by a statement that also changes others in the same chunks.
#[derive(Clone)]
pub(crate) struct DeletedRows {
    pub(crate) table: TableId,
    /// The columns that foreign keys refer to, in stored form.
    pub(crate) columns: RecordBatch,
}

/// Keys that rows of a parent do not have any more. Definitions may change while they are kept.
#[derive(Clone)]
pub(crate) struct GoneKeys {
    /// The foreign key as it was when the keys went.
    pub(crate) reference: Reference,
    /// The parent.
    pub(crate) parent: TableId,
    /// The parent's columns, in the order of the foreign key.
    pub(crate) parent_columns: Vec<ColumnId>,
    /// Whether their rows were deleted, rather than changed.
    pub(crate) is_deletion: bool,
    /// The action that is applied to the rows that refer to these keys.
    pub(crate) action: ReferentialAction,
    /// The values in the form in which they were looked up when they went.
    pub(crate) keys: Vec<KeyColumns>,
}

/// A table whose rows the batch's foreign keys depend on.
#[derive(Clone)]
pub(crate) struct KnownTable {
    /// The table in the state that the batch has read.
    pub(crate) table: Table,
    /// The foreign keys that refer to it there.
    pub(crate) referenced_by: Vec<Reference>,
    /// Whether rows of the batch refer to its rows.
    pub(crate) is_relied_on: bool,
    /// Whether it lacks keys after the batch.
    pub(crate) lacks_keys: bool,
}

/// The rows and keys of a batch that are to be checked for foreign keys, and the results so far. A rollback to a
/// savepoint restores the earlier state.
#[derive(Clone, Default)]
pub(crate) struct ReferenceChecks {
    /// The child tables whose rows the batch has added or validated.
    children: BTreeSet<TableId>,
    /// Rows that were added and are not checked.
    added: BTreeMap<TableId, AddedRows>,
    /// Child tables with chunks that were rewritten since the last check.
    rewritten: BTreeSet<TableId>,
    /// Child tables whose rows were all checked for a foreign key that the batch adds or makes valid.
    validated: BTreeSet<TableId>,
    /// The batch's own chunks of rewritten tables that were checked.
    checked: BTreeSet<ChunkId>,
    /// Chunks of parents that were removed since the last check.
    removed: Vec<RemovedChunk>,
    /// Rows of parents that were removed and added again since the last check.
    moved: Vec<MovedRows>,
    /// Rows of parents that were deleted beside changed ones since the last check.
    deleted: Vec<DeletedRows>,
    /// Keys that parents lacked when a statement ended, and that are looked up when the transaction ends.
    postponed_gone: Vec<GoneKeys>,
    /// Child tables with rows that are looked up when the transaction ends.
    postponed_children: BTreeSet<TableId>,
    /// The batch's own chunks with rows that need no parent, each with the names of the foreign keys that are not valid
    /// and younger than the rows.
    exempt: BTreeMap<ChunkUid, BTreeSet<String>>,
    /// The keys that parents lack.
    gone: Vec<GoneKeys>,
    known: BTreeMap<TableId, KnownTable>,
    /// Chunks that must still exist when the batch is committed.
    pinned: BTreeMap<ChunkId, Amendment>,
    /// The tables that foreign keys refer to, each with the positions of its columns whose new values rows follow;
    /// `None` before it is looked up.
    parents: Option<BTreeMap<TableId, BTreeSet<usize>>>,
}

impl ReferenceChecks {
    /// Notes rows that are added to a child table, given as the columns of its foreign keys. Returns whether so many
    /// rows of the table are not checked that they should be.
    pub(crate) fn note_added(&mut self, table: &Table, rows: RecordBatch) -> bool {
        self.children.insert(table.id);
        let none =
            || AddedRows { table: table.clone(), batches: Vec::new(), row_count: 0, row_count_max: ADDED_ROWS_MAX };
        let added = self.added.entry(table.id).or_insert_with(none);
        added.row_count += rows.num_rows();
        added.batches.push(rows);
        added.row_count > added.row_count_max
    }

    /// Notes that the rows of a table that are not checked now were looked up. They are looked up again when there are
    /// twice as many.
    pub(crate) fn note_looked_up(&mut self, table: TableId) {
        if let Some(added) = self.added.get_mut(&table) {
            added.row_count_max = ADDED_ROWS_MAX.max(added.row_count * 2);
        }
    }

    /// Takes the rows that were added and are not checked.
    pub(crate) fn take_added(&mut self) -> Vec<AddedRows> {
        std::mem::take(&mut self.added).into_values().collect()
    }

    /// Takes the rows that were added to a table and are not checked.
    pub(crate) fn take_added_to(&mut self, table: TableId) -> Option<AddedRows> {
        self.added.remove(&table)
    }

    /// Forgets the rows that were added to a table and are not checked, so that they are read again from their chunks:
    /// the chunks or the table's definition change.
    pub(crate) fn reread_added(&mut self, table: TableId) {
        if self.added.remove(&table).is_some() {
            self.note_rewritten(table);
        }
    }

    /// Notes that all rows of a child table were checked for a foreign key.
    pub(crate) fn note_validated(&mut self, table: TableId) {
        self.children.insert(table);
        self.validated.insert(table);
    }

    /// Returns whether all rows of a child table were checked for a foreign key.
    pub(crate) fn has_validated(&self, table: TableId) -> bool {
        self.validated.contains(&table)
    }

    /// Notes that a chunk of a child table was rewritten.
    pub(crate) fn note_rewritten(&mut self, table: TableId) {
        self.children.insert(table);
        self.rewritten.insert(table);
    }

    /// Takes the tables with rewritten chunks.
    pub(crate) fn take_rewritten(&mut self) -> BTreeSet<TableId> {
        std::mem::take(&mut self.rewritten)
    }

    /// Notes that a chunk of a parent was removed.
    pub(crate) fn note_removed(&mut self, removed: RemovedChunk) {
        self.removed.push(removed);
    }

    /// Notes rows of a parent that are removed and added again.
    pub(crate) fn note_moved(&mut self, rows: MovedRows) {
        self.moved.push(rows);
    }

    /// Notes rows of a parent that are deleted beside changed ones.
    pub(crate) fn note_deleted(&mut self, rows: DeletedRows) {
        self.deleted.push(rows);
    }

    /// Takes the rows that were deleted beside changed ones and are not checked.
    pub(crate) fn take_deleted(&mut self) -> Vec<DeletedRows> {
        std::mem::take(&mut self.deleted)
    }

    /// Takes the moved rows that are not checked.
    pub(crate) fn take_moved(&mut self) -> Vec<MovedRows> {
        std::mem::take(&mut self.moved)
    }

    /// Postpones the check of keys that a parent lacks.
    pub(crate) fn postpone_gone(&mut self, gone: GoneKeys) {
        self.postponed_gone.push(gone);
    }

    /// Postpones the check of the batch's rows in a child table.
    pub(crate) fn postpone_child(&mut self, child: TableId) {
        self.postponed_children.insert(child);
    }

    /// Takes what was postponed: keys that parents lack, and child tables.
    pub(crate) fn take_postponed(&mut self) -> (Vec<GoneKeys>, BTreeSet<TableId>) {
        (std::mem::take(&mut self.postponed_gone), std::mem::take(&mut self.postponed_children))
    }

    /// Returns whether checks that concern a table as child or parent wait for the end of the transaction.
    pub(crate) fn has_postponed(&self, table: &Table) -> bool {
        let concerns = |gone: &GoneKeys| gone.reference.child == table.id || gone.parent == table.id;
        self.postponed_children.contains(&table.id) || self.postponed_gone.iter().any(concerns)
    }

    /// Notes that rows in a chunk of the batch are older than these foreign keys, which are not valid.
    pub(crate) fn note_exempt<'a>(&mut self, chunk: ChunkUid, keys: impl IntoIterator<Item = &'a ForeignKey>) {
        let names = keys.into_iter().map(|key| name_key(&key.name));
        self.exempt.entry(chunk).or_default().extend(names);
    }

    /// Returns whether rows in a chunk of the batch are older than a foreign key that is not valid.
    pub(crate) fn is_exempt(&self, chunk: ChunkUid, key: &ForeignKey) -> bool {
        key.not_valid && self.exempt.get(&chunk).is_some_and(|names| names.contains(&name_key(&key.name)))
    }

    /// Returns whether there is nothing to check.
    pub(crate) fn is_settled(&self) -> bool {
        self.added.is_empty() && self.rewritten.is_empty() && self.removed.is_empty()
    }

    /// Takes the removed chunks that are not checked.
    pub(crate) fn take_removed(&mut self) -> Vec<RemovedChunk> {
        std::mem::take(&mut self.removed)
    }

    /// The child tables whose rows the batch has added or validated.
    pub(crate) fn children(&self) -> Vec<TableId> {
        self.children.iter().copied().collect()
    }

    /// Returns whether a chunk of the batch was checked.
    pub(crate) fn is_checked(&self, chunk: ChunkId) -> bool {
        self.checked.contains(&chunk)
    }

    /// Notes that chunks of the batch were checked.
    pub(crate) fn note_checked(&mut self, chunks: impl IntoIterator<Item = ChunkId>) {
        self.checked.extend(chunks);
    }

    /// Notes the keys that a parent lacks.
    pub(crate) fn note_gone(&mut self, gone: GoneKeys) {
        self.gone.push(gone);
    }

    /// The keys that parents lack.
    pub(crate) fn gone(&self) -> &[GoneKeys] {
        &self.gone
    }

    /// The tables that the batch's foreign keys depend on.
    pub(crate) fn known(&self) -> &BTreeMap<TableId, KnownTable> {
        &self.known
    }

    /// The tables that the batch's foreign keys depend on, for changing them.
    pub(crate) fn known_mut(&mut self) -> &mut BTreeMap<TableId, KnownTable> {
        &mut self.known
    }

    /// Makes the commit fail with a conflict if a chunk of a parent does not exist any more.
    pub(crate) fn pin(&mut self, amendment: Amendment) {
        self.pinned.insert(amendment.chunk, amendment);
    }

    /// The tables that foreign keys refer to, if they were looked up.
    pub(crate) fn parents(&self) -> Option<&BTreeMap<TableId, BTreeSet<usize>>> {
        self.parents.as_ref()
    }

    /// Sets the tables that foreign keys refer to. `None` has them looked up anew.
    pub(crate) fn set_parents(&mut self, parents: Option<BTreeMap<TableId, BTreeSet<usize>>>) {
        self.parents = parents;
    }

    /// Returns whether the commit depends on nothing but what the batch has written.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.pinned.is_empty()
    }

    /// Adds what makes the store refuse the change if a foreign key would be violated: chunks that must exist, and a
    /// new version of each parent that lacks keys.
    pub(crate) fn fill(&self, change: &mut Change) {
        let is_removed = |chunk: &ChunkId| change.remove.iter().any(|(_, removed)| removed == chunk);
        let is_dropped = |table: &TableId| change.drop.contains(table);
        let stays = |pin: &&Amendment| !is_removed(&pin.chunk) && !is_dropped(&pin.table);
        let pins: Vec<Amendment> = self.pinned.values().filter(stays).cloned().collect();
        let is_redefined = |table: &TableId| change.redefine.iter().any(|other| other.table == *table);
        let lacking = self.known.iter().filter(|(id, known)| known.lacks_keys && !is_dropped(id) && !is_redefined(id));
        let redefined = lacking.map(|(id, known)| {
            let (from, to) = (known.table.definition.clone(), known.table.definition.clone());
            (Redefinition { table: *id, from, to }, DefinitionGuard::of(&known.table))
        });
        for (redefinition, guard) in redefined.collect::<Vec<_>>() {
            if change.based_on.iter().all(|based_on| based_on.table != redefinition.table) {
                change.based_on.push(guard);
            }
            change.redefine.push(redefinition);
        }
        change.amend.extend(pins);
    }
}
