//! Names of tables in statements, and the tables that they mean.

use super::errors::sql_error;
use super::quoted_names::quoted;
use atsdb_core::name::same_name;
use atsdb_core::search_path::is_public;
use atsdb_core::{Error, PUBLIC_SCHEMA, Result, SearchPath, Table};
use atsdb_engine::{ReadSnapshot, TemporaryTables};
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use std::fmt;

/// The schema of temporary tables.
pub const TEMPORARY_SCHEMA: &str = "pg_temp";

/// The schema that stands before the name of a table that is in `public` only, while the search path does not name
/// `public`. There are no tables in it.
pub const OUTSIDE_PATH: &str = "\u{1}outside";

/// A name in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// The schema.
    pub schema: NamedSchema,
    /// The name without its schema.
    pub name: String,
}

/// The schema in a table's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedSchema {
    /// The name has no schema. It means a temporary table, or a table in a schema of the search path.
    Unsaid,
    /// The schema of temporary tables.
    Temporary,
    /// The schema `public`.
    Public,
    /// Another schema.
    Other(String),
}

impl NamedSchema {
    /// Returns the schema of this name.
    pub fn of(name: &str) -> Self {
        match name {
            public if is_public(public) => Self::Public,
            temporary if same_name(temporary, TEMPORARY_SCHEMA) => Self::Temporary,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns whether a table is in the schema.
    pub fn has(&self, table: &Table) -> bool {
        match (self, &table.definition.schema) {
            (Self::Unsaid, _) => true,
            (Self::Temporary, _) => TemporaryTables::contain(table),
            (Self::Public, None) => !TemporaryTables::contain(table),
            (Self::Other(schema), Some(own)) => same_name(schema, own),
            (Self::Public, Some(_)) | (Self::Other(_), None) => false,
        }
    }
}

impl TableName {
    /// The name in a syntax tree.
    pub fn of(name: &ObjectName) -> Result<Self> {
        let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
        match parts.unwrap_or_default().as_slice() {
            [table] => Ok(Self::unsaid(&table.value)),
            [schema, table] => Ok(Self { schema: NamedSchema::of(&schema.value), name: table.value.clone() }),
            _ => Err(sql_error(format!("no schema of the table {name}")).with_hint("write schema.table")),
        }
    }

    /// The name in a plan.
    pub fn of_reference(name: &TableReference) -> Self {
        let schema = name.schema().map_or(NamedSchema::Unsaid, NamedSchema::of);
        Self { schema, name: name.table().to_owned() }
    }

    /// A name without a schema.
    pub fn unsaid(name: &str) -> Self {
        Self { schema: NamedSchema::Unsaid, name: name.to_owned() }
    }

    /// A name of these parts.
    pub fn of_parts(schema: Option<&str>, name: &str) -> Self {
        Self { schema: schema.map_or(NamedSchema::Unsaid, NamedSchema::of), name: name.to_owned() }
    }

    /// The name of a table, which means this table whatever the search path is.
    pub fn of_table(table: &Table) -> Self {
        let schema = match (&table.definition.schema, TemporaryTables::contain(table)) {
            (_, true) => NamedSchema::Temporary,
            (Some(schema), false) => NamedSchema::Other(schema.clone()),
            (None, false) => NamedSchema::Public,
        };
        Self { schema, name: table.definition.local_name().to_owned() }
    }

    /// The table that the name means where names that say no schema are in `public`.
    pub fn find<'a>(&self, tables: &'a [Table]) -> Option<&'a Table> {
        self.find_by(&SearchPath::DEFAULT, tables)
    }

    /// The table that the name means with a search path.
    pub fn find_by<'a>(&self, path: &SearchPath, tables: &'a [Table]) -> Option<&'a Table> {
        let is_named = |table: &&Table| same_name(table.definition.local_name(), &self.name);
        let mut schemas = self.schemas(path).into_iter();
        schemas.find_map(|schema| tables.iter().filter(|table| schema.has(table)).find(is_named))
    }

    /// The schemas in which the name is looked up, in order.
    pub fn schemas(&self, path: &SearchPath) -> Vec<NamedSchema> {
        if self.schema != NamedSchema::Unsaid {
            return vec![self.schema.clone()];
        }
        let of_path = path.schemas().map(|schema| schema.map_or(NamedSchema::Public, NamedSchema::of));
        std::iter::once(NamedSchema::Temporary).chain(of_path).collect()
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            NamedSchema::Unsaid | NamedSchema::Public => f.write_str(&self.name),
            NamedSchema::Temporary => write!(f, "{TEMPORARY_SCHEMA}.{}", self.name),
            NamedSchema::Other(schema) if schema == OUTSIDE_PATH => f.write_str(&self.name),
            NamedSchema::Other(schema) => write!(f, "{schema}.{}", self.name),
        }
    }
}

/// The tables that the names in a statement may mean.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The tables of the store.
    pub tables: &'a [Table],
    /// The schemas that are searched for names without one.
    pub path: &'a SearchPath,
}

impl<'a> Scope<'a> {
    /// Returns the scope of a snapshot: its tables and its session's search path.
    pub fn of(snapshot: &'a ReadSnapshot) -> Self {
        Self { tables: snapshot.tables(), path: snapshot.search_path() }
    }

