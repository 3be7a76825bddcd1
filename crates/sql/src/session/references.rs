//! Foreign keys: looking up the parents that a declaration names, changing when they are checked, and what `DROP` and
//! `TRUNCATE` of a parent mean for its children.

use super::dependents::require_unchanged;
use super::state::Session;
use crate::ddl::alter_constraint::AlterConstraints;
use crate::run::answer::Answer;
use atsdb_core::{Error, ErrorKind, ForeignKey, Result, Table, TableDefinition, TableId};
use atsdb_dialect::text::errors::{as_sql_error, sql_error};
use atsdb_dialect::text::table_names::TableName;
use atsdb_engine::TemporaryTables;

/// The number of the table that is declared, among those of the store.
const NEW_TABLE: TableId = TableId(i64::MAX);

impl Session {
    /// Looks up the parents that new foreign keys of a table name, and the columns of their primary keys where none are
    /// named. `before` is the table until now.
    pub(super) fn find_parents(&self, definition: &mut TableDefinition, before: Option<&Table>) -> Result<()> {
        let is_new = |key: &ForeignKey| before.is_none_or(|table| !table.definition.foreign_keys.contains(key));
        if !definition.foreign_keys.iter().any(is_new) {
            return Ok(());
        }
        let (mut tables, path) = (self.tables()?, self.search_path());
        let own = before.map_or(NEW_TABLE, |table| table.id);
        if before.is_none() {
            // It may refer to itself.
            tables.push(Table::new(NEW_TABLE, definition.clone()));
        }
        for at in 0..definition.foreign_keys.len() {
            let key = &definition.foreign_keys[at];
            if !is_new(key) {
                continue;
            }
            let wanted = TableName::of_parts(key.parent.schema.as_deref(), &key.parent.name);
            let parent = match wanted.find_by(&path, &tables) {
                Some(table) if table.id == own => definition.clone(),
                Some(table) if TemporaryTables::contain(table) => {
                    return Err(sql_error("constraints on permanent tables may reference only permanent tables")
                        .with_hint("refer to a table that is not temporary"));
                }
                Some(table) => table.definition.clone(),
                None => return Err(no_relation(&wanted)),
            };
            let key = &mut definition.foreign_keys[at];
            key.parent = parent.qualified_name();
            if key.parent_columns.is_empty() {
                key.parent_columns = primary_key_of(&parent)?;
            }
        }
        definition.check().map_err(as_sql_error)
    }

    /// `ALTER TABLE ... ALTER CONSTRAINT`.
    pub(super) fn alter_constraints(&self, alter: &AlterConstraints) -> Result<Answer> {
        self.retried(|| {
            let table = match self.base_table(&alter.table) {
                Err(error) if alter.if_exists && error.kind() == ErrorKind::Sql => {
                    self.skip_missing("relation", &alter.table);
                    return Ok(());
                }
                table => table?,
            };
            let definition = alter.apply(&table.definition)?;
            match definition == table.definition {
                true => Ok(()),
                false => self.put_definition(&table, definition).map(drop),
            }
        })?;
        Ok(Answer::Done { verb: "ALTER TABLE", row_count: None })
    }

    /// Drops tables, all or none. Foreign keys of other tables that refer to them are an error without `cascade`, and
    /// are dropped with it.
    pub(super) fn drop_referenced(&self, tables: &[Table], cascade: bool) -> Result<()> {
        if !cascade || self.without_references(tables, Vec::new())?.is_empty() {
            return self.drop_all(tables).map_err(as_sql_error);
        }
        self.with_batch(|batch| {
            require_unchanged(batch, tables)?;
            let changed = unreferenced(&batch.tables()?, tables, Vec::new());
            changed.iter().try_for_each(|(table, to)| batch.redefine(table, to.clone()).map(drop))?;
            batch.drop_tables(tables)
        })
    }

    /// The definitions that tables get when others are dropped: `changed`, and those without the foreign keys that
    /// refer to the dropped tables.
    pub(super) fn without_references(
        &self,
        dropped: &[Table],
        changed: Vec<(Table, TableDefinition)>,
    ) -> Result<Vec<(Table, TableDefinition)>> {
        Ok(unreferenced(&self.tables()?, dropped, changed))
    }

    /// The tables that `TRUNCATE` empties: with `cascade` also those that refer to them. Without it these are an error.
    pub(super) fn with_children(&self, mut tables: Vec<Table>, cascade: bool) -> Result<Vec<Table>> {
        let all = self.tables()?;
        let mut at = 0;
        while at < tables.len() {
            let parent = tables[at].definition.clone();
            for child in all.iter().filter(|child| child.definition.foreign_keys_to(&parent).next().is_some()) {
                if tables.iter().any(|table| table.id == child.id) {
                    continue;
                }
                if !cascade {
                    let (child, parent) = (child.definition.local_name(), parent.local_name());
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(sql_error(format!("{message}: Table \"{child}\" references \"{parent}\"")).with_hint(
                        format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE"),
                    ));
                }
                tables.push(child.clone());
            }
            at += 1;
        }
        Ok(tables)
    }
}

fn primary_key_of(parent: &TableDefinition) -> Result<Vec<String>> {
    let Some(primary) = parent.unique.iter().find(|unique| unique.primary) else {
        let message = format!("there is no primary key for referenced table \"{}\"", parent.local_name());
        return Err(sql_error(message).with_hint("name the columns of another key: REFERENCES table (column)"));
    };
    let columns = primary.columns.iter().filter_map(|id| parent.column_by_id(*id));
    Ok(columns.map(|column| column.name.clone()).collect())
}

fn no_relation(name: &TableName) -> Error {
    sql_error(format!("relation \"{name}\" does not exist")).with_hint("CREATE TABLE it first")
}

/// The changed definitions without the foreign keys that refer to dropped tables, and those of other tables that have
/// such foreign keys.
fn unreferenced(
    tables: &[Table],
    dropped: &[Table],
    mut changed: Vec<(Table, TableDefinition)>,
) -> Vec<(Table, TableDefinition)> {
    let refers = |key: &ForeignKey| dropped.iter().any(|parent| key.parent.is_of(&parent.definition));
    let is_dropped = |table: &Table| dropped.iter().any(|other| other.id == table.id);
    for table in tables.iter().filter(|table| !is_dropped(table)) {
        let is_known = changed.iter().any(|(other, _)| other.id == table.id);
        if !is_known && table.definition.foreign_keys.iter().any(refers) {
            changed.push((table.clone(), table.definition.clone()));
        }
    }
    changed.iter_mut().for_each(|(_, to)| to.foreign_keys.retain(|key| !refers(key)));
    changed
}
