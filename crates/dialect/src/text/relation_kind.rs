//! The kinds of relations that statements name.

use super::errors::sql_error;
use atsdb_core::{Result, TableDefinition};

/// The kind of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A rollup.
    Rollup,
    /// A sequence.
    Sequence,
}

impl RelationKind {
    /// Returns the kind of what is defined.
    pub fn of(definition: &TableDefinition) -> Self {
        match () {
            () if definition.view.is_some() => Self::View,
            () if definition.materialized.is_some() => Self::MaterializedView,
            () if definition.rollup.is_some() => Self::Rollup,
            () if definition.sequence => Self::Sequence,
            () => Self::Table,
        }
    }

    /// `table`, `view` and so on.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::MaterializedView => "materialized view",
            Self::Rollup => "rollup",
            Self::Sequence => "sequence",
        }
    }

    /// The verb of a statement that drops such a relation.
    pub fn drop_verb(self) -> &'static str {
        match self {
            Self::Table => "DROP TABLE",
            Self::View => "DROP VIEW",
            Self::MaterializedView => "DROP MATERIALIZED VIEW",
            Self::Rollup => "DROP ROLLUP",
            Self::Sequence => "DROP SEQUENCE",
        }
    }

    /// The verb of a statement that alters such a relation.
    pub fn alter_verb(self) -> &'static str {
        match self {
            Self::Table | Self::Rollup => "ALTER TABLE",
            Self::View => "ALTER VIEW",
            Self::MaterializedView => "ALTER MATERIALIZED VIEW",
            Self::Sequence => "ALTER SEQUENCE",
        }
    }

    /// Refuses a relation of another kind. `verb` gives the verb that its kind has in the statement.
    pub fn require(self, definition: &TableDefinition, verb: impl Fn(Self) -> &'static str) -> Result<()> {
        let (found, name) = (Self::of(definition), &definition.name);
        match found == self {
            true => Ok(()),
            false => {
                Err(sql_error(format!("{name} is a {}", found.noun())).with_hint(format!("{} {name}", verb(found))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_of_another_kind_is_named_with_its_own_statement() {
        let view = TableDefinition::new_view("v", "SELECT 1");
        RelationKind::View.require(&view, RelationKind::drop_verb).unwrap();
        let error = RelationKind::MaterializedView.require(&view, RelationKind::alter_verb).unwrap_err();
        assert_eq!((error.message(), error.hint()), ("v is a view", Some("ALTER VIEW v")));
    }
}