    /// Returns a scope of these tables in which names without a schema are looked up in `public`.
    pub fn in_public(tables: &'a [Table]) -> Self {
        Self { tables, path: &SearchPath::DEFAULT }
    }

    /// Returns the table to which a name refers; `None` if there is none.
    pub fn find(&self, name: &TableName) -> Option<&'a Table> {
        name.find_by(self.path, self.tables)
    }
}

/// Refuses a sequence where a table is meant.
pub fn refuse_sequence(table: &Table) -> Result<()> {
    match table.definition.sequence {
        true => {
            let name = &table.definition.name;
            Err(sql_error(format!("{name} is a sequence and not a table"))
                .with_hint(format!("SELECT nextval('{name}'), and ALTER SEQUENCE, DROP SEQUENCE")))
        }
        false => Ok(()),
    }
}

/// The error for a table that does not exist.
pub fn unknown_table(name: &TableName, tables: &[Table]) -> Error {
    let (shown, names) = (name.to_string(), tables.iter().map(|table| table.definition.name.as_str()));
    let unknown = atsdb_core::name::unknown_name("table", &shown, names);
    if let Some(table) = outside_path(name, tables) {
        return sql_error(unknown.message()).with_hint(format!(
            "the schema of {} is not in the search_path: write the schema, too",
            exact_name(table)
        ));
    }
    // In the store, the name of a table in another schema begins with the schema, and a table of `public` may look so.
    if let Some(table) = tables.iter().find(|table| same_name(&table.definition.name, &shown)) {
        let hint = format!("in SQL, the name of that table is {}", exact_name(table));
        return sql_error(unknown.message()).with_hint(hint);
    }
    match unknown.hint() {
        Some(hint) => sql_error(unknown.message()).with_hint(hint),
        None => sql_error(unknown.message()),
    }
}

/// The name of a table as SQL text that means this table in every session that sees it.
pub fn exact_name(table: &Table) -> String {
    let TableName { schema, name } = TableName::of_table(table);
    let schema = match &schema {
        NamedSchema::Other(schema) => schema.as_str(),
        NamedSchema::Temporary => TEMPORARY_SCHEMA,
        NamedSchema::Public | NamedSchema::Unsaid => PUBLIC_SCHEMA,
    };
    format!("{}.{}", quoted(schema), quoted(&name))
}

/// A table of another schema that has the name, if the name says no schema and the search path does not find it.
fn outside_path<'a>(name: &TableName, tables: &'a [Table]) -> Option<&'a Table> {
    let says_none = match &name.schema {
        NamedSchema::Unsaid => true,
        NamedSchema::Other(schema) => schema == OUTSIDE_PATH,
        NamedSchema::Temporary | NamedSchema::Public => false,
    };
    tables.iter().find(|table| says_none && same_name(table.definition.local_name(), &name.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{TableDefinition, TableId};

    fn tables() -> Vec<Table> {
        let table = |(id, definition)| Table::new(TableId(id), definition);
        let all = [
            (-1, TableDefinition::new("t")),
            (1, TableDefinition::new("T")),
            (2, TableDefinition::new_in(Some("s"), "t")),
            (3, TableDefinition::new("x.y")),
            (4, TableDefinition::new_in(Some("s"), "only")),
        ];
        all.map(table).into()
    }

    fn found(name: TableName, path: &str) -> Option<i64> {
        name.find_by(&SearchPath::parse(path).unwrap(), &tables()).map(|table| table.id.0)
    }

    #[test]
    fn a_name_means_one_table() {
        let default = "\"$user\", public";
        for (schema, name, id) in [
            (None, "t", Some(-1)),
            (Some("Public"), "t", Some(1)),
            (Some("main"), "t", Some(1)),
            (Some("PG_TEMP"), "T", Some(-1)),
            (Some("S"), "T", Some(2)),
            (None, "X.Y", Some(3)),
            (Some("x"), "y", None),
            (None, "s.t", None),
            (None, "only", None),
        ] {
            assert_eq!(found(TableName::of_parts(schema, name), default), id, "{schema:?} {name}");
        }
    }

    #[test]
    fn a_path_is_searched_behind_temporary_tables() {
        assert_eq!(found(TableName::unsaid("t"), "s, public"), Some(-1));
        assert_eq!(found(TableName::unsaid("only"), "public, s"), Some(4));
        assert_eq!(found(TableName::unsaid("x.y"), "s"), None);
        assert_eq!(found(TableName::of_parts(Some("public"), "x.y"), "s"), Some(3));
    }

    #[test]
    fn a_name_in_the_store_is_no_name_in_sql() {
        let hint = |schema: Option<&str>, name: &str| {
            let error = unknown_table(&TableName::of_parts(schema, name), &tables());
            error.hint().map(str::to_owned).unwrap_or_default()
        };
        assert_eq!(hint(Some("x"), "Y"), "in SQL, the name of that table is public.\"x.y\"");
        assert_eq!(hint(None, "s.t"), "in SQL, the name of that table is s.t");
    }

    #[test]
    fn the_name_of_a_table_means_it() {
        for table in tables() {
            assert_eq!(TableName::of_table(&table).find(&tables()).map(|found| found.id), Some(table.id));
        }
    }
}
