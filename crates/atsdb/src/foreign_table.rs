//! Tables of other databases on servers, which need not hold a store.

use crate::open::{Server, server_of};
use crate::password;
use atsdb_core::{Error, Result};
use atsdb_foreign::{ColumnChooser, ForeignTable};

/// Returns whether a text is the URL of a table on a server, or of its database: `postgresql://`, `mariadb://`,
/// `mysql://`.
pub fn is_foreign_table(url: &str) -> bool {
    url.contains("://") && server_of(url).is_some()
}

/// Opens a table or view on a server for reading: `postgresql://user@host/database#schema.table`, or
/// `mariadb://user@host/database#table` (or `mysql://`). The options of the URL are those of a store, and a password
/// that it lacks is read from `ATSDB_PASSWORD`, or from the file named by `ATSDB_PASSWORD_FILE`.
///
/// `chooser` says for each column, by name, whether it is read. All rows are of one moment. They arrive in batches of a
/// bounded size.
///
/// # Errors
///
/// `Usage` if the URL is malformed or names no table, with a list of the tables; `NotFound` if there is no such
/// database or table; `Unavailable` if the server cannot be reached, or refuses the login or the table.
pub fn foreign_table(url: &str, chooser: &ColumnChooser<'_>) -> Result<ForeignTable> {
    let server = server_of(url).ok_or_else(|| {
        Error::usage("this is not the URL of a table on a server")
            .with_hint("write postgresql://USER@HOST/DATABASE#TABLE")
    })?;
    let (url, table) = url.rsplit_once('#').map_or((url, None), |(url, table)| (url, Some(table)));
    let table = table.filter(|table| !table.is_empty());
    let password = password::from_environment()?;
    match server {
        Server::Postgres => atsdb_postgres::read_table(url, password.as_ref(), table, chooser),
        Server::Mysql => atsdb_mysql::read_table(url, password.as_ref(), table, chooser),
    }
}
