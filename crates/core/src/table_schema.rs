//! The schemas that tables are in. In its store, a table of the schema `public` has its own name. The name of a table
//! in another schema is prefixed with the schema and a dot, and the definition names the schema. So every table has a
//! unique name, and a table named `s.t` in `public` is not `t` in the schema `s`.
//!
//! A schema exists as long as it has a table or an entry. An entry is a definition without columns, which users do not
//! see. Its name is the prefix of the names of the schema's tables.

use crate::column::Column;
use crate::error::{Error, Result};
use crate::name::{check_name, same_name};
use crate::qualified_name::QualifiedName;
use crate::schema::TableDefinition;

impl QualifiedName {
    /// The name that a definition with this name and schema has in its store.
    pub fn stored_name(&self) -> String {
        TableDefinition::new_in(self.schema.as_deref(), &self.name).name
    }

    /// Returns whether this is the name of a definition, compared without case.
    pub fn is_of(&self, definition: &TableDefinition) -> bool {
        definition.is_named(self.schema.as_deref(), &self.name)
    }
}

impl TableDefinition {
    /// The table's name and schema.
    pub fn qualified_name(&self) -> QualifiedName {
        QualifiedName { schema: self.schema.clone(), name: self.local_name().to_owned() }
    }

    /// Creates the definition of a plain table without columns in a schema; `None` is `public`.
    pub fn new_in(schema: Option<&str>, name: &str) -> Self {
        let mut definition = Self::new(name);
        definition.rename(schema, name);
        definition
    }

    /// Creates the entry of a schema.
    pub fn new_schema(name: &str) -> Self {
        Self::new_in(Some(name), "")
    }

    /// Returns whether it is the entry of a schema, not a table.
    pub fn is_schema(&self) -> bool {
        self.schema.is_some() && self.local_name().is_empty()
    }

    /// Returns whether it refers to other definitions: its schema, the parents of foreign keys, sequences, or
    /// enumerated types.
    pub fn names_others(&self) -> bool {
        let is_in_schema = self.schema.is_some() && !self.is_schema();
        let names_others = |column: &Column| column.sequence.is_some() || column.enumeration.is_some();
        is_in_schema || !self.foreign_keys.is_empty() || self.columns.iter().any(names_others)
    }

    /// Returns the definition of a new table with its schema: if its name begins with one of these schemas and a dot,
    /// the table is in that schema.
    #[must_use]
    pub fn placed(&self, schemas: &[String]) -> Self {
        let mut placed = self.clone();
        if let Some((schema, name)) =
            self.name.split_once('.').filter(|(_, name)| self.schema.is_none() && !name.is_empty())
            && let Some(schema) = schemas.iter().find(|other| same_name(other, schema))
        {
            placed.rename(Some(schema), name);
        }
        placed
    }

    /// The name in its schema.
    pub fn local_name(&self) -> &str {
        match &self.schema {
            Some(schema) => self.name.get(schema.len() + 1..).unwrap_or_default(),
            None => &self.name,
        }
    }

    /// Returns whether it has this name in this schema, compared without case; `None` is `public`.
    pub fn is_named(&self, schema: Option<&str>, name: &str) -> bool {
        let in_schema = match (&self.schema, schema) {
            (Some(own), Some(schema)) => same_name(own, schema),
            (None, None) => true,
            _ => false,
        };
        in_schema && same_name(self.local_name(), name)
    }

    /// Renames it, within its schema or into another one.
    pub fn rename(&mut self, schema: Option<&str>, name: &str) {
        self.name = match schema {
            Some(schema) => format!("{schema}.{name}"),
            None => name.to_owned(),
        };
        self.schema = schema.map(str::to_owned);
    }

    /// Refuses a name that does not begin with the schema, and a schema with a name that a store cannot hold.
    pub(crate) fn check_schema(&self) -> Result<()> {
        let Some(schema) = &self.schema else { return Ok(()) };
        check_name("schema", schema)?;
        if self.name.strip_prefix(schema.as_str()).is_none_or(|rest| !rest.starts_with('.')) {
            return Err(Error::internal(format!("table {} does not have the name of its schema {schema}", self.name)));
        }
        if self.is_schema() && !self.columns.is_empty() {
            return Err(Error::internal(format!("schema {schema} has columns")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_dot_is_in_no_other_schema() {
        let dotted = TableDefinition::new("s.t");
        let inner = TableDefinition::new_in(Some("s"), "t");
        assert_eq!(dotted.name, inner.name);
        assert!(dotted.is_named(None, "S.T") && !dotted.is_named(Some("s"), "t"));
        assert!(inner.is_named(Some("S"), "T") && !inner.is_named(None, "s.t") && !inner.is_named(None, "t"));
        assert_eq!((dotted.local_name(), inner.local_name()), ("s.t", "t"));
        let nested = TableDefinition::new_in(Some("a.b"), "c");
        assert!(nested.is_named(Some("a.b"), "c") && !nested.is_named(Some("a"), "b.c"));
        for definition in [dotted, inner, nested] {
            assert_eq!(definition.qualified_name().stored_name(), definition.name);
        }
    }

    #[test]
    fn an_entry_is_no_table() {
        let mut entry = TableDefinition::new_schema("s");
        entry.check().unwrap();
        assert!(entry.is_schema() && entry.is_hidden());
        assert!(!TableDefinition::new_in(Some("s"), "t").is_schema());
        assert!(TableDefinition::new("s.").check().is_err(), "a table has columns");
        assert!(TableDefinition::new_schema("").check().is_err());
        entry.schema = Some("other".to_owned());
        assert!(entry.check().is_err());
    }

    #[test]
    fn a_table_moves_to_another_schema_and_back() {
        let mut table = TableDefinition::new("t");
        table.rename(Some("s"), "u");
        assert_eq!((table.name.as_str(), table.local_name()), ("s.u", "u"));
        table.rename(None, "t");
        assert_eq!(table, TableDefinition::new("t"));
    }
}
