//! What `--version` says: the program's version, the SQLite inside, the newest page format it writes.

use std::sync::LazyLock;

/// The newest format of a page, which `docs/format` describes.
const PAGE_FORMAT: u8 = 1;

/// The text after the program's name.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let sqlite = rusqlite::version();
        format!("{} (SQLite {sqlite}, page format {PAGE_FORMAT})", env!("CARGO_PKG_VERSION"))
    });
    &TEXT
}
