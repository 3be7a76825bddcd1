//! Changes of the store by declarations, each in its own commit or in the open transaction.

use super::dependents::{hold_read, require_unchanged};
use super::schemas::{NewName, require_schema};
use super::state::Session;
use atsdb_core::{Error, Result, Table, TableDefinition};
use atsdb_engine::{Batch, OnCommit, TemporaryTables};

impl Session {
    pub(super) fn create(&self, definition: &TableDefinition) -> Result<Table> {
        match self.in_transaction() || definition.names_others() {
            true => self.retried(|| {
                self.with_batch(|batch| {
                    require_schema(batch, definition)?;
                    batch.create_table(definition)
                })
            }),
            false => self.engine.create_table(definition),
        }
    }

    /// Creates a table or view, which is in the store or, with `on_commit`, temporary.
    pub(super) fn create_kept(&self, definition: &TableDefinition, on_commit: Option<OnCommit>) -> Result<Table> {
        match on_commit {
            Some(on_commit) => self.with_batch(|batch| batch.create_temporary(definition, on_commit)),
            None => {
                self.refuse_name_of_type(definition)?;
                self.check_sequence_names(definition)?;
                self.create(definition)
            }
        }
    }

    /// Creates a view. `seen` are the tables with which its query was planned.
    pub(super) fn create_stored_view(&self, definition: &TableDefinition, seen: &[Table]) -> Result<Table> {
        self.refuse_name_of_type(definition)?;
        self.with_batch(|batch| {
            require_schema(batch, definition)?;
            hold_read(batch, definition, seen)?;
            batch.create_table(definition)
        })
    }

    /// Finds a table or view of this name among those that a new one would replace: the temporary ones, or the others.
    pub(super) fn of_same_kind(&self, name: &NewName, is_temporary: bool) -> Result<Option<Table>> {
        let is_it = |table: &Table| TemporaryTables::contain(table) == is_temporary && name.is_of(table);
        Ok(self.tables()?.into_iter().find(is_it))
    }

    /// Drops tables, all or none, and frees their space at once. If one of them has another version now, this is a
    /// conflict: something may have begun to depend on it.
    pub(super) fn drop_all(&self, tables: &[Table]) -> Result<()> {
        self.with_batch(|batch| {
            require_unchanged(batch, tables)?;
            batch.drop_tables(tables)
        })?;
        if !self.in_transaction() && !tables.iter().all(TemporaryTables::contain) {
            self.engine.free_dropped();
        }
        Ok(())
    }

    /// Forgets the numbers that the session has drawn: `currval` and `lastval` then fail until it draws others.
    pub fn forget_numbers(&self) {
        self.numbers.forget();
    }

    /// Gives back the advisory locks of the session, but not those of its open transaction.
    pub fn unlock_all(&self) {
        self.locks.of_session().release_all();
    }

    /// Drops the temporary tables and views, as the end of the session does; in an open transaction with its commit.
    ///
    /// # Errors
    ///
    /// The open transaction has failed.
    pub fn drop_temporary(&self) -> Result<()> {
        let temporary: Vec<Table> = self.tables()?.into_iter().filter(TemporaryTables::contain).collect();
        if temporary.is_empty() { Ok(()) } else { self.drop_all(&temporary) }
    }

    /// Replaces the definition of a table.
    pub(super) fn redefine(&self, table: &Table, to: TableDefinition) -> Result<Table> {
        self.with_batch(|batch| batch.redefine(table, to))
    }

    /// Replaces the definition of a table, and with it those of views that read the table. `seen` are the tables with
    /// which a new query of a view was planned.
    pub(super) fn redefine_with_views(
        &self,
        table: &Table,
        to: TableDefinition,
        views: Vec<(Table, TableDefinition)>,
        seen: &[Table],
    ) -> Result<Table> {
        // A view that reads itself changes with this commit.
        let seen: Vec<Table> = seen.iter().filter(|read| read.id != table.id).cloned().collect();
        self.with_batch(|batch| {
            hold_read(batch, &to, &seen)?;
            for (view, definition) in views {
                batch.redefine(&view, definition)?;
            }
            batch.redefine(table, to)
        })
    }

    /// Removes all rows of tables in one commit, in which identity columns may begin to count anew.
    pub(super) fn empty(&self, tables: &[Table], restart: bool) -> Result<()> {
        self.with_batch_retried(|batch| {
            for table in tables {
                batch.truncate(table)?;
                if restart {
                    self.restart_counters(batch, table)?;
                }
            }
            Ok(())
        })
    }

    /// Makes the identity columns of a table count anew, under the definition that the batch sees.
    fn restart_counters(&self, batch: &mut Batch, table: &Table) -> Result<()> {
        let own = batch.tables()?.into_iter().find(|own| own.id == table.id);
        let own = own.ok_or_else(|| Error::not_found(format!("table {} was dropped", table.definition.name)))?;
        let mut definition = own.definition.clone();
        for identity in definition.columns.iter_mut().filter_map(|column| column.identity.as_mut()) {
            *identity = identity.restarted(identity.start)?;
        }
        if definition == own.definition {
            return Ok(());
        }
        self.numbers.begin_counters(&own, &mut definition)?;
        batch.redefine(&own, definition).map(drop)
    }
}
