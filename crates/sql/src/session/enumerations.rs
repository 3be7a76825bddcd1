//! `CREATE TYPE`, `ALTER TYPE` and `DROP TYPE`: enumerated types, and the copies of their labels in the columns.

use super::dependents::require_same;
use super::open_transaction::usable;
use super::state::Session;
use crate::ddl::alter::drop_column;
use crate::ddl::enumerations::{
    EnumerationChange, EnumerationStatement, check_default, names_type, unknown_type, with_label, with_renamed_label,
};
use crate::ddl::view_columns::ColumnChange;
use crate::run::answer::Answer;
use atsdb_core::search_path::is_public;
use atsdb_core::{Enumeration, Error, QualifiedName, Result, Table, TableDefinition};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::skipped::SkipNotice;
use atsdb_dialect::text::table_names::TableName;
use datafusion::sql::sqlparser::ast::ObjectName;

/// The definitions of tables before and after a change.
type Changed = Vec<(Table, TableDefinition)>;

impl Session {
    /// The entries of the enumerated types, including those of the open transaction.
    pub fn enumerations(&self) -> Result<Vec<Table>> {
        let mut entries = match self.transaction.lock().as_mut() {
            Some(open) => usable(open)?.entries()?,
            None => return Ok(self.engine.snapshot()?.enumerations().cloned().collect()),
        };
        entries.retain(|entry| entry.definition.is_enumeration());
        Ok(entries)
    }

    pub(super) fn enumeration_statement(&self, statement: &EnumerationStatement) -> Result<Answer> {
        match statement {
            EnumerationStatement::Create { name, labels } => self.create_type(name, labels),
            EnumerationStatement::Drop { names, if_exists, cascade } => {
                self.retried(|| self.drop_types(names, *if_exists, *cascade))
            }
            EnumerationStatement::Alter { name, change } => self.retried(|| self.alter_type(name, change)),
        }
    }

    fn create_type(&self, name: &ObjectName, labels: &[String]) -> Result<Answer> {
        let new = self.new_name(name, false)?;
        let definition = TableDefinition::new_enumeration(new.schema.as_deref(), &new.name, labels.to_vec());
        definition.check().map_err(as_sql_error)?;
        if self.of_same_kind(&new, false)?.is_some() {
            return Err(type_exists(&new.name));
        }
        self.refuse_name_of_type(&definition)?;
        self.create(&definition)?;
        Ok(Answer::Done { verb: "CREATE TYPE", row_count: None })
    }

    /// Refuses the name of an enumerated type for a new type or table.
    pub(super) fn refuse_name_of_type(&self, definition: &TableDefinition) -> Result<()> {
        let name = definition.qualified_name();
        let is_named = |entry: &Table| name.is_of(&entry.definition);
        match self.enumerations()?.iter().any(is_named) {
            true => Err(type_exists(&name.name)),
            false => Ok(()),
        }
    }

    pub(super) fn type_named(&self, name: &ObjectName) -> Result<Option<Table>> {
        Ok(TableName::of(name)?.find_by(&self.search_path(), &self.enumerations()?).cloned())
    }

