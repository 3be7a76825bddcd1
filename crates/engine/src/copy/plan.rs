//! What becomes of the target's tables: which are made, which brought up to date, which go; and what is refused.

use crate::copy::cut::{Cut, CutTable};
use crate::copy::options::CopyOptions;
use crate::shared::origin::is_unchanged_copy;
use atsdb_core::name::same_name;
use atsdb_core::{ChunkId, Column, Error, ErrorKind, Result, Snapshot, Store, Table, TableId};

/// What becomes of them, for each table of the cut and in its order.
pub(super) struct Plan {
    pub(super) fates: Vec<Fate>,
    /// Tables of the target that go, change logs among them.
    pub(super) drop: Vec<Table>,
    /// No chunk that the target has is above it.
    pub(super) newest: ChunkId,
}

/// What becomes of a table of the cut.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    /// It is not there yet.
    Create,
    /// An earlier copy of it is there.
    Update(Box<Table>),
}

/// Refuses to copy a store to itself. A backup of it may come back.
pub(super) fn refuse_itself(cut: &Cut, target: &dyn Store) -> Result<()> {
    match cut.is_of_a_store() && cut.source == target.uid() {
        true => Err(Error::usage(format!("{} and {} are the same store", cut.place, target.url()))
            .with_hint("name another one to copy to")),
        false => Ok(()),
    }
}

impl Plan {
    pub(super) fn make(cut: &Cut, before: &dyn Snapshot, target: &dyn Store, options: &CopyOptions) -> Result<Self> {
        let (logs, tables): (Vec<Table>, Vec<Table>) =
            before.tables()?.into_iter().partition(|table| table.definition.logs.is_some());
        let mut planning = Planning { cut, before, place: target.url(), options, tables: &tables, drop: Vec::new() };
        let fates = cut.tables().iter().map(|table| planning.fate(table)).collect::<Result<Vec<_>>>()?;
        planning.drop_what_is_gone()?;
        planning.clear_names(&fates)?;
        planning.refuse_strangers(&fates)?;
        planning.refuse_foreign_rollups(&fates)?;
        let mut drop = planning.drop;
        let of_dropped = |log: &&Table| drop.iter().any(|table| table.definition.change_log == Some(log.id));
        let logs: Vec<Table> = logs.iter().filter(of_dropped).cloned().collect();
        drop.extend(logs);
        Ok(Self { fates, drop, newest: before.newest_chunk()? })
    }
}

struct Planning<'a> {
    cut: &'a Cut,
    before: &'a dyn Snapshot,
    place: &'a str,
    options: &'a CopyOptions,
    /// The target's, but for change logs.
    tables: &'a [Table],
    drop: Vec<Table>,
}

