//! Plans the changes of the target's tables: which are created, updated, dropped or refused.

use crate::copy::cut::{Cut, CutTable};
use crate::copy::options::CopyOptions;
use crate::shared::origin::is_unchanged_copy;
use atsdb_core::name::same_name;
use atsdb_core::{ChunkId, Column, Error, ErrorKind, Result, Snapshot, Store, Table, TableId};

/// The plan of a copy.
pub(super) struct Plan {
    /// The action for each table of the cut, in order.
    pub(super) actions: Vec<TableAction>,
    /// Tables of the target to drop, including change logs.
    pub(super) drop: Vec<Table>,
    /// A chunk number that no chunk of the target exceeds.
    pub(super) newest: ChunkId,
}

/// The action of the copy for a table of the cut.
#[derive(Debug, Clone)]
pub(super) enum TableAction {
    /// Creates it.
    Create,
    /// Updates this earlier copy of it.
    Update(Box<Table>),
}

/// Refuses to copy a store to itself. Restoring a backup of the same store is allowed.
pub(super) fn refuse_itself(cut: &Cut, target: &dyn Store) -> Result<()> {
    match cut.is_of_a_store() && cut.source == target.uid() {
        true => Err(Error::usage(format!("{} and {} are the same store", cut.location, target.url()))
            .with_hint("copy to another store")),
        false => Ok(()),
    }
}

impl Plan {
    pub(super) fn make(cut: &Cut, before: &dyn Snapshot, target: &dyn Store, options: &CopyOptions) -> Result<Self> {
        let (logs, tables): (Vec<Table>, Vec<Table>) =
            before.tables()?.into_iter().partition(|table| table.definition.logs.is_some());
        let mut planning =
            CopyPlanner { cut, before, location: target.url(), options, tables: &tables, drop: Vec::new() };
        let actions = cut.tables().iter().map(|table| planning.action(table)).collect::<Result<Vec<_>>>()?;
        planning.drop_removed_tables()?;
        planning.free_names(&actions)?;
        planning.refuse_other_tables(&actions)?;
        planning.refuse_foreign_rollups(&actions)?;
        planning.refuse_references(&actions)?;
        let mut drop = planning.drop;
        let of_dropped = |log: &&Table| drop.iter().any(|table| table.definition.change_log == Some(log.id));
        let logs: Vec<Table> = logs.iter().filter(of_dropped).cloned().collect();
        drop.extend(logs);
        Ok(Self { actions, drop, newest: before.newest_chunk()? })
    }
}

struct CopyPlanner<'a> {
    cut: &'a Cut,
    before: &'a dyn Snapshot,
    location: &'a str,
    options: &'a CopyOptions,
    /// The target's tables without change logs.
    tables: &'a [Table],
    drop: Vec<Table>,
}

