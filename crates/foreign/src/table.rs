//! A table of another database.

use crate::errors::{no_table_named, unknown_table};
use arrow::array::ArrayRef;
use atsdb_core::{ColumnType, Result};
use std::fmt;

/// Some rows: an array for each column, of the Arrow type that the column's type has.
pub type Arrays = Vec<ArrayRef>;

/// A function that returns for each of a table's columns, given by name, whether it is read.
pub type ColumnChooser<'a> = dyn Fn(&[&str]) -> Result<Vec<bool>> + 'a;

/// Finds the table to read in a database. `wanted` is its name, if the URL has one; `find` looks for a table with a
/// name, and `tables` lists the names of all tables. `location` is the URL without secrets.
///
/// # Errors
///
/// `Usage` if the URL names no table, `NotFound` if there is none with this name. Their hint lists the tables or names
/// the nearest one. Errors of `find` and `tables` are returned as they are.
pub fn find_table<D, T>(
    database: &mut D,
    location: &str,
    wanted: Option<&str>,
    find: impl FnOnce(&mut D, &str) -> Result<Option<T>>,
    tables: impl FnOnce(&mut D) -> Result<Vec<String>>,
) -> Result<T> {
    let Some(wanted) = wanted else { return Err(no_table_named(location, &tables(database)?)) };
    match find(database, wanted)? {
        Some(table) => Ok(table),
        None => Err(unknown_table(location, wanted, &tables(database)?)),
    }
}

/// Removes the columns that are not read, and returns their names. `name_of` is the name of a column.
///
/// # Errors
///
/// The errors that `chooser` returns.
pub fn choose<C>(
    columns: &mut Vec<C>,
    name_of: impl Fn(&C) -> &str,
    chooser: &ColumnChooser<'_>,
) -> Result<Vec<String>> {
    let are_read = chooser(&columns.iter().map(&name_of).collect::<Vec<_>>())?;
    let left_out = columns.extract_if(.., {
        let mut are_read = are_read.into_iter();
        move |_| !are_read.next().unwrap_or(true)
    });
    let left_out: Vec<C> = left_out.collect();
    Ok(left_out.iter().map(|column| name_of(column).to_owned()).collect())
}

/// A column of another database's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignColumn {
    /// Its name.
    pub name: String,
    /// The type of a store's table that holds its values.
    pub column_type: ColumnType,
    /// A remark about that type for the user, written after the column's name: `point, is read as text`. `None` for
    /// most types.
    pub remark: Option<String>,
}

/// A table of another database, whose rows were not read yet. All of them are those of one moment.
pub struct ForeignTable {
    /// Its name, for messages.
    pub name: String,
    /// The columns.
    pub columns: Vec<ForeignColumn>,
    /// The names of columns that are not read.
    pub left_out: Vec<String>,
    /// A warning about the connection, as a sentence.
    pub warning: Option<String>,
    /// The rows. After an error there are no more. Dropping it closes the connection.
    pub batches: Box<dyn Iterator<Item = Result<Arrays>> + Send>,
}

impl fmt::Debug for ForeignTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignTable").field("name", &self.name).field("columns", &self.columns).finish_non_exhaustive()
    }
}
