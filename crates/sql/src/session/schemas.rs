//! `CREATE SCHEMA`, `ALTER SCHEMA`, `DROP SCHEMA` and `SET SCHEMA`, the search path, and the schema of a new table.

use super::dependents::{require_same, require_unchanged};
use super::open_transaction::{flushed, usable};
use super::state::Session;
use crate::ddl::schemas::{SchemaChange, SchemaMove};
use crate::run::answer::{Answer, AnswerRows};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use atsdb_core::name::{check_name, same_name, unknown_name};
use atsdb_core::search_path::is_public;
use atsdb_core::{Error, ErrorKind, PUBLIC_SCHEMA, Result, SearchPath, Table, TableDefinition};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use atsdb_engine::Batch;
use datafusion::sql::sqlparser::ast::{ContextModifier, Expr, ObjectName, SchemaName};
use std::sync::Arc;

/// The schemas of the catalogue.
const CATALOGUE: [&str; 2] = ["atsdb", "information_schema"];

/// The beginning of the names of PostgreSQL's own schemas.
const RESERVED: &str = "pg_";

/// The name of a new table, and its schema; `None` is `public`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewName {
    pub(super) schema: Option<String>,
    pub(super) name: String,
}

impl NewName {
    /// Gives a definition this name.
    pub(super) fn give(&self, mut definition: TableDefinition) -> TableDefinition {
        definition.rename(self.schema.as_deref(), &self.name);
        definition
    }

    /// Returns whether a table has this name.
    pub(super) fn is_of(&self, table: &Table) -> bool {
        table.definition.is_named(self.schema.as_deref(), &self.name)
    }

    /// The name as messages say it.
    pub(super) fn shown(&self) -> String {
        self.give(TableDefinition::new("")).name
    }
}

impl Session {
    /// The names of the schemas besides `public`, including those of the open transaction, in order.
    pub fn schemas(&self) -> Result<Vec<String>> {
        match self.transaction.lock().as_mut() {
            Some(open) => usable(open)?.schemas(),
            None => self.engine.schemas(),
        }
    }

    /// Returns the definition of a new table with its schema: if its name begins with a schema of
    /// [`schemas`](Self::schemas) and a dot, the table is in that schema. Other names are returned without a read.
    pub fn placed(&self, definition: TableDefinition) -> Result<TableDefinition> {
        if definition.schema.is_some() || !definition.name.contains('.') {
            return Ok(definition);
        }
        Ok(definition.placed(&self.schemas()?))
    }

    /// The schemas in which names that say none are looked up.
    pub fn search_path(&self) -> SearchPath {
        self.temporary.search_path()
    }

    /// Sets the schemas in which names that say none are looked up. New tables are created in the first one that
    /// exists.
    ///
    /// # Errors
    ///
    /// The rows of earlier statements of the open transaction cannot be added.
    pub fn set_search_path(&self, path: SearchPath) -> Result<()> {
        if let Some(open) = self.transaction.lock().as_mut() {
            open.path_after = None;
        }
        self.set_search_path_now(path)
    }

    fn set_search_path_now(&self, path: SearchPath) -> Result<()> {
        if let Some(open) = self.transaction.lock().as_mut().filter(|open| !open.failed) {
            // Statements of the same text mean other tables from now on.
            flushed(open)?;
            open.runs.close(&mut open.batch)?;
        }
        self.temporary.set_search_path(path);
        Ok(())
    }

    /// Sets the schemas in which names that say none are looked up until the transaction ends. Without a transaction
    /// this has no effect, as in PostgreSQL.
    fn set_local_search_path(&self, path: SearchPath) -> Result<()> {
        let before = self.search_path();
        match self.transaction.lock().as_mut() {
            Some(open) => {
                open.path_after.get_or_insert(before);
            }
            None => return Ok(()),
        }
        self.set_search_path_now(path)
    }

    /// `SET search_path`, for the session or the transaction.
    pub(super) fn set_path(&self, scope: Option<ContextModifier>, values: &[Expr]) -> Result<Answer> {
        let path = search_path(values)?;
        match scope {
            Some(ContextModifier::Local) => self.set_local_search_path(path)?,
            _ => self.set_search_path(path)?,
        }
        Ok(Answer::Done { verb: "SET", row_count: None })
    }

