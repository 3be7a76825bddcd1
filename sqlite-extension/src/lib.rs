//! An extension of SQLite that reads an atsdb store as virtual tables.
//!
//! Owned here: the virtual tables, what SQLite may push down to them, and how values look in SQLite. Not owned: the
//! store (`sqlite`) and reading it (`engine`).
//!
//! Everything runs on the thread that called SQLite, and uses the SQLite that loaded the extension. A second SQLite in
//! the process would lose the locks of the first one, since POSIX locks belong to the process.
//!
//! Modules, from the top. Each imports only modules below it:
//!
//! | module | what it owns |
//! |---|---|
//! | `attach` | the function `atsdb_attach` |
//! | `list` | the table-valued function `atsdb_tables` |
//! | `table` | one table of a store as a virtual table |
//! | `cursor` | the rows of one scan |
//! | `table_state` | the constraints that a scan of a table uses, and its estimated cost |
//! | `estimate` | the estimated number of rows and cost of a plan |
//! | `walk` | the choice of the chunks to read next, and the sorting of rows by time |
//! | `rows` | the decoded rows of chunks, value by value |
//! | `filter` | the values of a plan's terms as a request to the engine |
//! | `plan` | the parts of a query that SQLite pushes down, as text |
//! | `shape` | the columns as SQLite sees them |
//! | `arguments` | the arguments in parentheses after `USING atsdb` |
//! | `decimal_bounds` | the decimals for which a comparison can be true |
//! | `clock_text` | times of day as text |
//! | `time_format` | times as values of SQLite |
//! | `time_text` | times that were written as text |
//! | `decimal_text` | decimals as text, compared as numbers |
//! | `transaction` | detecting the end of a transaction of the host |
//! | `stores` | the stores that a connection has open, and their snapshots |
//! | `host` | the functions of the host's SQLite |
//! | `connection` | questions to the host's connection |
//! | `error` | errors and panics as errors of SQLite |

mod arguments;
mod attach;
mod clock_text;
mod connection;
mod cursor;
mod decimal_bounds;
mod decimal_text;
mod error;
mod estimate;
mod filter;
mod host;
mod list;
mod plan;
mod rows;
mod shape;
mod stores;
mod table;
mod table_state;
mod time_format;
mod time_text;
mod transaction;
mod walk;

use crate::connection::HostConnection;
use crate::stores::Stores;
use rusqlite::{Connection, Result, ffi};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// The entry point, which SQLite calls when it loads the extension.
///
/// # Safety
///
/// Only SQLite may call it, with the arguments that it passes to an extension.
#[expect(unsafe_code, reason = "the entry point of an extension is a function of C")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    routines: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes its own table of functions and a connection that is open.
    unsafe { host::load(db, message, routines, register) }
}

/// Registers the modules and functions with the connection.
fn register(host: &Connection, connection: HostConnection) -> Result<()> {
    let stores = Arc::new(Stores::new(connection));
    time_text::register(host)?;
    decimal_text::register(host)?;
    transaction::register(host, &stores)?;
    table::register(host, &stores)?;
    list::register(host, &stores)?;
    attach::register(host, &stores)
}