    /// Drops types, all or none. Columns of them are an error without `cascade`, and with it they are dropped, too.
    fn drop_types(&self, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Answer> {
        let mut dropped: Vec<Table> = Vec::new();
        for name in names {
            match self.type_named(name)? {
                Some(entry) if dropped.iter().all(|other| other.id != entry.id) => dropped.push(entry),
                Some(_) => {}
                None if if_exists => self.skip_missing("type", name),
                None => return Err(no_type(name)),
            }
        }
        let changed = self.without_columns_of(&dropped, cascade)?;
        self.refuse_conditions_of(&dropped, "drop")?;
        self.with_batch(|batch| {
            // A column that was added since has given the type another version.
            let present = batch.entries()?;
            let is_dropped = |entry: &&Table| dropped.iter().any(|other| other.id == entry.id);
            require_same(dropped.iter(), present.iter().filter(is_dropped))?;
            changed.iter().try_for_each(|(table, to)| batch.redefine(table, to.clone()).map(drop))?;
            dropped.iter().try_for_each(|entry| batch.drop_table(entry))
        })?;
        Ok(Answer::Done { verb: "DROP TYPE", row_count: None })
    }

    /// The tables with columns of types that are to be dropped, without these columns. Without `cascade`, there may be
    /// none.
    fn without_columns_of(&self, dropped: &[Table], cascade: bool) -> Result<Changed> {
        let mut changed = Vec::new();
        for table in self.tables()? {
            let mut definition = table.definition.clone();
            for column in &table.definition.columns {
                let Some(Enumeration { type_name, .. }) = &column.enumeration else { continue };
                let Some(entry) = dropped.iter().find(|entry| type_name.is_of(&entry.definition)) else { continue };
                if !cascade {
                    let (name, column, table) = (entry.definition.local_name(), &column.name, &definition.name);
                    let message = format!("cannot drop type {name} because other objects depend on it");
                    return Err(sql_error(format!("{message}: column {column} of table {table}"))
                        .with_hint("DROP TYPE ... CASCADE drops the column, too"));
                }
                drop_column(&mut definition, &column.name)?;
            }
            if definition != table.definition {
                self.check_rollups(&table, &definition)?;
                let columns = ColumnChange::between(&table.definition, &definition);
                changed.extend(self.views_after(&table, &definition, &columns)?);
                changed.push((table, definition));
            }
        }
        Ok(changed)
    }

    /// Refuses to drop types that columns of remaining tables have.
    pub(super) fn refuse_columns_of(&self, dropped: &[Table], stays: impl Fn(&Table) -> bool) -> Result<()> {
        for entry in dropped {
            let used = self.columns_of_type(&entry.definition)?;
            if let Some((table, _)) = used.iter().find(|(table, _)| stays(table)) {
                let (name, table) = (&entry.definition.name, &table.definition.name);
                let message = format!("cannot drop type {name} because other objects depend on it: table {table}");
                return Err(sql_error(message).with_hint("DROP TYPE ... CASCADE first, which drops the columns"));
            }
        }
        Ok(())
    }

    fn alter_type(&self, name: &ObjectName, change: &EnumerationChange) -> Result<Answer> {
        let done = Answer::Done { verb: "ALTER TYPE", row_count: None };
        let entry = self.type_named(name)?.ok_or_else(|| no_type(name))?;
        let mut to = entry.definition.clone();
        let (local_name, labels) = (to.local_name().to_owned(), to.labels.clone().unwrap_or_default());
        match change {
            EnumerationChange::Add { label, if_not_exists, beside } => {
                match with_label(&local_name, &labels, label, *if_not_exists, beside.as_ref())? {
                    Some(labels) => to.labels = Some(labels),
                    None => {
                        let message = format!("enum label \"{label}\" already exists, skipping");
                        self.note_skipped(SkipNotice { sqlstate: "42710", message });
                        return Ok(done);
                    }
                }
            }
            EnumerationChange::RenameLabel { from, to: label } => {
                to.labels = Some(with_renamed_label(&labels, from, label)?);
                self.refuse_renamed_label(&entry)?;
            }
            EnumerationChange::Rename { to: name } => {
                let schema = to.schema.clone();
                to.rename(schema.as_deref(), name);
            }
            EnumerationChange::Move { schema } => {
                let schema = if is_public(schema) { None } else { Some(self.schema_named(schema)?) };
                to.rename(schema.as_deref(), &local_name);
            }
        }
        to.check().map_err(as_sql_error)?;
        if to.name != entry.definition.name {
            self.refuse_name_of_type(&to)?;
            self.refuse_conditions_of(std::slice::from_ref(&entry), "rename")?;
        }
        self.put_type(&entry, &to)?;
        Ok(done)
    }

    /// Refuses to drop or rename types that CHECK constraints name.
    fn refuse_conditions_of(&self, types: &[Table], verb: &str) -> Result<()> {
        for table in self.tables()? {
            let definition = &table.definition;
            for check in &definition.checks {
                let is_named = |entry: &&Table| names_type(&check.condition, entry.definition.local_name());
                let Some(entry) = types.iter().find(is_named) else { continue };
                let (name, table, check) = (entry.definition.local_name(), &definition.name, &check.name);
                let message = format!("cannot {verb} type {name} because other objects depend on it");
                return Err(sql_error(format!("{message}: constraint {check} of table {table}"))
                    .with_hint(format!("ALTER TABLE {table} DROP CONSTRAINT {check} first")));
            }
        }
        Ok(())
    }

    /// A label of existing rows is a string of their dictionaries, which do not change.
    fn refuse_renamed_label(&self, entry: &Table) -> Result<()> {
        let used = self.columns_of_type(&entry.definition)?;
        match used.first() {
            Some((table, _)) => {
                let table = &table.definition.name;
                Err(not_supported(format_args!("RENAME VALUE of a type that table {table} has columns of"))
                    .with_hint("ADD VALUE, and UPDATE the rows"))
            }
            None => Ok(()),
        }
    }

    /// Gives a type another definition, and the columns of it their copies, in one commit.
    fn put_type(&self, entry: &Table, to: &TableDefinition) -> Result<()> {
        let changed = self.columns_of_type(&entry.definition)?;
        self.with_batch(|batch| {
            batch.redefine(entry, to.clone())?;
            for (table, mut definition) in changed {
                for column in &mut definition.columns {
                    if is_of_type(column.enumeration.as_ref(), &entry.definition) {
                        column.enumeration = to.enumeration();
                    }
                }
                batch.redefine(&table, definition)?;
            }
            Ok(())
        })
    }

    /// The tables that have columns of a type, with their definitions.
    fn columns_of_type(&self, entry: &TableDefinition) -> Result<Changed> {
        let has_one = |table: &Table| table.definition.enumerations().any(|of| is_of_type(Some(of), entry));
        let tables = self.tables()?.into_iter().filter(has_one);
        Ok(tables.map(|table| (table.clone(), table.definition)).collect())
    }

    /// Looks up the types of new columns of a table, and checks the defaults of all columns of such types. `before` is
    /// its definition until now.
    pub(super) fn find_enumerations(&self, definition: &mut TableDefinition, before: Option<&Table>) -> Result<()> {
        if definition.enumerations().next().is_none() {
            return Ok(());
        }
        let (entries, path) = (self.enumerations()?, self.search_path());
        let mut unknown: Option<(atsdb_core::Column, QualifiedName)> = None;
        for column in &mut definition.columns {
            let before = before.and_then(|table| table.definition.column_by_id(column.id));
            let is_new = before.is_none_or(|before| before.enumeration != column.enumeration);
            let Some(Enumeration { type_name: QualifiedName { schema, name }, .. }) = &column.enumeration else {
                continue;
            };
            if is_new {
                let wanted = TableName::of_parts(schema.as_deref(), name);
                match wanted.find_by(&path, &entries).and_then(|entry| entry.definition.enumeration()) {
                    Some(found) => column.enumeration = Some(found),
                    None => {
                        unknown = Some((column.clone(), QualifiedName { schema: schema.clone(), name: name.clone() }));
                        break;
                    }
                }
            }
            check_default(column).map_err(as_sql_error)?;
        }
        match unknown {
            Some((column, name)) => Err(unknown_type(definition, &column, &name)),
            None => Ok(()),
        }
    }
}

fn is_of_type(of: Option<&Enumeration>, entry: &TableDefinition) -> bool {
    of.is_some_and(|of| of.type_name.is_of(entry))
}

fn type_exists(name: &str) -> Error {
    sql_error(format!("type \"{name}\" already exists")).with_hint("tables and types have different names")
}

pub(super) fn no_type(name: &ObjectName) -> Error {
    let shown = name.0.last().map(ToString::to_string).unwrap_or_default();
    sql_error(format!("type \"{}\" does not exist", shown.trim_matches('"')))
}
