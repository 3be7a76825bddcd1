//! The identity columns of a table.

use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::schema::{Column, TableDefinition};

impl TableDefinition {
    /// Refuses an identity that a column cannot have.
    pub(crate) fn check_identity(&self, column: &Column) -> Result<()> {
        let Some(identity) = &column.identity else { return Ok(()) };
        let place = || format!("table {}, column {}", self.name, column.name);
        identity.check(column.column_type).map_err(|error| error.context(place()))?;
        if column.nullable || column.default.is_some() {
            return Err(Error::internal(format!("{}: an identity takes NULL or has a default", place())));
        }
        match self.time.is_some_and(|time| time.column == column.id) {
            true => Err(Error::usage(format!("{}: an identity cannot be the time", place()))
                .with_hint("declare another column as the time: WITH (time = 'COLUMN')")),
            false => Ok(()),
        }
    }

    /// The positions of the columns that number the rows by themselves.
    pub fn identities(&self) -> impl Iterator<Item = (usize, &Identity)> {
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(position, column)| column.identity.as_ref().map(|identity| (position, identity)))
    }
}
