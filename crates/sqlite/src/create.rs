//! Creating a new store's file: completely or not at all.
//!
//! Its bytes are built in memory, written to a temporary file beside the target, and linked to it. Other processes find
//! either no file or a store, whenever the creating process ends. If two processes do so at once, the second one finds
//! the store of the first.

use crate::error::Attempt;
use crate::schema;
use crate::split::folder::unavailable;
use crate::split::layout::SplitLayout;
use atsdb_core::Durability;
use rusqlite::{Connection, MAIN_DB};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The bytes of SQLite's header for the write and the read version of the file.
const JOURNAL_MODE: Range<usize> = 18..20;
const WRITE_AHEAD_LOG: u8 = 2;

/// Creates a store, which only its owner may read and write, if there is no file. Returns false if files cannot be
/// linked here: then SQLite has to create the store in place.
pub(crate) fn create(path: &Path, layout: Option<SplitLayout>, durability: Durability) -> Attempt<bool> {
    let (bytes, uid) = image(layout)?;
    let unfinished = unfinished(path, &uid);
    let link_result = write(&unfinished, &bytes, durability).and_then(|()| fs::hard_link(&unfinished, path));
    // If this fails, a few pages that nobody reads remain.
    let _ = fs::remove_file(&unfinished);
    match link_result {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(true),
            io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => Ok(false),
            _ => Err(unavailable("create", path, error).into()),
        },
    }
}

/// Returns the bytes of an empty store, and its uid.
fn image(layout: Option<SplitLayout>) -> Attempt<(Vec<u8>, String)> {
    let mut connection = Connection::open_in_memory()?;
    schema::create(&connection, layout)?;
    let sql = "SELECT lower(hex(value)) FROM atsdb_store WHERE key = 'uid'";
    let uid = connection.query_row(sql, [], |row| row.get(0))?;
    let mut bytes = connection.serialize(MAIN_DB)?.to_vec();
    bytes[JOURNAL_MODE].fill(WRITE_AHEAD_LOG);
    Ok((bytes, uid))
}

/// Returns a path beside the file that no other process uses.
fn unfinished(path: &Path, uid: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-new-{uid}"));
    PathBuf::from(name)
}

fn write(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    if durability == Durability::Off { Ok(()) } else { file.sync_all() }
}
