//! What a batch takes away and redefines, kept until its commit.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::changed_meanwhile;
use atsdb_core::{
    Change, ChunkGuard, ChunkId, DefinitionGuard, DefinitionVersion, Error, Redefinition, Result, Table, TableId,
};
use std::collections::{BTreeMap, BTreeSet};

/// The chunks and tables that the commit takes away, and the definitions that it changes.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    /// The store when the batch first looked.
    pub(crate) base: Option<ReadSnapshot>,
    /// Chunks of the base that go.
    pub(crate) removed: BTreeMap<ChunkId, TableId>,
    /// Those of them that their tables' logs do not tell of yet.
    pub(crate) unlogged: Vec<(TableId, ChunkId)>,
    /// The rollup that the batch computes, which nobody else may change.
    pub(crate) refreshed: Option<TableId>,
    /// Tables of the base that go.
    pub(crate) dropped: Vec<TableId>,
    /// Tables that the batch's stage holds.
    pub(crate) created: Vec<Table>,
    /// Tables of the base that change.
    pub(crate) redefined: BTreeMap<TableId, Redefinition>,
    /// Conditions that the store checks in the commit.
    pub(crate) guards: Vec<ChunkGuard>,
    /// The definitions under which the batch has done something.
    pub(crate) based_on: BTreeMap<TableId, DefinitionVersion>,
    /// Chunks of the stage that go before the commit.
    pub(crate) hidden: BTreeSet<ChunkId>,
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
        self.base = None;
    }

    /// Every definition that the batch has relied on.
    pub(crate) fn named_definitions(&self) -> Vec<DefinitionGuard> {
        let mut based_on = self.based_on.clone();
        if let Some(base) = &self.base {
            let touched = self.removed.values().chain(&self.dropped).chain(self.redefined.keys());
            for table in touched.filter_map(|id| base.table_by_id(*id)) {
                based_on.entry(table.id).or_insert(table.version);
            }
        }
        based_on.into_iter().map(|(table, version)| DefinitionGuard { table, version }).collect()
    }

    /// Notes that the batch does something to a table under this definition. Another one than it has relied on so far, or
    /// than the batch has seen, is [`ErrorKind::Conflict`].
    pub(crate) fn name_definition(&mut self, table: &Table) -> Result<()> {
        if self.has_created(table.id) {
            return Ok(());
        }
        let own = self.present_version(table.id);
        if own.is_some_and(|own| own != table.version) {
            return Err(changed_meanwhile(&table.definition));
        }
        if !self.redefined.contains_key(&table.id) {
            self.based_on.insert(table.id, table.version);
        }
        Ok(())
    }

    /// The version of a definition that the batch goes by: its own, the one that it has relied on, or that of the base.
    pub(crate) fn present_version(&self, id: TableId) -> Option<DefinitionVersion> {
        let relied_on = self.based_on.get(&id).copied();
        let before = relied_on.or_else(|| Some(self.base.as_ref()?.table_by_id(id)?.version));
        before.map(|before| if self.redefined.contains_key(&id) { before.next() } else { before })
    }

    /// Goes by a newer definition from now on; what was done under the older one is right under it, too.
    pub(crate) fn move_definition(&mut self, table: TableId, to: DefinitionVersion) {
        self.based_on.insert(table, to);
    }

    /// Whether the definitions that the batch has relied on are those of the base.
    pub(crate) fn check_base(&self, base: &ReadSnapshot) -> Result<()> {
        for (id, version) in &self.based_on {
            match base.table_by_id(*id) {
                Some(table) if table.version == *version => {}
                Some(table) => return Err(changed_meanwhile(&table.definition)),
                None => return Err(Error::not_found(format!("table number {} was dropped", id.0))),
            }
        }
        Ok(())
    }

    /// Whether the batch removes chunks that no change log mentions yet.
    pub(crate) fn has_unlogged(&self) -> bool {
        !self.unlogged.is_empty()
    }

    /// Takes these chunks out, by table.
    pub(crate) fn take_unlogged(&mut self) -> BTreeMap<TableId, Vec<ChunkId>> {
        let mut by_table: BTreeMap<TableId, Vec<ChunkId>> = BTreeMap::new();
        for (table, chunk) in self.unlogged.drain(..) {
            by_table.entry(table).or_default().push(chunk);
        }
        by_table
    }

    /// The store as the batch saw it first, if it looked.
    pub(crate) fn looked_at(&self) -> Option<&ReadSnapshot> {
        self.base.as_ref()
    }

    /// The tables that go with the commit.
    pub(crate) fn dropped(&self) -> &[TableId] {
        &self.dropped
    }

    /// Notes that a table of the base goes.
    pub(crate) fn note_dropped(&mut self, table: TableId) {
        self.dropped.push(table);
    }

    /// Notes a table that the stage holds.
    pub(crate) fn note_created(&mut self, table: &Table) {
        self.created.push(table.clone());
    }

    /// Makes the commit fail with [`ErrorKind::Conflict`] if a chunk newer than `newest` is visible in the table.
    pub(crate) fn guard(&mut self, guard: ChunkGuard) {
        self.guards.push(guard);
    }

    /// The conditions that the store checks in the commit.
    pub(crate) fn guards(&self) -> &[ChunkGuard] {
        &self.guards
    }

    /// Moves the guards up: what is there up to this chunk has been looked at.
    pub(crate) fn move_guards(&mut self, newest: ChunkId) {
        self.guards.iter_mut().for_each(|guard| guard.newest = guard.newest.max(newest));
    }

    /// Whether the table has a guard.
    pub(crate) fn has_guard(&self, table: TableId) -> bool {
        self.guards.iter().any(|guard| guard.table == table)
    }

    /// Whether the batch has looked at the store, or changed anything.
    pub(crate) fn has_looked(&self) -> bool {
        self.base.is_some() || !self.is_empty() || !self.created.is_empty()
    }

    /// Forgets what the store was, so that it is looked at anew, if nothing of the batch depends on it.
    pub(crate) fn look_anew(&mut self) {
        if self.is_empty() && self.created.is_empty() && self.guards.is_empty() {
            self.base = None;
            self.based_on.clear();
        }
    }

    /// The tables that the stage holds.
    pub(crate) fn created(&self) -> &[Table] {
        &self.created
    }

    /// Hides chunks of the stage.
    pub(crate) fn hide(&mut self, chunks: &[ChunkId]) {
        self.hidden.extend(chunks);
    }

    /// The chunks of the stage that are hidden; none is then.
    pub(crate) fn take_hidden(&mut self) -> BTreeSet<ChunkId> {
        std::mem::take(&mut self.hidden)
    }

    /// Whether the batch itself created the table.
    pub(crate) fn has_created(&self, table: TableId) -> bool {
        self.created.iter().any(|created| created.id == table)
    }

    pub(crate) fn tables(&self, base: &ReadSnapshot) -> Vec<Table> {
        let visible = base.tables().iter().filter(|table| !self.dropped.contains(&table.id)).map(|table| {
            match self.redefined.get(&table.id) {
                Some(change) => Table { id: table.id, version: table.version.next(), definition: change.to.clone() },
                None => table.clone(),
            }
        });
        let created = self.created.iter().filter(|table| table.definition.logs.is_none());
        visible.chain(created.cloned()).collect()
    }
}
