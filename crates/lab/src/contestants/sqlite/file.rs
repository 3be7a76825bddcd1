//! The location of the database.

use std::path::{Path, PathBuf};

/// The database file in a contestant's folder.
pub(super) fn database_file(folder: &Path) -> PathBuf {
    folder.join("plain.db")
}