impl Planning<'_> {
    fn fate(&mut self, table: &CutTable) -> Result<Fate> {
        let Some(there) = self.tables.iter().find(|other| self.copied_from(other) == Some(table.table.id)) else {
            return Ok(Fate::Create);
        };
        let name = &there.definition.name;
        if !self.options.overwrite {
            if !is_unchanged_copy(self.before, there)? {
                let message = format!("table {name} of {} was changed since it was copied there", self.place);
                return Err(Error::new(ErrorKind::Exists, message)
                    .with_hint("--overwrite takes these changes away; or copy to another store"));
            }
            if there.definition.origin.as_ref().is_none_or(|origin| origin.range() != table.range) {
                let message = format!("table {name} of {} is a copy of other times", self.place);
                return Err(Error::new(ErrorKind::Exists, message).with_hint(
                    "give the same --from and --to; or --overwrite, which leaves only the times that you give",
                ));
            }
        }
        match self.strange_dictionary(table, there)? {
            None => Ok(Fate::Update(Box::new(there.clone()))),
            Some(_) if self.options.overwrite => {
                self.drop.push(there.clone());
                Ok(Fate::Create)
            }
            Some(column) => {
                let place = format!("table {name} of {}", self.place);
                let message =
                    format!("{place}: the dictionary of column {} has other strings than the source", column.name);
                Err(Error::new(ErrorKind::Exists, message)
                    .with_hint("somebody else wrote there; --overwrite copies the table anew"))
            }
        }
    }

    /// The number in the source of the table that this one is a copy of.
    fn copied_from(&self, table: &Table) -> Option<TableId> {
        let origin = table.definition.origin.as_ref()?;
        (origin.store == self.cut.source_name()).then_some(origin.table)
    }

    /// The first mapped column whose dictionary, as far as it is there, is not the source's.
    fn strange_dictionary<'t>(&self, table: &'t CutTable, there: &Table) -> Result<Option<&'t Column>> {
        for column in table.table.definition.columns.iter().filter(|column| column.map.is_some()) {
            let (source, target) =
                (self.cut.dictionary(table, column.id)?, self.before.mapping(there.id, column.id, 0)?);
            if source.iter().zip(&target).any(|(source, target)| source != target) {
                return Ok(Some(column));
            }
        }
        Ok(None)
    }

    /// Copies of tables that the source has no more.
    fn drop_what_is_gone(&mut self) -> Result<()> {
        for table in self.tables {
            let Some(number) = self.copied_from(table).filter(|number| !self.cut.source_tables.contains(number)) else {
                continue;
            };
            let takes_its_name = |other: &CutTable| same_name(&other.table.definition.name, &table.definition.name);
            if !self.cut.is_whole && !self.cut.tables().iter().any(takes_its_name) {
                continue;
            }
            if !self.options.overwrite && !is_unchanged_copy(self.before, table)? {
                let (name, place) = (&table.definition.name, self.place);
                let message =
                    format!("table {name} of {place} was changed since it was copied; the source has it no more");
                return Err(Error::new(ErrorKind::Exists, message)
                    .with_hint(format!("--overwrite drops it; or rename it there ({number})", number = number.0)));
            }
            self.drop.push(table.clone());
        }
        Ok(())
    }

    /// Names that the copy needs and others have.
    fn clear_names(&mut self, fates: &[Fate]) -> Result<()> {
        for table in self.cut.tables() {
            let name = &table.table.definition.name;
            let Some(there) = self.tables.iter().find(|other| same_name(&other.definition.name, name)) else {
                continue;
            };
            let is_updated = fates.iter().any(|fate| matches!(fate, Fate::Update(updated) if updated.id == there.id));
            if is_updated || self.goes(there) {
                continue;
            }
            if !self.options.overwrite {
                let message = format!(
                    "{} has a table {} already, which is no copy of this one",
                    self.place, there.definition.name
                );
                return Err(Error::new(ErrorKind::Exists, message).with_hint("--overwrite replaces it"));
            }
            self.drop.push(there.clone());
        }
        Ok(())
    }

    fn goes(&self, table: &Table) -> bool {
        self.drop.iter().any(|gone| gone.id == table.id)
    }

    /// Tables that have nothing to do with the source.
    fn refuse_strangers(&self, fates: &[Fate]) -> Result<()> {
        if self.options.overwrite || self.options.allow_non_empty {
            return Ok(());
        }
        let is_known = |table: &Table| {
            let is_updated = fates.iter().any(|fate| matches!(fate, Fate::Update(updated) if updated.id == table.id));
            is_updated || self.goes(table) || self.copied_from(table).is_some()
        };
        match self.tables.iter().find(|table| !is_known(table)) {
            None => Ok(()),
            Some(stranger) => {
                let message = format!("{} is not empty: it has table {}", self.place, stranger.definition.name);
                Err(Error::new(ErrorKind::Exists, message).with_hint(
                    "copy to an empty store; or --allow-non-empty, which leaves its tables as they are; or --overwrite, \
                     which replaces tables of the same names",
                ))
            }
        }
    }

    /// Rollups that somebody made in the target, over what the copy changes.
    fn refuse_foreign_rollups(&self, fates: &[Fate]) -> Result<()> {
        for rollup in self.tables {
            let Some(source) = rollup.definition.rollup.as_ref().map(|rollup| rollup.source) else { continue };
            let is_updated =
                |id: TableId| fates.iter().any(|fate| matches!(fate, Fate::Update(updated) if updated.id == id));
            let source_changes = is_updated(source) || self.drop.iter().any(|gone| gone.id == source);
            if source_changes && !is_updated(rollup.id) && !self.goes(rollup) {
                let (name, place) = (&rollup.definition.name, self.place);
                return Err(Error::new(
                    ErrorKind::Exists,
                    format!("rollup {name} of {place} summarises a table that is copied"),
                )
                .with_hint(format!("DROP ROLLUP {name} there first")));
            }
        }
        Ok(())
    }
}
