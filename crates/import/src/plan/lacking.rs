//! Columns of a table that the files lack.

use crate::options::Options;
use crate::options::selection::takes_values;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Column, Error, Result, TableDefinition};

/// Leaves out the columns to which the table itself gives values, unless the files have them: under their names, which
/// are `names`, or under any name if the column is the time and the files have it (`has_time`).
pub(crate) fn keep_given(definition: &mut TableDefinition, options: &Options, has_time: bool, names: &[&str]) {
    let time = definition.time_column().map(|column| column.id).filter(|_| has_time);
    let is_given = |column: &Column| {
        Some(column.id) == time
            || options.is_file_column(&column.name)
            || names.iter().any(|name| same_name(name, &column.name))
    };
    definition.columns.retain(|column| !takes_values(column) || is_given(column));
}

/// The columns of an existing table that the files lack and that get another value. Columns to which the table itself
/// gives values are no longer among the table's columns here.
#[derive(Debug, Default)]
pub(crate) struct LackingColumns<'a> {
    defaulted: Vec<&'a str>,
    null: Vec<&'a str>,
}

impl<'a> LackingColumns<'a> {
    /// Adds a column of the table, or refuses the files if it must have a value. `names` are those of the files.
    pub(crate) fn add<'b>(
        &mut self,
        definition: &TableDefinition,
        column: &'a Column,
        names: impl Iterator<Item = &'b str>,
    ) -> Result<()> {
        if column.default.is_some() {
            self.defaulted.push(&column.name);
        } else if column.nullable {
            self.null.push(&column.name);
        } else {
            let near = unknown_name("column", &column.name, names);
            let error = Error::new(near.kind(), format!("{} in the files", near.message()));
            let needs = format!("table {} needs it", definition.name);
            let is_time = definition.time_column().is_some_and(|time| time.id == column.id);
            return Err(match near.hint() {
                _ if is_time => {
                    error.with_hint(format!("{needs}; if the time has another name in the files: --time NAME"))
                }
                Some(hint) => error.with_hint(format!("{needs}; {hint}")),
                None => error.with_hint(needs),
            });
        }
        Ok(())
    }

    /// The notes of the report about these columns.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |names: &[&str], one: &str, several: &str| match names {
            [] => None,
            [name] => Some(format!("the files have no column {name}, {one}")),
            names => Some(format!("the files have no columns {}, {several}", names.join(", "))),
        };
        let null = note(&self.null, "which is NULL", "which are NULL");
        let defaulted = note(&self.defaulted, "which gets its default", "which get their defaults");
        null.into_iter().chain(defaulted).collect()
    }
}

/// Refuses the files if only some of them have a column with a default function: the rows of one import get its values
/// either from the files or from the table. `positions` are those of the column in each file.
pub(crate) fn refuse_mixed(definition: &TableDefinition, column: &Column, positions: &[Option<usize>]) -> Result<()> {
    match column.default_function {
        Some(function) if positions.contains(&None) => {
            let (table, name, default) = (&definition.name, &column.name, function.sql());
            Err(Error::invalid(format!(
                "table {table}, column {name}: only some of the files have it, and its default is {default}"
            ))
            .with_hint("import the files with the column and those without it one after the other"))
        }
        _ => Ok(()),
    }
}