    /// The answer of `SHOW search_path`.
    pub(super) fn show_search_path(&self) -> Result<Answer> {
        let path = self.search_path();
        let text = path.names().into_iter().map(quoted).collect::<Vec<_>>().join(", ");
        let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
        Ok(Answer::Rows(AnswerRows::fixed(RecordBatch::try_from_iter([("search_path", column)])?)))
    }

    /// The name and the schema of a new table. The schema is spelled as it was created.
    pub(super) fn new_name(&self, name: &ObjectName, is_temporary: bool) -> Result<NewName> {
        let TableName { schema, name } = TableName::of(name)?;
        let schema = match schema {
            NamedSchema::Unsaid | NamedSchema::Temporary if is_temporary => None,
            _ if is_temporary => {
                return Err(sql_error("a temporary table is in no schema").with_hint("write its name alone"));
            }
            NamedSchema::Temporary => {
                return Err(sql_error("only temporary tables are in the schema pg_temp")
                    .with_hint("write CREATE TEMPORARY TABLE, or another schema"));
            }
            NamedSchema::Public => None,
            NamedSchema::Unsaid if self.search_path().is_public() => None,
            NamedSchema::Unsaid => {
                let (path, schemas) = (self.search_path(), self.schemas()?);
                let current = path.current(&schemas);
                let current = current.ok_or_else(|| {
                    sql_error("no schema has been selected to create in: none of the search path exists")
                        .with_hint("CREATE SCHEMA, or write schema.table")
                })?;
                current.map(str::to_owned)
            }
            NamedSchema::Other(schema) => Some(self.schema_named(&schema)?),
        };
        Ok(NewName { schema, name })
    }

    /// A schema besides `public`, spelled as it was created.
    pub(super) fn schema_named(&self, name: &str) -> Result<String> {
        let schemas = self.schemas()?;
        match schemas.iter().find(|schema| same_name(schema, name)) {
            Some(schema) => Ok(schema.clone()),
            None => Err(no_schema(name, &schemas)),
        }
    }

    pub(super) fn create_schema(&self, schema: &SchemaName, if_not_exists: bool) -> Result<Answer> {
        let done = Answer::Done { verb: "CREATE SCHEMA", row_count: None };
        let name = match schema {
            SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => simple_name(name)?,
            SchemaName::UnnamedAuthorization(name) => name.value.clone(),
        };
        check_name("schema", &name)?;
        if exists(&name) || self.schema_named(&name).is_ok() {
            return match if_not_exists {
                true => {
                    self.skip_existing_schema(&name);
                    Ok(done)
                }
                false => Err(Error::new(ErrorKind::Exists, format!("the schema {name} already exists"))
                    .with_hint("CREATE SCHEMA IF NOT EXISTS leaves it as it is")),
            };
        }
        refuse_reserved(&name)?;
        match self.create(&TableDefinition::new_schema(&name)) {
            // Another session has created it in the meantime.
            Err(error) if error.kind() == ErrorKind::Exists && if_not_exists && !self.in_transaction() => Ok(done),
            created => created.map(|_| done),
        }
    }

