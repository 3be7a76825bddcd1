//! `postgresql://USER@HOST/DATABASE#TABLE` and the like: a table of a server, for the importer.

use crate::console::ahead::Ahead;
use crate::console::failure;
use atsdb::{Error, ForeignTable, Result, foreign_table, is_foreign_table};
use atsdb_import::Input;
use std::iter;
use std::path::Path;

/// Whether an argument names a table of a server.
pub(super) fn is_on_server(path: &Path) -> bool {
    path.to_str().is_some_and(is_foreign_table)
}

/// The table. Ctrl-C ends the wait for its server, at any time.
pub(super) fn input(path: &Path) -> Result<Input> {
    let url = path.to_string_lossy().into_owned();
    let opening = Ahead::start(iter::once_with(move || foreign_table(&url)))?;
    let table = opening.next()?.ok_or_else(|| Error::internal("the table was not opened"))??;
    table.warning.iter().for_each(|warning| failure::warn(warning));
    let batches = Ahead::start(table.batches)?;
    let batches = Box::new(iter::from_fn(move || batches.next().unwrap_or_else(|error| Some(Err(error)))));
    Ok(Input::Table(ForeignTable { batches, ..table }))
}
