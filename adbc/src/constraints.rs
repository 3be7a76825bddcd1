//! The constraints of tables, as `GetObjects` lists them: keys, CHECK constraints and foreign keys.

use crate::nested::{lists, structs};
use adbc_core::schemas::{CONSTRAINT_SCHEMA, USAGE_SCHEMA};
use atsdb::arrow::array::{ArrayRef, StringArray};
use atsdb::sql::CATALOG;
use atsdb::{ColumnId, ForeignKey, PUBLIC_SCHEMA, Result, TableDefinition};
use std::sync::Arc;

/// A constraint of a table.
struct Constraint<'a> {
    name: String,
    kind: &'static str,
    columns: &'a [ColumnId],
    /// A foreign key has the columns of the parent.
    foreign_key: Option<&'a ForeignKey>,
}

/// The constraints of a table by kind and name. A unique index is none.
fn constraints_of(definition: &TableDefinition) -> Vec<Constraint<'_>> {
    let keys = definition.unique.iter().filter(|unique| !unique.index).map(|unique| Constraint {
        name: definition.key_name(unique),
        kind: if unique.primary { "PRIMARY KEY" } else { "UNIQUE" },
        columns: &unique.columns,
        foreign_key: None,
    });
    let checks = definition.checks.iter().map(|check| Constraint {
        name: check.name.clone(),
        kind: "CHECK",
        columns: &check.columns,
        foreign_key: None,
    });
    let foreign_keys = definition.foreign_keys.iter().map(|key| Constraint {
        name: key.name.clone(),
        kind: "FOREIGN KEY",
        columns: &key.columns,
        foreign_key: Some(key),
    });
    let mut found: Vec<_> = keys.chain(checks).chain(foreign_keys).collect();
    found.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    found
}

/// The constraints of each of these tables.
pub(crate) fn constraints(definitions: &[&TableDefinition]) -> Result<ArrayRef> {
    let (mut lengths, mut names, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut column_counts, mut column_names) = (Vec::new(), Vec::new());
    let (mut usage_counts, mut used) = (Vec::new(), Vec::new());
    for definition in definitions {
        let constraints = constraints_of(definition);
        lengths.push(Some(constraints.len()));
        for constraint in constraints {
            let columns = constraint.columns.iter().filter_map(|id| definition.column_by_id(*id));
            let before = column_names.len();
            column_names.extend(columns.map(|column| column.name.as_str()));
            column_counts.push(Some(column_names.len() - before));
            usage_counts.push(constraint.foreign_key.map(|key| key.parent_columns.len()));
            used.extend(constraint.foreign_key.into_iter().flat_map(parent_columns));
            names.push(constraint.name);
            kinds.push(constraint.kind);
        }
    }
    let text = |texts: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let usage = structs(
        &USAGE_SCHEMA,
        vec![
            text(vec![CATALOG; used.len()]),
            text(used.iter().map(|parent| parent.schema).collect()),
            text(used.iter().map(|parent| parent.table).collect()),
            text(used.iter().map(|parent| parent.column).collect()),
        ],
    )?;
    let of_constraints = structs(
        &CONSTRAINT_SCHEMA,
        vec![
            Arc::new(StringArray::from(names)),
            Arc::new(StringArray::from(kinds)),
            lists(&column_counts, Arc::new(StringArray::from(column_names)))?,
            lists(&usage_counts, usage)?,
        ],
    )?;
    lists(&lengths, of_constraints)
}

/// A column that a foreign key refers to.
struct ParentColumn<'a> {
    schema: &'a str,
    table: &'a str,
    column: &'a str,
}

/// The columns that a foreign key refers to, in the order of its own columns.
fn parent_columns(key: &ForeignKey) -> impl Iterator<Item = ParentColumn<'_>> {
    let (schema, table) = (key.parent.schema.as_deref().unwrap_or(PUBLIC_SCHEMA), key.parent.name.as_str());
    key.parent_columns.iter().map(move |column| ParentColumn { schema, table, column })
}
