//! Whether a definition is valid: its columns, the time, the options that depend on it, keys and indexes.

use crate::column::Column;
use crate::column_type::ColumnType;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{COLUMNS_MAX, INDEX_ID_MIN};
use crate::name::{check_name, check_table_name, name_key};
use crate::schema::{ConflictPolicy, TableDefinition};
use std::collections::HashSet;

impl TableDefinition {
    /// Refuses an invalid definition. Every store calls it before it creates a table.
    pub fn check(&self) -> Result<()> {
        check_table_name(&self.name, self.system)?;
        self.check_schema()?;
        self.check_enumerations()?;
        self.check_lengths()?;
        if self.is_entry() {
            return Ok(());
        }
        self.check_materialized()?;
        if self.view.is_some() {
            return match self.columns.is_empty() {
                true => Ok(()),
                false => Err(Error::internal(format!("view {} has columns of its own", self.name))),
            };
        }
        if self.columns.is_empty() {
            return Err(Error::usage(format!("table {} has no columns", self.name)));
        }
        if self.sequence && (self.columns.len() != 1 || self.columns[0].identity.is_none()) {
            return Err(Error::internal(format!("sequence {} is not one identity", self.name)));
        }
        if self.columns.len() > COLUMNS_MAX {
            let message =
                format!("table {} has {} columns; the maximum is {COLUMNS_MAX}", self.name, self.columns.len());
            return Err(Error::new(ErrorKind::Limit, message));
        }
        self.check_columns()?;
        self.check_time()?;
        self.check_key_columns()?;
        self.check_constraints()
    }

    fn check_columns(&self) -> Result<()> {
        let (mut names, mut ids) = (HashSet::new(), HashSet::new());
        for column in &self.columns {
            check_name("column", &column.name)?;
            if !names.insert(name_key(&column.name)) {
                return Err(Error::usage(format!("table {} has two columns named {}", self.name, column.name)));
            }
            if !ids.insert(column.id) {
                return Err(Error::internal(format!("table {} has two columns numbered {}", self.name, column.id.0)));
            }
            if column.map.is_some() && column.column_type != ColumnType::Text {
                return Err(Error::usage(format!(
                    "column {} of type {} cannot be mapped",
                    column.name, column.column_type
                ))
                .with_hint("only text columns are mapped"));
            }
            self.check_identity(column)?;
        }
        Ok(())
    }

    /// Refuses a time column that cannot be one, options that need a time column, and options that tables in memory do
    /// not have.
    fn check_time(&self) -> Result<()> {
        match (self.time, self.time_column()) {
            (Some(_), None) => return Err(Error::internal(format!("table {}: no such time column", self.name))),
            (Some(_), Some(column)) if column.nullable || !column.column_type.can_be_time() => {
                return Err(Error::internal(format!("table {}: {} cannot be the time", self.name, column.name)));
            }
            _ if self.memory.is_some() && self.unsupported_in_memory().is_some() => {
                let what = self.unsupported_in_memory().unwrap_or_default();
                return Err(Error::usage(format!("table {} is in memory and has {what}", self.name))
                    .with_hint("leave it out: it is only for stored tables"));
            }
            (None, _) if self.retention.is_some() => {
                return Err(Error::usage(format!("table {} has a retention but no time column", self.name))
                    .with_hint("declare one: WITH (time = 'COLUMN')"));
            }
            (None, _) if self.preload.is_some() => {
                return Err(Error::usage(format!("table {} has preload but no time column", self.name))
                    .with_hint("declare one: WITH (time = 'COLUMN')"));
            }
            _ => {}
        }
        if self.rollup.is_some() && self.time.is_none() {
            return Err(Error::internal(format!("rollup {} has no time column", self.name)));
        }
        Ok(())
    }

    /// Refuses keys and indexes over columns that do not exist or cannot be compared.
    fn check_key_columns(&self) -> Result<()> {
        let keys = || {
            let keys = self.key.iter().chain(self.unique.iter().flat_map(|unique| &unique.columns));
            keys.chain(self.indexes.iter().flat_map(|index| &index.columns))
        };
        if let Some(id) = keys().find(|id| self.column_by_id(**id).is_none()) {
            return Err(Error::internal(format!("table {}: no key column {}", self.name, id.0)));
        }
        let keyed = |column: &&Column| keys().any(|id| *id == column.id);
        if let Some(column) = self.columns.iter().filter(keyed).find(|column| !column.column_type.can_be_key()) {
            let (name, column_type) = (&column.name, column.column_type.sql_name());
            return Err(Error::usage(format!("column {name} of type {column_type} cannot be part of a key or index"))
                .with_hint("equal values of this type can be written differently: use a column of another type"));
        }
        Ok(())
    }

    /// Returns an option of this definition that in-memory tables do not support.
    fn unsupported_in_memory(&self) -> Option<&'static str> {
        match () {
            () if self.retention.is_some() => Some("a retention"),
            () if self.preload.is_some() => Some("preload"),
            () if self.has_mapped() => Some("mapped columns"),
            () => None,
        }
    }

    fn check_constraints(&self) -> Result<()> {
        for unique in &self.unique {
            if unique.columns.is_empty() {
                return Err(Error::usage(format!("table {} has a key without columns", self.name)));
            }
            let nullable = unique.columns.iter().filter_map(|id| self.column_by_id(*id)).find(|column| column.nullable);
            if let (true, Some(column)) = (unique.primary, nullable) {
                return Err(Error::internal(format!("table {}: key column {} takes NULL", self.name, column.name)));
            }
        }
        if self.on_conflict != ConflictPolicy::Error && self.unique.is_empty() {
            return Err(Error::usage(format!("table {} has on_conflict but no key", self.name))
                .with_hint("declare one: PRIMARY KEY (COLUMN, ...)"));
        }
        self.check_merge(self.on_conflict)?;
        self.check_index_names()?;
        self.check_conditions()?;
        self.check_foreign_keys()?;
        for index in &self.indexes {
            check_name("index", &index.name)?;
            if index.id.0 < INDEX_ID_MIN || index.columns.is_empty() {
                return Err(Error::internal(format!("table {}: index {} is not one", self.name, index.name)));
            }
        }
        Ok(())
    }
}
