//! The tables of the catalogue, computed from the store.
//!
//! Object numbers: a table's is 16384 plus its number in the store. Those of its keys, indexes and row type are derived
//! from it. Those of enumerated types and their labels follow from their names.

mod activity;
mod classes;
mod dependencies;
mod enumerations;
mod indexes;
mod keywords;
mod objects;
mod operators;
mod procedures;
mod rare_shapes;
mod references;
mod roles;
mod row;
mod schemas;
mod sequences;
mod server;
mod shapes;
mod standard;
mod statistics;
mod types;

use super::activity::Activity;
use super::context::CatalogueSource;
use super::relation::{ColumnName, Relation, Row, SYSTEM_COLUMN};
use super::value::Value;
use crate::access::state::Access;
use crate::pg::error::PgError;
use crate::pg::settings::Settings;
use crate::pg::store::StoreSession;
use crate::pg::types::known;
pub(super) use indexes::BTREE;
use objects::Objects;
pub(in crate::pg) use objects::number_of_table;
use roles::Roles;
use row::columns;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// The catalogue of one session at one moment. Its tables are computed at first use.
pub(in crate::pg) struct Contents<'a> {
    session: &'a StoreSession,
    database: &'a str,
    user: &'a str,
    settings: &'a Settings,
    access: &'a Access,
    activity: &'a dyn Activity,
    objects: OnceCell<Objects>,
    roles: OnceCell<Roles>,
    made: RefCell<BTreeMap<String, Relation>>,
}

impl<'a> Contents<'a> {
    pub(in crate::pg) fn new(
        session: &'a StoreSession,
        (database, user): (&'a str, &'a str),
        settings: &'a Settings,
        access: &'a Access,
        activity: &'a dyn Activity,
    ) -> Self {
        let (objects, roles) = (OnceCell::new(), OnceCell::new());
        Self { session, database, user, settings, access, activity, objects, roles, made: RefCell::default() }
    }

    fn objects(&self) -> Result<&Objects, PgError> {
        if let Some(objects) = self.objects.get() {
            return Ok(objects);
        }
        let found = Objects::of(self.session)?;
        Ok(self.objects.get_or_init(|| found))
    }

    fn roles(&self) -> &Roles {
        self.roles.get_or_init(|| Roles::of(self.access.roles(), self.user))
    }

    /// The number of the connection's database; 0 if there is none.
    fn database_number(&self) -> i64 {
        self.activity.databases().iter().find(|database| database.is_own).map_or(0, server::number_of)
    }

    fn rows(&self, schema: &str, name: &str) -> Result<Vec<Row>, PgError> {
        match (schema, name) {
            ("pg_catalog", "pg_class") => Ok(classes::classes(self.objects()?)),
            ("pg_catalog", "pg_attribute") => Ok(classes::attributes(self.objects()?)),
            ("pg_catalog", "pg_attrdef") => Ok(classes::defaults(self.objects()?)),
            ("pg_catalog", "pg_range") => Ok(types::ranges()),
            ("pg_catalog", "pg_enum") => Ok(enumerations::labels(&self.objects()?.enumerations)),
            ("pg_catalog", "pg_type") => Ok(types::types(self.objects()?)),
            ("pg_catalog", "pg_index") => Ok(indexes::indexes(self.objects()?)),
            ("pg_catalog", "pg_constraint") => Ok(indexes::constraints(self.objects()?)),
            ("pg_catalog", "pg_tables" | "pg_views" | "pg_matviews" | "pg_indexes") => {
                Ok(indexes::listed(name, self.objects()?, self.roles().owner()))
            }
            ("pg_catalog", "pg_rewrite") => Ok(dependencies::rules(self.objects()?)),
            ("pg_catalog", "pg_depend") => Ok(dependencies::dependencies(self.objects()?)),
            ("pg_catalog", "pg_description") => Ok(schemas::comments()),
            ("pg_catalog", "pg_namespace") => Ok(schemas::namespaces(&self.objects()?.schemas)),
            ("internal", name) => self.internal(name),
            ("pg_catalog", "pg_sequence") => Ok(sequences::sequences(self.objects()?)),
            ("pg_catalog", "pg_sequences") => {
                sequences::listed(self.objects()?, self.session.engine(), self.roles().owner())
            }
            ("pg_catalog", "pg_cursors") => Ok(activity::cursors(self.activity.cursors())),
            ("pg_catalog", name) if statistics::has_rows(name) => {
                let database = (self.database_number(), self.database, self.activity.backends().len());
                statistics::rows(name, self.objects()?, self.session.engine(), database)
            }
            ("information_schema", "enabled_roles") => {
                Ok(vec![row::row("information_schema", "enabled_roles", &[("role_name", Value::text(self.user))])])
            }
            ("information_schema", "sequences") => Ok(sequences::standard(self.objects()?, self.database)),
            ("information_schema", name) => Ok(standard::rows(name, self.objects()?, self.database)),
            ("pg_catalog", "pg_database") => Ok(server::databases(&self.activity.databases())),
            ("pg_catalog", "pg_stat_activity") => {
                let database = (self.database_number(), self.database);
                Ok(activity::backends(&self.activity.backends(), database, self.roles()))
            }
            ("function", "pg_stat_get_activity") => {
                Ok(activity::processes(&self.activity.backends(), self.database_number()))
            }
            ("pg_catalog", "pg_locks") => Ok(activity::locks(&self.session.advisory_locks(), self.database_number())),
            ("pg_catalog", "pg_prepared_statements") => Ok(activity::prepared(self.activity.prepared_statements())),
            ("pg_catalog" | "function", name) => Ok(server::rows(name, self.roles(), self.settings)),
            _ => Ok(Vec::new()),
        }
    }

