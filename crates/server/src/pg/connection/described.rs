//! Compares the columns of a prepared statement with those that were described to the client: a definition may have
//! changed since.

use super::bind::PreparedStatement;
use crate::pg::rows::columns_of;
use crate::pg::wire::outgoing::ResultColumn;
use arrow::datatypes::SchemaRef;
use atsdb::{Error, ErrorKind, Result};

impl PreparedStatement {
    /// Checks the columns of an answer of the store.
    pub(super) fn check_described(&self, found: &SchemaRef) -> Result<()> {
        check_columns(self.columns.as_deref(), &columns_of(found))?;
        self.check_names(found)
    }

    /// Checks the names of the columns that show columns of tables. The names of others may depend on parameters.
    pub(super) fn check_names(&self, found: &SchemaRef) -> Result<()> {
        let (Some(columns), Some(described)) = (&self.columns, &self.described) else { return Ok(()) };
        let mut names = columns.iter().zip(described.fields().iter().zip(found.fields()));
        match names.all(|(column, (described, found))| column.origin.is_none() || described.name() == found.name()) {
            true => Ok(()),
            false => Err(columns_changed()),
        }
    }
}

/// Checks that the columns have the types that were described to the client.
pub(super) fn check_columns(announced: Option<&[ResultColumn]>, found: &[ResultColumn]) -> Result<()> {
    let same = announced.is_some_and(|announced| {
        announced.len() == found.len()
            && announced.iter().zip(found).all(|(announced, found)| announced.type_id == found.type_id)
    });
    match same {
        true => Ok(()),
        false => Err(columns_changed()),
    }
}

fn columns_changed() -> Error {
    Error::new(ErrorKind::Sql, "cached plan must not change result type").with_hint("prepare it again")
}
