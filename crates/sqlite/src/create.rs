//! How a new store's file comes into being: whole, or not at all.
//!
//! Its bytes are made in memory, written to a file beside its place, and linked there. Other processes find no file or a
//! store, whenever the process that makes it ends. If two processes do so at once, the second finds the store of the first.

use crate::error::Attempt;
use crate::schema;
use crate::split::folder::unavailable;
use crate::split::layout::Layout;
use atsdb_core::Durability;
use rusqlite::{Connection, MAIN_DB};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The bytes of SQLite's header that say how the file is written and read.
const JOURNAL_MODE: Range<usize> = 18..20;
const WRITE_AHEAD_LOG: u8 = 2;

/// Makes a store where there is no file, which its owner alone may read and write. False where files cannot be linked: SQLite
/// then has to make it in its place.
pub(crate) fn create(path: &Path, layout: Option<Layout>, durability: Durability) -> Attempt<bool> {
    let (bytes, uid) = image(layout)?;
    let unfinished = unfinished(path, &uid);
    let linked = write(&unfinished, &bytes, durability).and_then(|()| fs::hard_link(&unfinished, path));
    // If it stays, it is a few pages that nobody reads.
    let _ = fs::remove_file(&unfinished);
    match linked {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(true),
            io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => Ok(false),
            _ => Err(unavailable("create", path, error).into()),
        },
    }
}

/// The file of an empty store, and the store's uid.
fn image(layout: Option<Layout>) -> Attempt<(Vec<u8>, String)> {
    let mut connection = Connection::open_in_memory()?;
    schema::create(&connection, layout)?;
    let sql = "SELECT lower(hex(value)) FROM atsdb_store WHERE key = 'uid'";
    let uid = connection.query_row(sql, [], |row| row.get(0))?;
    let mut bytes = connection.serialize(MAIN_DB)?.to_vec();
    bytes[JOURNAL_MODE].fill(WRITE_AHEAD_LOG);
    Ok((bytes, uid))
}

/// A name beside the file that no other process takes.
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
