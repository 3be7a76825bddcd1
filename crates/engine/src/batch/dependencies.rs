//! The definitions that a table's definition names: the entry of its schema, and the sequences that its columns take
//! numbers of.
//!
//! A batch that creates a table relies on the entry of the table's schema: if another writer drops or renames the
//! schema first, the commit is a conflict. A writer that drops a schema without seeing a table that is just being
//! created leaves the schema with that table. For a sequence this is not enough, because a column cannot be filled
//! without it: whoever begins to name a sequence also gives it another version, so that the later commit of the two is
//! a conflict.

use crate::batch::Batch;
use crate::shared::definitions::changed_meanwhile;
use atsdb_core::name::same_name;
use atsdb_core::{QualifiedName, Result, Table, TableDefinition};

impl Batch {
    /// Relies on the definitions that `to` names and `before` did not.
    ///
    /// Errors: [`Conflict`](atsdb_core::ErrorKind::Conflict) if a sequence does not exist any more.
    pub(super) fn hold_dependencies(&mut self, before: Option<&TableDefinition>, to: &TableDefinition) -> Result<()> {
        let schema = new_schema(before, to);
        let sequences = new_sequences(before, to);
        if schema.is_none() && sequences.is_empty() {
            return Ok(());
        }
        let base = self.base()?;
        let entries = self.changes.schema_entries(&base);
        let is_named = |entry: &Table| {
            let own = entry.definition.schema.as_ref();
            own.zip(schema).is_some_and(|(own, schema)| same_name(own, schema))
        };
        if let Some(entry) = entries.iter().find(|entry| is_named(entry)) {
            self.changes.name_definition(entry)?;
        }
        for name in sequences {
            let is_it = |other: &TableDefinition| other.sequence && name.is_of(other);
            let sequence = self.changes.find_table(&base, is_it).ok_or_else(|| changed_meanwhile(to))?;
            if !self.changes.has_created(sequence.id) && !self.changes.has_redefined(sequence.id) {
                self.redefine(&sequence, sequence.definition.clone())?;
            }
        }
        Ok(())
    }
}

fn new_schema<'a>(before: Option<&TableDefinition>, to: &'a TableDefinition) -> Option<&'a String> {
    let schema = to.schema.as_ref().filter(|_| !to.is_schema())?;
    let own = before.and_then(|before| before.schema.as_ref());
    (!own.is_some_and(|own| same_name(own, schema))).then_some(schema)
}

fn new_sequences<'a>(before: Option<&TableDefinition>, to: &'a TableDefinition) -> Vec<&'a QualifiedName> {
    let is_new = |name: &&QualifiedName| {
        let mut own = before.into_iter().flat_map(|before| &before.columns);
        !own.any(|column| column.sequence.as_ref() == Some(*name))
    };
    to.columns.iter().filter_map(|column| column.sequence.as_ref()).filter(is_new).collect()
}
