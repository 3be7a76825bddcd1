//! The definitions that a table's definition refers to: the entry of its schema, the parents of its foreign keys, and
//! the sequences of its columns. The tables that a view reads are known to `sql` only, which names them
//! ([`begin_to_name`](Batch::begin_to_name)).
//!
//! A batch that starts to refer to a definition also gives it a new version. If another batch drops or renames it at
//! the same time, the later commit is a conflict: neither a schema nor a sequence that a table needs can disappear.
//! Batches that only refer to the same definition do not conflict: its content has not changed, and the later commit
//! adopts its version.

use crate::batch::Batch;
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::name::same_name;
use atsdb_core::{Change, Enumeration, Error, ErrorKind, QualifiedName, Redefinition, Result, Table, TableDefinition};

impl Batch {
    /// Relies on the definitions that `to` refers to and `before` did not.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict) if a sequence or an enumerated type does not exist any more, or the
    /// type has other labels.
    pub(super) fn hold_dependencies(&mut self, before: Option<&TableDefinition>, to: &TableDefinition) -> Result<()> {
        self.hold_parents(before, to)?;
        let schema = new_schema(before, to);
        let sequences = new_sequences(before, to);
        let enumerations = new_enumerations(before, to);
        if schema.is_none() && sequences.is_empty() && enumerations.is_empty() {
            return Ok(());
        }
        let base = self.base()?;
        let entries = self.changes.entries(&base);
        let is_named = |entry: &&Table| {
            let own = entry.definition.schema.as_ref();
            own.zip(schema).is_some_and(|(own, schema)| same_name(own, schema))
        };
        // A schema without an entry exists as long as it has tables.
        if let Some(entry) = entries.iter().filter(|entry| entry.definition.is_schema()).find(is_named) {
            self.begin_to_name(entry)?;
        }
        for name in sequences {
            let is_it = |other: &TableDefinition| other.sequence && name.is_of(other);
            let sequence = self.changes.find_table(&base, is_it).ok_or_else(|| gone("sequence", &name.name))?;
            self.begin_to_name(&sequence)?;
        }
        for enumeration in enumerations {
            let is_it = |entry: &&Table| entry.definition.enumeration().as_ref() == Some(enumeration);
            let entry = entries.iter().find(is_it).ok_or_else(|| gone("type", enumeration.shown_name()))?;
            self.begin_to_name(entry)?;
        }
        Ok(())
    }

    /// Gives an unchanged definition a new version, unless the batch does so already. If another batch drops or changes
    /// it at the same time, the later commit is a [`Conflict`](ErrorKind::Conflict).
    pub fn begin_to_name(&mut self, named: &Table) -> Result<()> {
        if !self.changes.has_created(named.id) && !self.changes.has_redefined(named.id) {
            self.redefine(named, named.definition.clone())?;
        }
        Ok(())
    }

    /// Bases a change that the store has refused on the present versions of the definitions that the batch has begun to
    /// refer to, because others may have begun to refer to them, too. Returns whether there are other versions, so that
    /// a retry can succeed.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict) if one of them was dropped or changed.
    pub(super) fn follow_dependencies(&self, change: &mut Change) -> Result<bool> {
        let Change { redefine, based_on, .. } = change;
        // What foreign keys depend on in other tables must be checked again before their versions are followed.
        let known = self.changes.references().known();
        let is_named = |named: &&Redefinition| named.from == named.to && !known.contains_key(&named.table);
        let mut named = redefine.iter().filter(is_named).peekable();
        if named.peek().is_none() {
            return Ok(false);
        }
        let snapshot = ReadSnapshot::take(&self.handle.shared)?;
        let mut has_other_version = false;
        for Redefinition { table, from, .. } in named {
            let now = snapshot.table_by_id(*table).filter(|now| now.definition == *from);
            let now = now.ok_or_else(|| match &from.schema {
                Some(schema) if from.is_schema() => gone("schema", schema),
                _ if from.is_enumeration() => gone("type", from.local_name()),
                _ => gone(if from.sequence { "sequence" } else { "table" }, from.local_name()),
            })?;
            for relied_on in based_on.iter_mut().filter(|relied_on| relied_on.table == *table) {
                has_other_version |= relied_on.version != now.version;
                relied_on.version = now.version;
            }
        }
        Ok(has_other_version)
    }
}

/// The error for a definition that others have dropped or changed.
fn gone(what: &str, name: &str) -> Error {
    let message = format!("another writer has dropped or changed the {what} {name}");
    Error::new(ErrorKind::Conflict, message).with_hint("nothing was stored; retry")
}

fn new_schema<'a>(before: Option<&TableDefinition>, to: &'a TableDefinition) -> Option<&'a String> {
    let schema = to.schema.as_ref().filter(|_| !to.is_schema())?;
    let own = before.and_then(|before| before.schema.as_ref());
    (!own.is_some_and(|own| same_name(own, schema))).then_some(schema)
}

fn new_enumerations<'a>(before: Option<&TableDefinition>, to: &'a TableDefinition) -> Vec<&'a Enumeration> {
    let is_new = |enumeration: &&Enumeration| {
        let mut own = before.into_iter().flat_map(TableDefinition::enumerations);
        !own.any(|own| own.type_name == enumeration.type_name)
    };
    to.enumerations().filter(is_new).collect()
}

fn new_sequences<'a>(before: Option<&TableDefinition>, to: &'a TableDefinition) -> Vec<&'a QualifiedName> {
    let is_new = |name: &&QualifiedName| {
        let mut own = before.into_iter().flat_map(|before| &before.columns);
        !own.any(|column| column.sequence.as_ref() == Some(*name))
    };
    to.columns.iter().filter_map(|column| column.sequence.as_ref()).filter(is_new).collect()
}
