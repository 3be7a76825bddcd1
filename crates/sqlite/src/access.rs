//! What the system refuses at a store's file. SQLite does not report why it could not open one.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Why no file can be created beside the store, if so.
pub(crate) fn refused_beside(path: &Path) -> Option<io::Error> {
    let mut probe = path.as_os_str().to_owned();
    probe.push(format!("-probe-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = std::fs::remove_file(&probe);
            None
        }
        Err(error) => Some(error),
    }
}

/// Why the store's file cannot be opened, or created if it is missing, as far as the system says so.
pub(crate) fn refused_at(path: &Path) -> Option<io::Error> {
    let opened = File::open(path);
    opened.err().filter(|error| error.kind() != io::ErrorKind::NotFound).or_else(|| refused_beside(path))
}