impl CopyPlanner<'_> {
    fn action(&mut self, table: &CutTable) -> Result<TableAction> {
        let named = |other: &&Table| same_name(&other.definition.name, &table.table.definition.name);
        if let Some(there) = self.tables.iter().find(named).filter(|there| there.definition.is_schema())
            && table.table.definition.is_schema()
        {
            // A schema is the same regardless of who created it.
            return Ok(TableAction::Update(Box::new(there.clone())));
        }
        let Some(there) = self.tables.iter().find(|other| self.copied_from(other) == Some(table.table.id)) else {
            return Ok(TableAction::Create);
        };
        let name = &there.definition.name;
        if !self.options.overwrite {
            if !is_unchanged_copy(self.before, there)? {
                let message = format!("table {name} of {} was changed since it was copied there", self.location);
                return Err(Error::new(ErrorKind::Exists, message)
                    .with_hint("--overwrite discards these changes; or copy to another store"));
            }
            if there.definition.origin.as_ref().is_none_or(|origin| origin.range() != table.range) {
                let message = format!("table {name} of {} is a copy of other times", self.location);
                return Err(Error::new(ErrorKind::Exists, message).with_hint(
                    "use the same --from and --to; or --overwrite, which keeps only the times that you select",
                ));
            }
        }
        match self.foreign_dictionary(table, there)? {
            None => Ok(TableAction::Update(Box::new(there.clone()))),
            Some(_) if self.options.overwrite => {
                self.drop.push(there.clone());
                Ok(TableAction::Create)
            }
            Some(column) => {
                let label = format!("table {name} of {}", self.location);
                let message =
                    format!("{label}: the dictionary of column {} has other strings than the source", column.name);
                Err(Error::new(ErrorKind::Exists, message)
                    .with_hint("another program wrote there; --overwrite copies the whole table again"))
            }
        }
    }

    /// The number of the source table that this table is a copy of.
    fn copied_from(&self, table: &Table) -> Option<TableId> {
        let origin = table.definition.origin.as_ref()?;
        (origin.store == self.cut.source_name()).then_some(origin.table)
    }

    /// The first mapped column whose dictionary in the target is not the beginning of the source's.
    fn foreign_dictionary<'t>(&self, table: &'t CutTable, there: &Table) -> Result<Option<&'t Column>> {
        for column in table.table.definition.columns.iter().filter(|column| column.map.is_some()) {
            let (source, target) =
                (self.cut.dictionary(table, column.id)?, self.before.mapping(there.id, column.id, 0)?);
            if source.iter().zip(&target).any(|(source, target)| source != target) {
                return Ok(Some(column));
            }
        }
        Ok(None)
    }

    /// Drops copies of tables that the source no longer has.
    fn drop_removed_tables(&mut self) -> Result<()> {
        for table in self.tables {
            let Some(number) = self.copied_from(table).filter(|number| !self.cut.source_tables.contains(number)) else {
                continue;
            };
            let takes_its_name = |other: &CutTable| same_name(&other.table.definition.name, &table.definition.name);
            if !self.cut.is_whole && !self.cut.tables().iter().any(takes_its_name) {
                continue;
            }
            if !self.options.overwrite && !is_unchanged_copy(self.before, table)? {
                let (name, location) = (&table.definition.name, self.location);
                let message =
                    format!("table {name} of {location} was changed since it was copied; the source no longer has it");
                return Err(Error::new(ErrorKind::Exists, message)
                    .with_hint(format!("--overwrite drops it; or rename it there ({number})", number = number.0)));
            }
            self.drop.push(table.clone());
        }
        Ok(())
    }

    /// Drops tables whose names the copy needs, or refuses.
    fn free_names(&mut self, actions: &[TableAction]) -> Result<()> {
        for table in self.cut.tables() {
            let name = &table.table.definition.name;
            let Some(there) = self.tables.iter().find(|other| same_name(&other.definition.name, name)) else {
                continue;
            };
            let is_updated =
                actions.iter().any(|action| matches!(action, TableAction::Update(updated) if updated.id == there.id));
            if is_updated || self.is_dropped(there) {
                continue;
            }
            if !self.options.overwrite {
                let message = format!(
                    "{} already has a table {}, which is not a copy of this one",
                    self.location, there.definition.name
                );
                return Err(Error::new(ErrorKind::Exists, message).with_hint("--overwrite replaces it"));
            }
            self.drop.push(there.clone());
        }
        Ok(())
    }

    fn is_dropped(&self, table: &Table) -> bool {
        self.drop.iter().any(|gone| gone.id == table.id)
    }

    /// Refuses a target with tables that are not copies of the source's.
    fn refuse_other_tables(&self, actions: &[TableAction]) -> Result<()> {
        if self.options.overwrite || self.options.allow_non_empty {
            return Ok(());
        }
        let is_known = |table: &Table| {
            let is_updated =
                actions.iter().any(|action| matches!(action, TableAction::Update(updated) if updated.id == table.id));
            is_updated || self.is_dropped(table) || self.copied_from(table).is_some() || table.definition.is_schema()
        };
        match self.tables.iter().find(|table| !is_known(table)) {
            None => Ok(()),
            Some(other) => {
                let message = format!("{} is not empty: it has table {}", self.location, other.definition.name);
                Err(Error::new(ErrorKind::Exists, message).with_hint(
                    "copy to an empty store; or use --allow-non-empty, which keeps its tables; or --overwrite, which \
                     replaces tables of the same names",
                ))
            }
        }
    }

    /// Refuses to change a table that the target's own tables refer to: the rows that they refer to may go.
    fn refuse_references(&self, actions: &[TableAction]) -> Result<()> {
        let is_updated = |id: TableId| {
            actions.iter().any(|action| matches!(action, TableAction::Update(updated) if updated.id == id))
        };
        let changes = |table: &&Table| is_updated(table.id) || self.is_dropped(table);
        for child in self.tables.iter().filter(|table| !changes(table)) {
            for parent in self.tables.iter().filter(changes) {
                if let Some(key) = child.definition.foreign_keys_to(&parent.definition).next() {
                    let (name, parent) = (&child.definition.name, &parent.definition.name);
                    let message = format!("table {name} of {} refers to {parent}, which is copied", self.location);
                    let hint = format!("ALTER TABLE {name} DROP CONSTRAINT {} there first", key.name);
                    return Err(Error::new(ErrorKind::Exists, message).with_hint(hint));
                }
            }
        }
        Ok(())
    }

    /// Refuses to change a table for which the target has its own rollup.
    fn refuse_foreign_rollups(&self, actions: &[TableAction]) -> Result<()> {
        for rollup in self.tables {
            let Some(source) = rollup.definition.rollup.as_ref().map(|rollup| rollup.source) else { continue };
            let is_updated = |id: TableId| {
                actions.iter().any(|action| matches!(action, TableAction::Update(updated) if updated.id == id))
            };
            let source_changes = is_updated(source) || self.drop.iter().any(|gone| gone.id == source);
            if source_changes && !is_updated(rollup.id) && !self.is_dropped(rollup) {
                let (name, location) = (&rollup.definition.name, self.location);
                return Err(Error::new(
                    ErrorKind::Exists,
                    format!("rollup {name} of {location} summarises a table that is copied"),
                )
                .with_hint(format!("DROP ROLLUP {name} there first")));
            }
        }
        Ok(())
    }
}
