//! CHECK constraints of definitions that statements declare.

use super::state::Session;
use crate::check::compiler::compiled;
use atsdb_core::{Result, TableDefinition};
use atsdb_dialect::text::errors::as_sql_error;

impl Session {
    /// Refuses conditions that cannot be computed for a row by itself.
    pub(super) fn check_conditions(&self, definition: &TableDefinition) -> Result<()> {
        if definition.checks.is_empty() {
            return Ok(());
        }
        let snapshot = self.engine.snapshot()?;
        let mut checks = definition.checks.iter();
        checks
            .try_for_each(|check| compiled(&self.worker, definition, check, &snapshot).map(drop).map_err(as_sql_error))
    }
}
