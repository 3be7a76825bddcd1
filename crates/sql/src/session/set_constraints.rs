//! `SET CONSTRAINTS`: finding the constraints that it names. Not owned: when they are checked (`engine`).

use super::open_transaction::in_transaction;
use super::state::Session;
use crate::ddl::set_constraints::SetConstraints;
use crate::run::answer::Answer;
use atsdb_core::{Result, TableDefinition, TableId};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::table_names::TableName;
use datafusion::sql::sqlparser::ast::ObjectName;

impl Session {
    /// Executes `SET CONSTRAINTS`. Outside of a transaction it has no effect, as in PostgreSQL.
    pub(super) fn set_constraints(&self, set: &SetConstraints) -> Result<Answer> {
        let mut keys = Vec::new();
        for name in set.names.iter().flatten() {
            keys.extend(self.constraints_named(name, set.is_deferred)?);
        }
        let keys = set.names.is_some().then_some(keys.as_slice());
        if let Some(open) = self.transaction.lock().as_mut() {
            in_transaction(open, |batch| batch.defer(keys, set.is_deferred))?;
        }
        Ok(Answer::Done { verb: "SET CONSTRAINTS", row_count: None })
    }

    /// The tables of one schema that have a constraint of this name, with its name. To be deferred, it must be
    /// deferrable in all of them.
    fn constraints_named(&self, name: &ObjectName, is_deferred: bool) -> Result<Vec<(TableId, String)>> {
        let (name, tables) = (TableName::of(name)?, self.tables()?);
        let constraint = &name.name;
        for schema in name.schemas(&self.search_path()) {
            let has_it = |definition: &TableDefinition| {
                let key = definition.key_position(constraint).filter(|position| !definition.unique[*position].index);
                let other = definition.check_position(constraint).or(definition.foreign_key_position(constraint));
                key.or(other).is_some()
            };
            let found = tables.iter().filter(|table| schema.has(table) && has_it(&table.definition));
            let found: Vec<_> = found.collect();
            if found.is_empty() {
                continue;
            }
            let is_deferrable = |definition: &TableDefinition| {
                let position = definition.foreign_key_position(constraint);
                position.is_some_and(|position| definition.foreign_keys[position].deferrable.is_some())
            };
            if is_deferred && found.iter().any(|table| !is_deferrable(&table.definition)) {
                return Err(sql_error(format!("constraint \"{constraint}\" is not deferrable")));
            }
            return Ok(found.iter().map(|table| (table.id, constraint.clone())).collect());
        }
        Err(sql_error(format!("constraint \"{constraint}\" does not exist")))
    }
}