    /// The rows of an internal table, in which functions look up values.
    fn internal(&self, name: &str) -> Result<Vec<Row>, PgError> {
        let objects = self.objects()?;
        Ok(match name {
            "sizes" => {
                let snapshot = self.session.engine().snapshot()?;
                let stored = snapshot.table_bytes()?;
                let mut rows = Vec::new();
                for object in &objects.tables {
                    let bytes = match &object.table {
                        Some(table) if table.definition.view.is_some() => Some(0),
                        Some(table) if table.definition.is_in_memory() => {
                            snapshot.stats(Some(table))?.first().map(|stats| stats.bytes)
                        }
                        Some(table) => stored.get(&table.id).copied(),
                        None => Some(0),
                    };
                    // A table that is not committed yet, or was dropped in the meantime, has none.
                    if let Some(bytes) = bytes {
                        rows.push(vec![
                            Value::Int(object.number),
                            Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX)),
                        ]);
                    }
                }
                // The size of an index is 0, because its pages belong to the table.
                let indexes = objects.tables.iter().flat_map(|object| &object.indexes);
                rows.extend(indexes.map(|index| vec![Value::Int(index.number), Value::Int(0)]));
                rows
            }
            "functions" => procedures::signatures(),
            name => indexes::internal(name, objects),
        })
    }
}

impl CatalogueSource for Contents<'_> {
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>, PgError> {
        let Some(shape) = shapes::shape(schema, name) else { return Ok(None) };
        let key = format!("{schema}.{name}");
        if let Some(relation) = self.made.borrow().get(&key) {
            return Ok(Some(relation.clone()));
        }
        let (mut columns, mut rows) = (columns(shape), self.rows(schema, name)?);
        if schema == "pg_catalog" {
            // A hidden column contains the number of the row's table.
            columns.push(ColumnName { is_hidden: true, ..ColumnName::new(SYSTEM_COLUMN, known::OID) });
            let number = shapes::number_of(name);
            rows.iter_mut().for_each(|row| row.push(Value::Int(number)));
        }
        let relation = Relation::new(columns, rows);
        self.made.borrow_mut().insert(key, relation.clone());
        Ok(Some(relation))
    }

    fn sequence(&self, schema: &str, name: &str) -> Result<Option<Relation>, PgError> {
        sequences::state(self.objects()?, self.session.engine(), schema, name)
    }
}

/// Returns whether a name, with or without a schema, is that of a sequence.
pub(in crate::pg) fn is_sequence(session: &StoreSession, schema: Option<&str>, name: &str) -> bool {
    sequences::is_sequence(session, schema, name)
}

/// Returns whether the catalogue has this table.
pub(in crate::pg) fn is_relation(schema: Option<&str>, name: &str) -> bool {
    match schema {
        Some(schema @ ("pg_catalog" | "information_schema")) => shapes::shape(schema, name).is_some(),
        Some(_) => false,
        None => name.starts_with("pg_") && shapes::shape("pg_catalog", name).is_some(),
    }
}

/// The type of the columns with this name in any table of the catalogue.
pub(in crate::pg) fn type_of_column(name: &str) -> Option<u32> {
    shapes::type_of_column(name)
}
