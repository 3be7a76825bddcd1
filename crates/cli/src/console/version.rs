//! The text of `--version`: the versions of the program and of its SQLite, and the newest page format that it knows.

use atsdb::PAGE_FORMAT_MAX;
use std::sync::LazyLock;

/// The text after the program's name.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let sqlite = rusqlite::version();
        format!("{} (SQLite {sqlite}, page format {PAGE_FORMAT_MAX})", env!("CARGO_PKG_VERSION"))
    });
    &TEXT
}
