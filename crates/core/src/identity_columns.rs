//! The identity columns of a table.

use crate::column::Column;
use crate::column_type::ColumnType;
use crate::error::{Error, Result};
use crate::id::ColumnId;
use crate::identity::{Counter, Identity};
use crate::schema::TableDefinition;

impl TableDefinition {
    /// Refuses an identity or a computed default that a column cannot have.
    pub(crate) fn check_identity(&self, column: &Column) -> Result<()> {
        if let Some(sequence) = &column.sequence
            && (!Identity::fits(column.column_type) || column.has_default_value() || column.identity.is_some())
        {
            let (name, column) = (&sequence.name, &column.name);
            return Err(Error::usage(format!(
                "table {}: column {column} cannot have the numbers of {name}",
                self.name
            ))
            .with_hint("declare it as SMALLINT, INT or BIGINT, without another default"));
        }
        if let Some(function) = column.default_function
            && (!function.fits(column.column_type) || column.default.is_some())
        {
            let (name, column, default) = (&self.name, &column.name, function.sql());
            return Err(Error::usage(format!("table {name}: column {column} cannot have the default {default}")));
        }
        let Some(identity) = &column.identity else { return Ok(()) };
        let place = || format!("table {}, column {}", self.name, column.name);
        identity.check(column.column_type).map_err(|error| error.context(place()))?;
        if column.nullable || column.has_default_value() {
            return Err(Error::internal(format!("{}: an identity takes NULL or has a default", place())));
        }
        match self.time.is_some_and(|time| time.column == column.id) {
            true => Err(Error::usage(format!("{}: an identity cannot be the time", place()))
                .with_hint("declare another column as the time: WITH (time = 'COLUMN')")),
            false => Ok(()),
        }
    }

    /// Creates the definition of a sequence, whose numbers are of this type.
    pub fn new_sequence(name: impl Into<String>, column_type: ColumnType, identity: Identity) -> Self {
        let mut definition = Self::new(name).with_column("last_value", column_type, None);
        for column in &mut definition.columns {
            (column.nullable, column.identity) = (false, Some(identity));
        }
        Self { sequence: true, ..definition }
    }

    /// Returns the definition as it was declared: no column has begun to count.
    #[must_use]
    pub fn uncounted(&self) -> Self {
        let mut declared = self.clone();
        declared.columns.iter_mut().filter_map(|column| column.identity.as_mut()).for_each(|identity| {
            identity.after = None;
        });
        declared
    }

    /// Makes the identity columns continue from their counters. `counter` returns the state of a column's counter. A
    /// state from before the definition's last restart is ignored.
    pub fn continue_counters(&mut self, counter: impl Fn(ColumnId) -> Result<Option<Counter>>) -> Result<()> {
        for column in &mut self.columns {
            if let Some(identity) = &mut column.identity {
                *identity = identity.continued(counter(column.id)?);
            }
        }
        Ok(())
    }

    /// The positions of the identity columns.
    pub fn identities(&self) -> impl Iterator<Item = (usize, &Identity)> {
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(position, column)| column.identity.as_ref().map(|identity| (position, identity)))
    }
}
