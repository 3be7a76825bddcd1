//! The errors that readers of every kind of server have.

use atsdb_core::name::unknown_name;
use atsdb_core::{Error, ErrorKind};

/// The maximum number of tables that a message lists.
const TABLES_SHOWN: usize = 40;

/// The URL names no table. `location` is the URL without secrets; `tables` are the database's.
pub(crate) fn no_table_named(location: &str, tables: &[String]) -> Error {
    let Some(first) = tables.first() else {
        return Error::not_found(format!("{location} has no tables that its user sees"))
            .with_hint("check the database in the URL, and the user's permissions");
    };
    let more = match tables.len().saturating_sub(TABLES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = tables[..tables.len().min(TABLES_SHOWN)].join(", ");
    Error::usage(format!("{location} names no table"))
        .with_hint(format!("name one behind the URL: {location}#{first}; available: {shown}{more}"))
}

/// Returns the error that there is no such table; the hint is the nearest name, or the list of tables.
pub(crate) fn unknown_table(location: &str, wanted: &str, tables: &[String]) -> Error {
    unknown_name("table", wanted, tables.iter().map(String::as_str)).context(location)
}

/// The user may not read the table. `grant` is the statement that would permit it.
pub fn not_permitted(location: &str, reason: &str, grant: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the user of {location} may not read this: {reason}"))
        .with_hint(format!("let an administrator run {grant}, or use another user"))
}

/// The table has no columns that can be read.
pub fn no_columns(location: &str, table: &str) -> Error {
    Error::usage(format!("{location}: table {table} has no columns"))
}

/// The server failed while it read the table.
pub fn failed(location: &str, table: &str, reason: &str, code: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{location}: the server cannot read {table}: {reason} ({code})"))
        .with_hint("nothing was stored; check the table there, then import it again")
}