    /// Drops schemas, all or none. Tables in them are an error without `cascade`.
    pub(super) fn drop_schemas(&self, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Answer> {
        self.retried(|| self.drop_schemas_once(names, if_exists, cascade))
    }

    fn drop_schemas_once(&self, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Answer> {
        let mut schemas: Vec<String> = Vec::new();
        for name in names {
            let (written, name) = (name, simple_name(name)?);
            if exists(&name) {
                return Err(not_supported(format_args!("DROP SCHEMA {name}"))
                    .with_hint("every store has this schema: DROP its tables and views"));
            }
            match self.schema_named(&name) {
                Ok(schema) => schemas.push(schema),
                Err(_) if if_exists => self.skip_missing("schema", written),
                Err(error) => return Err(error),
            }
        }
        let in_one = |table: &Table| {
            let own = table.definition.schema.as_ref();
            own.is_some_and(|own| schemas.iter().any(|schema| same_name(schema, own)))
        };
        let own: Vec<Table> = self.tables()?.into_iter().filter(in_one).collect();
        if let Some(table) = own.first().filter(|_| !cascade) {
            let schema = table.definition.schema.clone().unwrap_or_default();
            let name = &table.definition.name;
            return Err(sql_error(format!("cannot drop schema {schema} because other objects depend on it: {name}"))
                .with_hint(format!("DROP SCHEMA {} CASCADE drops its tables and views, too", quoted(&schema))));
        }
        let types: Vec<Table> = self.enumerations()?.into_iter().filter(in_one).collect();
        if let Some(entry) = types.first().filter(|_| !cascade) {
            let (schema, name) = (entry.definition.schema.clone().unwrap_or_default(), &entry.definition.name);
            let message = format!("cannot drop schema {schema} because other objects depend on it: type {name}");
            return Err(
                sql_error(message).with_hint(format!("DROP SCHEMA {} CASCADE drops its types, too", quoted(&schema)))
            );
        }
        let tables = self.with_views(self.with_rollups(own.clone(), true)?, true)?;
        let stays = |table: &Table| tables.iter().all(|dropped| dropped.id != table.id);
        self.refuse_columns_of(&types, stays)?;
        let changed = self.without_references(&tables, self.without_defaults(&tables, true)?)?;
        self.with_batch(|batch| {
            let present = batch.tables()?;
            require_same(own.iter(), present.iter().filter(|table| in_one(table)))?;
            require_unchanged(batch, &tables)?;
            changed.iter().try_for_each(|(table, to)| batch.redefine(table, to.clone()).map(drop))?;
            batch.drop_tables(&tables)?;
            let entries = batch.entries()?;
            entries.iter().filter(|entry| in_one(entry)).try_for_each(|entry| batch.drop_table(entry))
        })?;
        Ok(Answer::Done { verb: "DROP SCHEMA", row_count: None })
    }

    pub(super) fn change_schema(&self, change: &SchemaChange) -> Result<Answer> {
        match change {
            SchemaChange::Rename { from, to } => self.rename_schema(from, to),
            SchemaChange::Move(moved) => self.move_table(moved),
        }
    }

    fn rename_schema(&self, from: &str, to: &str) -> Result<Answer> {
        if exists(from) {
            return Err(not_supported(format_args!("ALTER SCHEMA {from}")).with_hint("every store has this schema"));
        }
        let from = self.schema_named(from)?;
        check_name("schema", to)?;
        refuse_reserved(to)?;
        if exists(to) || self.schema_named(to).is_ok_and(|other| other != from) {
            return Err(Error::new(ErrorKind::Exists, format!("the schema {to} already exists")));
        }
        let is_in = |table: &&Table| table.definition.schema.as_ref().is_some_and(|own| same_name(own, &from));
        let renamed = |table: &Table| {
            let mut definition = table.definition.clone();
            definition.rename(Some(to), table.definition.local_name());
            definition
        };
        for table in self.tables()?.iter().filter(is_in) {
            self.check_rollups(table, &renamed(table))?;
        }
        let follow = |definition: &mut TableDefinition| {
            for sequence in definition.columns.iter_mut().filter_map(|column| column.sequence.as_mut()) {
                if sequence.schema.as_ref().is_some_and(|own| same_name(own, &from)) {
                    sequence.schema = Some(to.to_owned());
                }
            }
            for enumeration in definition.columns.iter_mut().filter_map(|column| column.enumeration.as_mut()) {
                if enumeration.type_name.schema.as_ref().is_some_and(|own| same_name(own, &from)) {
                    enumeration.type_name.schema = Some(to.to_owned());
                }
            }
        };
        self.with_batch_retried(|batch: &mut Batch| {
            let mut tables = [batch.tables()?, batch.entries()?].concat();
            // The columns that take their numbers or have their labels name them by their new names.
            tables.sort_by_key(|table| !(table.definition.sequence || table.definition.is_entry()));
            tables.iter().try_for_each(|table| {
                // Its foreign keys may have the new names of parents already.
                let present = match table.definition.foreign_keys.is_empty() {
                    true => None,
                    false => batch.tables()?.into_iter().find(|present| present.id == table.id),
                };
                let table = present.as_ref().unwrap_or(table);
                let mut definition = if is_in(&table) { renamed(table) } else { table.definition.clone() };
                follow(&mut definition);
                match definition == table.definition {
                    true => Ok(()),
                    false => batch.redefine(table, definition).map(drop),
                }
            })
        })?;
        Ok(Answer::Done { verb: "ALTER SCHEMA", row_count: None })
    }

    fn move_table(&self, moved: &SchemaMove) -> Result<Answer> {
        let kind = moved.kind;
        let done = Answer::Done { verb: kind.unwrap_or(RelationKind::Table).alter_verb(), row_count: None };
        let schema = match is_public(&moved.schema) {
            true => None,
            false => Some(self.schema_named(&moved.schema)?),
        };
        self.retried(|| {
            let table = match self.table(&moved.name) {
                Err(error) if moved.if_exists && error.kind() == ErrorKind::Sql => {
                    self.skip_missing("relation", &moved.name);
                    return Ok(());
                }
                table => table?,
            };
            kind.map_or(Ok(()), |kind| kind.require(&table.definition, RelationKind::alter_verb))?;
            if atsdb_engine::TemporaryTables::contain(&table) {
                return Err(sql_error("cannot move objects into or out of temporary schemas"));
            }
            let mut definition = table.definition.clone();
            definition.rename(schema.as_deref(), table.definition.local_name());
            match definition == table.definition {
                true => Ok(()),
                false => {
                    self.check_rollups(&table, &definition)?;
                    self.redefine(&table, definition).map(drop)
                }
            }
        })?;
        Ok(done)
    }
}

/// Returns whether every store has the schema.
fn exists(name: &str) -> bool {
    is_public(name) || CATALOGUE.iter().any(|schema| same_name(schema, name)) || same_name(name, "pg_catalog")
}

fn refuse_reserved(name: &str) -> Result<()> {
    match name.get(..RESERVED.len()).is_some_and(|start| start.eq_ignore_ascii_case(RESERVED)) {
        true => Err(sql_error(format!("unacceptable schema name {name}"))
            .with_hint(format!("names that begin with {RESERVED} are reserved"))),
        false => Ok(()),
    }
}

/// Refuses a new table in a schema that another session has dropped in the meantime.
pub(super) fn require_schema(batch: &mut Batch, definition: &TableDefinition) -> Result<()> {
    let Some(schema) = definition.schema.as_ref().filter(|_| !definition.is_schema()) else { return Ok(()) };
    let schemas = batch.schemas()?;
    match schemas.iter().any(|other| same_name(other, schema)) {
        true => Ok(()),
        false => Err(no_schema(schema, &schemas)),
    }
}

fn no_schema(name: &str, schemas: &[String]) -> Error {
    let known = schemas.iter().map(String::as_str).chain([PUBLIC_SCHEMA]);
    let unknown = unknown_name("schema", name, known);
    let error = sql_error(unknown.message());
    match unknown.hint() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn simple_name(name: &ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(|ident| ident.value.clone()),
        _ => None,
    }
    .ok_or_else(|| sql_error(format!("{name} is not the name of a schema")))
}

/// Returns whether this is the setting with the schemas of names that say none.
pub(super) fn is_search_path(variable: &str) -> bool {
    variable.eq_ignore_ascii_case("search_path")
}

/// The path that `SET search_path` gives.
fn search_path(values: &[Expr]) -> Result<SearchPath> {
    let name = |value: &Expr| match value {
        Expr::Value(value) => value.value.clone().into_string(),
        Expr::Identifier(name) => Some(name.value.clone()),
        _ => None,
    };
    let is_default = |value: &Expr| match value {
        Expr::Identifier(name) => name.quote_style.is_none() && name.value.eq_ignore_ascii_case("DEFAULT"),
        _ => false,
    };
    match values {
        [only] if is_default(only) => Ok(SearchPath::DEFAULT),
        values => {
            let names: Option<Vec<String>> = values.iter().map(name).collect();
            let names = names.ok_or_else(|| sql_error("SET search_path takes names of schemas"))?;
            Ok(SearchPath::new(names.into_iter().filter(|name| !name.is_empty()).collect()))
        }
    }
}
