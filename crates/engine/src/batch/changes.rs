//! The chunks that a batch removes and the tables that it redefines, until its commit.

use crate::batch::references::deferral::Deferral;
use crate::batch::references::state::ReferenceChecks;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::changed_meanwhile;
use crate::shared::temporary::{TemporaryTable, gone, is_temporary};
use atsdb_core::refusal;
use atsdb_core::{
    Change, ChunkGuard, ChunkId, DefinitionGuard, DefinitionVersion, Error, QualifiedName, Redefinition, Result, Store,
    Table, TableDefinition, TableId,
};
use std::collections::{BTreeMap, BTreeSet};

/// The chunks and tables that the commit removes, the definitions that it changes, and the definitions and chunks that
/// it relies on.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    /// The store when the batch first read it.
    base: Option<ReadSnapshot>,
    /// Chunks of the base that are removed.
    removed: BTreeMap<ChunkId, TableId>,
    /// Removed chunks that are not in their tables' change logs yet.
    unlogged: Vec<(TableId, ChunkId)>,
    /// The rollup or materialized view that the batch has refreshed last. Only a refresh may change one.
    refreshed: Option<TableId>,
    /// Tables of the base that are dropped.
    dropped: Vec<TableId>,
    /// Tables that the batch creates, in its stage.
    created: Vec<Table>,
    /// Tables of the base whose definition changes.
    redefined: BTreeMap<TableId, Redefinition>,
    /// Conditions that the store checks in the commit.
    guards: Vec<ChunkGuard>,
    /// The definitions that the batch has relied on.
    based_on: BTreeMap<TableId, DefinitionGuard>,
    /// Whether one of them is the definition of a table in memory.
    relies_on_memory: bool,
    /// Chunks of the stage that are removed before the commit.
    hidden: BTreeSet<ChunkId>,
    /// The session's temporary tables, as the batch has them.
    temporary: Vec<TemporaryTable>,
    /// The rows and keys that are to be checked for foreign keys, and the results so far.
    references: ReferenceChecks,
    /// The settings that decide which foreign keys are checked when the transaction ends.
    deferral: Deferral,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.dropped.is_empty() && self.redefined.is_empty()
    }

    /// Moves everything into the change to commit.
    pub(crate) fn fill(&mut self, change: &mut Change) {
        change.based_on = self.named_definitions();
        let dropped = &self.dropped;
        let removed = std::mem::take(&mut self.removed).into_iter().map(|(chunk, table)| (table, chunk));
        change.remove = removed.filter(|(table, _)| !dropped.contains(table)).collect();
        change.drop.clone_from(dropped);
        change.redefine = std::mem::take(&mut self.redefined).into_values().collect();
        change.guards = std::mem::take(&mut self.guards);
        self.references.fill(change);
        self.base = None;
    }

    /// A copy of changes with guards or with foreign keys to check, for another attempt. It relies on the same
    /// definitions, and when it next reads the store, it reads the state at that time.
    pub(crate) fn guarded(&self) -> Option<Self> {
        (!self.guards.is_empty() || !self.references.is_empty()).then(|| {
            let based_on = self.named_definitions().into_iter().map(|guard| (guard.table, guard)).collect();
            Self { base: None, based_on, ..self.clone() }
        })
    }

    /// Every definition that the batch has relied on.
    pub(crate) fn named_definitions(&self) -> Vec<DefinitionGuard> {
        let mut based_on = self.based_on.clone();
        if let Some(base) = &self.base {
            let touched = self.removed.values().chain(&self.dropped).chain(self.redefined.keys());
            for table in touched.filter_map(|id| base.table_by_id(*id)) {
                based_on.entry(table.id).or_insert_with(|| DefinitionGuard::of(table));
            }
        }
        based_on.into_values().collect()
    }

    /// Notes that the batch relies on this definition of a table. If the batch has relied on or seen another one, this
    /// is a [`Conflict`](atsdb_core::ErrorKind::Conflict).
    pub(crate) fn name_definition(&mut self, table: &Table) -> Result<()> {
        if is_temporary(table.id) {
            return match self.temporary.iter().find(|own| own.table.id == table.id) {
                Some(own) if own.table.version == table.version => Ok(()),
                Some(_) => Err(changed_meanwhile(&table.definition)),
                None => Err(gone(table)),
            };
        }
        if self.has_created(table.id) {
            return Ok(());
        }
        let own = self.present_version(table.id);
        if own.is_some_and(|own| own != table.version) {
            return Err(changed_meanwhile(&table.definition));
        }
        if !self.redefined.contains_key(&table.id) {
            self.based_on.entry(table.id).or_insert_with(|| DefinitionGuard::of(table));
            self.relies_on_memory |= table.definition.is_in_memory();
        }
        Ok(())
    }

    /// Returns whether the batch has relied on the definition of a table in memory.
    pub(crate) fn relies_on_memory(&self) -> bool {
        self.relies_on_memory
    }

    /// The version of a definition that applies in the batch: its own, the one that it has relied on, or that of the
    /// base.
    pub(crate) fn present_version(&self, id: TableId) -> Option<DefinitionVersion> {
        let relied_on = self.based_on.get(&id).map(|guard| guard.version);
        let before = relied_on.or_else(|| Some(self.base.as_ref()?.table_by_id(id)?.version));
        before.map(|before| if self.redefined.contains_key(&id) { before.next() } else { before })
    }

    /// Relies on a newer definition from now on. Earlier work of the batch must be valid under it, too.
    pub(crate) fn rely_on_newer(&mut self, table: &Table) {
        self.based_on.insert(table.id, DefinitionGuard::of(table));
    }

    /// Fixes the state that the batch sees. The definitions that it has relied on must be those of this state.
    pub(crate) fn set_base(&mut self, base: &ReadSnapshot) -> Result<()> {
        for guard in self.based_on.values() {
            match base.table_by_id(guard.table) {
                Some(table) if table.version == guard.version => {}
                Some(table) => return Err(changed_meanwhile(&table.definition)),
                None => return Err(refusal::table_dropped(guard)),
            }
        }
        self.base = Some(base.clone());
        Ok(())
    }

    /// Returns whether the batch removes chunks that are not in a change log yet.
    pub(crate) fn has_unlogged(&self) -> bool {
        !self.unlogged.is_empty()
    }

    /// Takes the unlogged chunks, grouped by table.
    pub(crate) fn take_unlogged(&mut self) -> BTreeMap<TableId, Vec<ChunkId>> {
        let mut by_table: BTreeMap<TableId, Vec<ChunkId>> = BTreeMap::new();
        for (table, chunk) in self.unlogged.drain(..) {
            by_table.entry(table).or_default().push(chunk);
        }
        by_table
    }

    /// The store when the batch first read it, if it has.
    pub(crate) fn base(&self) -> Option<&ReadSnapshot> {
        self.base.as_ref()
    }

    /// Notes that a chunk of the base is removed.
    pub(crate) fn note_removed(&mut self, table: TableId, chunk: ChunkId) {
        self.removed.insert(chunk, table);
        self.unlogged.push((table, chunk));
    }

    /// The chunks that the batch no longer sees: those of the base that are removed, and the hidden ones of the stage.
    /// No visible chunk has the number of a staged one.
    pub(crate) fn removed_and_hidden(&self) -> BTreeSet<ChunkId> {
        self.removed.keys().chain(&self.hidden).copied().collect()
    }

    /// The chunks of a table in the base that are removed.
    pub(crate) fn removed_from(&self, table: TableId) -> impl Iterator<Item = ChunkId> + '_ {
        self.removed.iter().filter(move |(_, own)| **own == table).map(|(chunk, _)| *chunk)
    }

    /// The tables that the commit drops.
    pub(crate) fn dropped(&self) -> &[TableId] {
        &self.dropped
    }

    /// Notes that a table of the base is dropped.
    pub(crate) fn note_dropped(&mut self, table: TableId) {
        self.redefined.remove(&table);
        self.dropped.push(table);
    }

    /// Notes that the definition of a table of the base changes.
    pub(crate) fn note_redefined(&mut self, change: Redefinition) {
        self.redefined.insert(change.table, change);
    }

    /// Returns whether the definition of a table of the base changes.
    pub(crate) fn has_redefined(&self, table: TableId) -> bool {
        self.redefined.contains_key(&table)
    }

    /// The new definitions of tables.
    pub(crate) fn redefined_mut(&mut self) -> impl Iterator<Item = &mut Redefinition> {
        self.redefined.values_mut()
    }

    /// Notes a table that the batch creates.
    pub(crate) fn note_created(&mut self, table: &Table) {
        self.created.push(table.clone());
    }

    /// Forgets a table that the batch has created.
    pub(crate) fn forget_created(&mut self, table: TableId) {
        self.created.retain(|created| created.id != table);
    }

    /// Notes that the batch refreshes this rollup or materialized view, so that it may change its rows.
    pub(crate) fn note_refreshed(&mut self, table: TableId) {
        self.refreshed = Some(table);
    }

    /// Returns whether the batch refreshes this rollup or materialized view.
    pub(crate) fn refreshes(&self, table: TableId) -> bool {
        self.refreshed == Some(table)
    }

    /// Makes the commit fail with [`ErrorKind::Conflict`] if a chunk newer than `newest` is visible in the table.
    pub(crate) fn guard(&mut self, guard: ChunkGuard) {
        self.guards.push(guard);
    }

    /// Returns the state of the checks of foreign keys.
    pub(crate) fn references(&self) -> &ReferenceChecks {
        &self.references
    }

    /// Returns the state of the checks of foreign keys, to change it.
    pub(crate) fn references_mut(&mut self) -> &mut ReferenceChecks {
        &mut self.references
    }

    /// Returns the settings that decide which foreign keys are checked when the transaction ends.
    pub(crate) fn deferral(&self) -> &Deferral {
        &self.deferral
    }

    /// Returns the settings that decide which foreign keys are checked when the transaction ends, to change them.
    pub(crate) fn deferral_mut(&mut self) -> &mut Deferral {
        &mut self.deferral
    }

    /// Returns whether a table that the batch sees has a foreign key.
    pub(crate) fn has_foreign_keys(&self, base: &ReadSnapshot) -> bool {
        let of_base = base.tables().iter().map(|table| &table.definition);
        let own = self.created.iter().map(|table| &table.definition);
        let own = own.chain(self.redefined.values().map(|change| &change.to));
        of_base.chain(own).any(|definition| !definition.foreign_keys.is_empty())
    }

    /// The conditions that the store checks in the commit.
    pub(crate) fn guards(&self) -> &[ChunkGuard] {
        &self.guards
    }

    /// Raises the guards: all chunks up to this one have been checked.
    pub(crate) fn raise_guards(&mut self, newest: ChunkId) {
        for guard in &mut self.guards {
            guard.newest = guard.newest.max(newest);
        }
    }

    /// Returns whether the table has a guard.
    pub(crate) fn has_guard(&self, table: TableId) -> bool {
        self.guards.iter().any(|guard| guard.table == table)
    }

    /// Returns whether the batch has read the store, or has changed anything.
    pub(crate) fn has_looked(&self) -> bool {
        self.base.is_some() || !self.is_empty() || !self.created.is_empty()
    }

    /// Forgets the state that the batch has read, if nothing in the batch depends on it.
    pub(crate) fn forget_base(&mut self) {
        if self.is_empty() && self.created.is_empty() && self.guards.is_empty() {
            self.base = None;
            self.based_on.clear();
            self.relies_on_memory = false;
            self.references = ReferenceChecks::default();
        }
    }

    /// The tables that the batch creates.
    pub(crate) fn created(&self) -> &[Table] {
        &self.created
    }

    /// Hides chunks of the stage.
    pub(crate) fn hide(&mut self, chunks: &[ChunkId]) {
        self.hidden.extend(chunks);
    }

    /// Takes the hidden chunks. No chunk is hidden afterwards.
    pub(crate) fn take_hidden(&mut self) -> BTreeSet<ChunkId> {
        std::mem::take(&mut self.hidden)
    }

    /// Returns whether the batch itself created the table.
    pub(crate) fn has_created(&self, table: TableId) -> bool {
        self.created.iter().any(|created| created.id == table)
    }

    /// The session's temporary tables, as the batch has them.
    pub(crate) fn temporary(&self) -> &[TemporaryTable] {
        &self.temporary
    }

    /// The temporary tables, for changing them.
    pub(crate) fn temporary_mut(&mut self) -> &mut Vec<TemporaryTable> {
        &mut self.temporary
    }

    /// The tables of the store that the batch sees.
    pub(crate) fn tables(&self, base: &ReadSnapshot) -> Vec<Table> {
        let created = self.created.iter().filter(|table| !table.definition.is_hidden());
        self.present(base.tables()).chain(created.cloned()).collect()
    }

    /// The table of the store that the batch sees with such a definition. This copies no other table.
    pub(crate) fn find_table(&self, base: &ReadSnapshot, is_it: impl Fn(&TableDefinition) -> bool) -> Option<Table> {
        if let Some(created) = self.created.iter().find(|created| is_it(&created.definition)) {
            return Some(created.clone());
        }
        base.tables().iter().filter(|table| !self.dropped.contains(&table.id)).find_map(|table| {
            let (version, definition) = match self.redefined.get(&table.id) {
                Some(change) => (table.version.next(), &change.to),
                None => (table.version, &table.definition),
            };
            is_it(definition).then(|| Table { id: table.id, version, definition: definition.clone() })
        })
    }

    /// The sequence that a column of a table takes numbers from, as the batch sees it.
    pub(crate) fn sequence(&self, store: &dyn Store, table: &Table, name: &QualifiedName) -> Result<Table> {
        let is_it = |other: &TableDefinition| other.sequence && name.is_of(other);
        let found = match &self.base {
            Some(base) => self.find_table(base, is_it),
            None => match self.created.iter().find(|own| is_it(&own.definition)) {
                Some(own) => Some(own.clone()),
                None => {
                    let stored = store.snapshot()?.table_named(&name.stored_name())?;
                    stored.filter(|stored| is_it(&stored.definition))
                }
            },
        };
        found.ok_or_else(|| {
            let (table, name) = (&table.definition.name, &name.name);
            Error::not_found(format!("the sequence {name} of table {table} does not exist"))
        })
    }

    /// The entries of schemas and of enumerated types that the batch sees.
    pub(crate) fn entries(&self, base: &ReadSnapshot) -> Vec<Table> {
        let created = self.created.iter().filter(|table| table.definition.is_entry());
        self.present(base.entries()).chain(created.cloned()).collect()
    }

    /// Tables of the base without those that are dropped, as they are redefined.
    fn present<'a>(&'a self, tables: impl IntoIterator<Item = &'a Table> + 'a) -> impl Iterator<Item = Table> + 'a {
        let stays = |table: &&Table| !self.dropped.contains(&table.id);
        tables.into_iter().filter(stays).map(|table| match self.redefined.get(&table.id) {
            Some(change) => Table { id: table.id, version: table.version.next(), definition: change.to.clone() },
            None => table.clone(),
        })
    }
}
