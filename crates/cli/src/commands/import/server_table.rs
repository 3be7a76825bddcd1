//! `postgresql://USER@HOST/DATABASE#TABLE` and the like: a table of a server, for the importer.

use crate::console::failure;
use crate::console::prefetch::Prefetch;
use atsdb::{Error, ForeignTable, Result, foreign_table, is_foreign_table};
use atsdb_import::{Input, Options, chosen_columns};
use std::iter;
use std::path::Path;

/// Returns whether an argument names a table of a server.
pub(super) fn is_on_server(path: &Path) -> bool {
    path.to_str().is_some_and(is_foreign_table)
}

/// The table. Only the columns that the options choose are read. `is_only` says that there are no other
/// inputs. Ctrl-C ends the wait for its server, at any time.
pub(super) fn input(path: &Path, options: &Options, is_only: bool) -> Result<Input> {
    let (url, options) = (path.to_string_lossy().into_owned(), options.clone());
    let open = move || foreign_table(&url, &|names| chosen_columns(&options, names, is_only));
    let opening = Prefetch::start(iter::once_with(open))?;
    let table = opening.next()?.ok_or_else(|| Error::internal("the table was not opened"))??;
    table.warning.iter().for_each(|warning| failure::warn(warning));
    let batches = Prefetch::start(table.batches)?;
    let batches = Box::new(iter::from_fn(move || batches.next().unwrap_or_else(|error| Some(Err(error)))));
    Ok(Input::Table(ForeignTable { batches, ..table }))
}
