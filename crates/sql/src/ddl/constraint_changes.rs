//! Indexes, keys, CHECK constraints and foreign keys that leave a definition, and constraints that become valid. Not
//! owned: adding them ([`constraints`](super::constraints)).

use super::constraints::series_key_of_primary;
use atsdb_core::name::unknown_name;
use atsdb_core::{ConflictPolicy, Result, Table, TableDefinition};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::quoted_names::{qualified, quoted};
use atsdb_dialect::text::skipped::folded;
use datafusion::sql::sqlparser::ast::Ident;

/// Refuses to drop the index of a constraint without the constraint.
pub(crate) fn refuse_index_of_constraint(table: &Table, name: &str) -> Result<()> {
    let definition = &table.definition;
    let key = definition.key_position(name).map(|position| &definition.unique[position]);
    let Some(key) = key.filter(|key| !key.index && definition.index(name).is_none()) else { return Ok(()) };
    let (name, of) = (definition.key_name(key), qualified(definition));
    let message = format!("cannot drop index {name} because constraint {name} on table {of} requires it");
    Err(sql_error(message).with_hint(format!("write ALTER TABLE {of} DROP CONSTRAINT {}", quoted(&name))))
}

/// Takes an index or a key that is not the primary key out of a definition.
pub(crate) fn drop_index(definition: &mut TableDefinition, name: &str) -> Result<()> {
    if let Some(index) = definition.index(name).map(|index| index.id) {
        definition.indexes.retain(|other| other.id != index);
    } else if let Some(position) = unique_index(definition, name) {
        drop_key(definition, position);
    } else {
        let names = index_names(definition);
        return Err(unknown_name("index", name, names.iter().map(String::as_str)));
    }
    Ok(())
}

/// The position of a key that is an index of its own, as it is not the primary key.
fn unique_index(definition: &TableDefinition, name: &str) -> Option<usize> {
    definition.key_position(name).filter(|position| !definition.unique[*position].primary)
}

/// The names of all indexes and keys that `DROP INDEX` takes.
pub(crate) fn index_names(definition: &TableDefinition) -> Vec<String> {
    let keys = definition.unique.iter().filter(|unique| !unique.primary).map(|unique| definition.key_name(unique));
    definition.indexes.iter().map(|index| index.name.clone()).chain(keys).collect()
}

/// Drops a constraint. Returns false if there is none of that name and need not be.
pub(super) fn drop_constraint(definition: &mut TableDefinition, name: &Ident, if_exists: bool) -> Result<bool> {
    if let Some(position) = definition.check_position(&name.value) {
        definition.checks.remove(position);
        return Ok(true);
    }
    if let Some(position) = definition.foreign_key_position(&name.value) {
        definition.foreign_keys.remove(position);
        return Ok(true);
    }
    match definition.key_position(&name.value) {
        Some(position) if !definition.unique[position].index => drop_key(definition, position),
        _ if if_exists => return Ok(false),
        found => {
            let keys =
                definition.unique.iter().filter(|unique| !unique.index).map(|unique| definition.key_name(unique));
            let checks = definition.checks.iter().map(|check| check.name.clone());
            let references = definition.foreign_keys.iter().map(|key| key.name.clone());
            let names: Vec<String> = checks.chain(references).chain(keys).collect();
            let unknown = unknown_name("constraint", &name.value, names.iter().map(String::as_str));
            return Err(match found {
                Some(_) => unknown.with_hint(format!("it is an index: DROP INDEX {}", quoted(&name.value))),
                None => unknown,
            });
        }
    }
    Ok(true)
}

/// Requires a constraint of all rows. The engine then checks those that were written before it was declared.
pub(super) fn validate_constraint(definition: &mut TableDefinition, name: &Ident) -> Result<()> {
    if let Some(position) = definition.check_position(&name.value) {
        definition.checks[position].not_valid = false;
        return Ok(());
    }
    if let Some(position) = definition.foreign_key_position(&name.value) {
        definition.foreign_keys[position].not_valid = false;
        return Ok(());
    }
    let constraint = format!("constraint \"{}\" of relation \"{}\"", folded(name), definition.local_name());
    Err(match definition.key_position(&name.value) {
        Some(position) if !definition.unique[position].index => {
            sql_error(format!("{constraint} is not a foreign key or check constraint"))
        }
        _ => sql_error(format!("{constraint} does not exist")),
    })
}

/// Removes a key. The series key goes with the primary key that made it. If no key is left, there can be no conflicts,
/// and the conflict policy is reset.
pub(super) fn drop_key(definition: &mut TableDefinition, position: usize) {
    let was_of_primary = definition.key == series_key_of_primary(definition);
    let is_primary = definition.unique.remove(position).primary;
    if is_primary && was_of_primary {
        definition.key.clear();
    }
    if definition.unique.is_empty() {
        definition.on_conflict = ConflictPolicy::Error;
    }
}
