//! Definitions with foreign keys, and those of their parents: which changes are allowed, and which definitions follow.

use crate::batch::Batch;
use crate::batch::references::children::references_to;
use crate::batch::references::state::Reference;
use crate::shared::temporary::is_temporary;
use atsdb_core::name::same_name;
use atsdb_core::{Error, ErrorKind, ForeignKey, QualifiedName, Redefinition, Result, Table, TableDefinition};

impl Batch {
    /// Refuses foreign keys that `to` has and `before` had not if their parents cannot have them, and relies on the
    /// parents' definitions: a batch that does not know the foreign key then does not delete rows of the parent.
    pub(crate) fn hold_parents(&mut self, before: Option<&TableDefinition>, to: &TableDefinition) -> Result<()> {
        self.changes.references_mut().set_parents(None);
        let added = match before {
            Some(before) => to.foreign_keys_added_to(before),
            None => to.foreign_keys.iter().collect(),
        };
        for key in added {
            if key.parent.is_of(to) {
                to.check_reference(key, to)?;
                continue;
            }
            let base = self.base()?;
            let found = self.changes.find_table(&base, |other| key.parent.is_of(other));
            let parent = found.ok_or_else(|| no_parent(&key.parent))?;
            to.check_reference(key, &parent.definition)?;
            self.begin_to_name(&parent)?;
        }
        Ok(())
    }

    /// Refuses a new definition of a parent under which a foreign key could not refer to it, and gives foreign keys the
    /// new names of the table and its columns.
    pub(crate) fn keep_references(&mut self, older: &TableDefinition, table: &Table) -> Result<()> {
        self.changes.references_mut().set_parents(None);
        let base = self.base()?;
        if !self.changes.has_foreign_keys(&base) {
            return Ok(());
        }
        let refers = |child: &&Table| child.id != table.id && child.definition.foreign_keys_to(older).next().is_some();
        for child in self.changes.tables(&base).iter().filter(refers) {
            let to = with_present_names(older, &table.definition, child.definition.clone())?;
            if to != child.definition {
                self.rename_parent(child, to)?;
            }
        }
        Ok(())
    }

    /// Gives a child a definition in which only names of a parent are different: its rows need not be checked.
    fn rename_parent(&mut self, child: &Table, to: TableDefinition) -> Result<()> {
        if self.changes.has_created(child.id) {
            return self.redefine(child, to).map(drop);
        }
        let base = self.base()?;
        let from = base.table_by_id(child.id).ok_or_else(|| no_parent(&child.definition.qualified_name()))?;
        self.changes.name_definition(child)?;
        self.forget_writer(child.id);
        self.changes.note_redefined(Redefinition { table: child.id, from: from.definition.clone(), to });
        Ok(())
    }

    /// Refuses to drop a table that tables refer to which are not dropped with it.
    pub(crate) fn refuse_drop_of_parent(&mut self, table: &Table, dropped: &[Table]) -> Result<()> {
        if is_temporary(table.id) || !self.is_parent(table.id)? {
            return Ok(());
        }
        let base = self.base()?;
        let tables = self.changes.tables(&base);
        let Some(table) = tables.iter().find(|own| own.id == table.id) else { return Ok(()) };
        let stays = |reference: &Reference| dropped.iter().all(|other| other.id != reference.child);
        let Some(reference) = references_to(&tables, &table.definition).into_iter().find(stays) else { return Ok(()) };
        let child = tables.iter().find(|child| child.id == reference.child);
        let child = child.map_or("", |child| child.definition.local_name());
        let (name, key) = (table.definition.local_name(), &reference.key.name);
        let message = format!(
            "cannot drop table {name} because other objects depend on it: constraint {key} on table {child} depends on \
             table {name}"
        );
        Err(Error::new(ErrorKind::Sql, message).with_hint("DROP TABLE ... CASCADE drops the constraint, too"))
    }
}

/// Gives the foreign keys of a definition that refer to the table itself the new names of the table and its columns.
pub(crate) fn renamed_in_itself(older: &TableDefinition, to: TableDefinition) -> Result<TableDefinition> {
    if to.foreign_keys_to(older).next().is_none() {
        return Ok(to);
    }
    with_present_names(older, &to.clone(), to)
}

/// Gives all foreign keys of a definition that refer to a parent the present names of the parent and its columns.
fn with_present_names(
    older: &TableDefinition,
    parent: &TableDefinition,
    mut child: TableDefinition,
) -> Result<TableDefinition> {
    for at in 0..child.foreign_keys.len() {
        let key = &child.foreign_keys[at];
        if key.parent.is_of(older) {
            let present = renamed(key, older, parent)
                .and_then(|present| child.check_reference(&present, parent).map(|()| present))
                .map_err(|error| depended_on(error, &child, key, older, parent))?;
            child.foreign_keys[at] = present;
        }
    }
    Ok(child)
}

/// A foreign key with the present names of its parent.
fn renamed(key: &ForeignKey, older: &TableDefinition, parent: &TableDefinition) -> Result<ForeignKey> {
    let column = |name: &String| {
        // A foreign key that the same change adds has the new names.
        let before = older.columns.iter().find(|column| same_name(&column.name, name));
        let now = before.and_then(|before| parent.column_by_id(before.id));
        let now = now.or_else(|| parent.columns.iter().find(|column| same_name(&column.name, name)));
        now.map(|column| column.name.clone()).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Error::new(ErrorKind::Sql, message)
        })
    };
    let parent_columns = key.parent_columns.iter().map(column).collect::<Result<_>>()?;
    Ok(ForeignKey { parent: parent.qualified_name(), parent_columns, ..key.clone() })
}

/// The error for a new definition of a parent: it names what the definition takes away, in PostgreSQL's words.
fn depended_on(
    error: Error,
    child: &TableDefinition,
    key: &ForeignKey,
    older: &TableDefinition,
    parent: &TableDefinition,
) -> Error {
    let name = older.local_name();
    let is_of_key = |column: &&atsdb_core::Column| key.parent_columns.iter().any(|own| same_name(own, &column.name));
    let columns: Vec<_> = older.columns.iter().filter(is_of_key).collect();
    let lost = columns.iter().find(|column| parent.column_by_id(column.id).is_none());
    let what = match (lost, older.key_over(&columns)) {
        (Some(column), _) => format!("column {} of table {name}", column.name),
        (None, Some(unique)) if parent.key_over(&columns).is_none() => {
            format!("constraint {} on table {name}", older.key_name(unique))
        }
        _ => return error,
    };
    let (key, child) = (&key.name, child.local_name());
    let message = format!(
        "cannot drop {what} because other objects depend on it: constraint {key} on table {child} depends on it"
    );
    Error::new(ErrorKind::Sql, message).with_hint(format!("ALTER TABLE {child} DROP CONSTRAINT {key} first"))
}

fn no_parent(name: &QualifiedName) -> Error {
    let message = format!("relation \"{}\" does not exist", name.stored_name());
    Error::not_found(message).with_hint("create the table that the foreign key refers to first")
}
