//! Databases in memory. One belongs to its connection, which is kept here between two sessions of a workspace.

use crate::failure::Failure;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// `None` while a session has it.
static KEPT: LazyLock<Mutex<HashMap<PathBuf, Option<Connection>>>> = LazyLock::new(Mutex::default);

/// The database of a workspace, created if it does not exist.
pub(super) fn take(workspace: &Path) -> Result<Connection, Failure> {
    let mut kept = KEPT.lock();
    match kept.get_mut(workspace) {
        Some(connection) => connection
            .take()
            .ok_or_else(|| Failure::cannot("a database in memory has one connection, and it is in use")),
        None => {
            let connection = Connection::open_in_memory().map_err(Failure::broken)?;
            kept.insert(workspace.to_owned(), None);
            Ok(connection)
        }
    }
}

/// Gives it back.
pub(super) fn give_back(workspace: PathBuf, connection: Connection) {
    KEPT.lock().insert(workspace, Some(connection));
}

/// The size of its pages.
pub(super) fn bytes(workspace: &Path) -> Result<u64, Failure> {
    let kept = KEPT.lock();
    let Some(Some(connection)) = kept.get(workspace) else { return Ok(0) };
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0)).map_err(Failure::broken);
    Ok(pragma("page_count")? * pragma("page_size")?)
}
