//! Connections to the file: how it is opened. The one that writes is in `writer`, those that read are in `readers`.
//!
//! The file is only ever opened through SQLite: closing a plain file handle of it would drop the locks that this
//! process holds on it (POSIX locks belong to the process, not to the handle).

#![expect(clippy::disallowed_methods, reason = "how long a lock is waited for")]

use crate::create;
use crate::error::{Attempt, Failure, extended_code, primary_code};
use crate::options::SqliteOptions;
use crate::schema;
use crate::split::layout::Layout;
use atsdb_core::{Durability, Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags, ffi};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first SQLite without the fault that could corrupt a write-ahead log when it was reset.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// To what the log is cut when it starts over.
const LOG_BYTES_KEPT: i64 = 64 << 20;
const WRITER_CACHE_KIB: i64 = 16 << 10;

/// How the file can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
    /// The same where there is no room for the index of SQLite's log, which processes share. It is kept in memory instead,
    /// and a lock on the file keeps all other processes out.
    WriteAlone,
    ReadAlone,
    /// Read, where not even SQLite's lock files can be made. Nobody may write meanwhile.
    Immutable,
}

impl Access {
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteAlone)
    }

    fn is_alone(self) -> bool {
        matches!(self, Self::WriteAlone | Self::ReadAlone)
    }
}

/// A file that turned out to be a store.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) access: Access,
    pub(crate) uid: [u8; 16],
    pub(crate) layout: Option<Layout>,
}

/// Opens the file, creates the store in it where that is asked for and due, and makes sure that it is one.
pub(crate) fn open(path: &Path, options: &SqliteOptions, layout: Option<Layout>) -> Result<Opened> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        let message = format!("SQLite {} is linked; versions before 3.51.3 can damage a store", rusqlite::version());
        return Err(Error::internal(message).with_hint("build with the bundled SQLite"));
    }
    check_path(path, options)?;
    let access = if options.read_only { Access::Read } else { Access::Write };
    let create = Create { allowed: options.create && !options.read_only, layout };
    let not_created = Create { allowed: false, layout };
    make_if_missing(path, create, options.durability)
        .and_then(|()| open_as(path, access, create, options.busy_timeout))
        .or_else(|failure| match failure {
            Failure::Sqlite(error) if needs_rollback(&error) => {
                roll_back(path, options.busy_timeout)?;
                open_as(path, access, not_created, options.busy_timeout)
            }
            failure if failure.is_full() && !is_empty(path) => {
                let alone = if access.writes() { Access::WriteAlone } else { Access::ReadAlone };
                open_as(path, alone, not_created, options.busy_timeout)
            }
            Failure::Sqlite(error) if needs_immutable(&error, path) => {
                open_as(path, Access::Immutable, not_created, options.busy_timeout)
            }
            other => Err(other),
        })
        .map_err(|failure| match &failure {
            Failure::Sqlite(error) if primary_code(error) == Some(ffi::SQLITE_NOTADB) => {
                Error::new(ErrorKind::NotAStore, format!("{} is no SQLite database", path.display()))
                    .with_hint("name an atsdb store, or a file that does not exist yet")
            }
            _ => failure.at(path),
        })
}

fn check_path(path: &Path, options: &SqliteOptions) -> Result<()> {
    let place = path.display();
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::new(ErrorKind::NotAStore, format!("{place} is a directory")).with_hint("name a file in it"))
        }
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::new(ErrorKind::NotAStore, format!("{place} is not a regular file")))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            if !parent.is_dir() {
                Err(Error::not_found(format!("the directory {} does not exist", parent.display()))
                    .with_hint("create it first, or correct the path"))
            } else if options.read_only || !options.create {
                Err(Error::not_found(format!("there is no store {place}")).with_hint("check the path"))
            } else {
                Ok(())
            }
        }
        Err(error) => {
            Err(Error::new(ErrorKind::Unavailable, format!("cannot look at {place}: {error}")).with_source(error))
        }
    }
}

/// Whether SQLite failed because it can make no lock files where the store lies, while nothing waits in a log that
/// would have to be read too.
fn needs_immutable(error: &rusqlite::Error, path: &Path) -> bool {
    let cannot_open = matches!(primary_code(error), Some(ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY));
    cannot_open && is_empty(&log_path(path)) && path.exists() && refuses_files(path)
}

/// Whether no file can be made beside the store, for good. That files ran out is no reason to read without locks.
fn refuses_files(path: &Path) -> bool {
    let mut probe = path.as_os_str().to_owned();
    probe.push(format!("-probe-{}", std::process::id()));
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => {
            let _ = std::fs::remove_file(&probe);
            false
        }
        Err(error) => {
            matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
        }
    }
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |metadata| metadata.len() == 0)
}

/// Whether a store is made where there is none, and which.
#[derive(Debug, Clone, Copy)]
struct Create {
    allowed: bool,
    layout: Option<Layout>,
}

/// A log or a rollback journal that another file has left here would be taken for the new file's. SQLite removes them where it
/// finds no file, or an empty one, and keeps others out meanwhile: there it makes the store in its place.
fn make_if_missing(path: &Path, create: Create, durability: Durability) -> Attempt<()> {
    let is_left = |ending| beside(path, ending).exists();
    // In this order: one of a file that another process makes meanwhile comes after the file.
    if create.allowed && !is_left("-wal") && !is_left("-journal") && !path.exists() {
        create::create(path, create.layout, durability)?;
    }
    Ok(())
}

/// Whether a writer ended in the middle of a transaction that was not in a write-ahead log. A connection that only reads cannot
/// undo it.
fn needs_rollback(error: &rusqlite::Error) -> bool {
    extended_code(error) == Some(ffi::SQLITE_READONLY_ROLLBACK)
}

/// Undoes that transaction.
fn roll_back(path: &Path, busy_timeout: Duration) -> Attempt<()> {
    schema::is_blank(&connect(path, Access::Write, false, busy_timeout)?)?;
    Ok(())
}

fn open_as(path: &Path, access: Access, create: Create, busy_timeout: Duration) -> Attempt<Opened> {
    let is_new = create.allowed && !path.exists();
    let connection = connect(path, access, create.allowed, busy_timeout)?;
    if is_new {
        // While it is empty. Its log and the log's index take the permissions of the file.
        make_private(path)?;
    }
    if schema::is_blank(&connection)? {
        // SQLite takes a file of one byte for an empty one, and would write over it.
        let one_byte = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 1);
        if one_byte || !create.allowed {
            let size = if one_byte { "a file of one byte" } else { "an empty file" };
            let message = format!("{} is {size}, no atsdb store", path.display());
            return Err(Error::new(ErrorKind::NotAStore, message).into());
        }
        schema::create(&connection, create.layout)?;
    }
    let (uid, layout) = schema::check(&connection, path)?;
    // A file that may not be written opens all the same, for reading.
    let access = if access.writes() && connection.is_readonly("main")? { Access::Read } else { access };
    if access.writes() {
        use_log(&connection, path, busy_timeout)?;
        prepare_to_write(&connection)?;
        // A read now finds out whether the log's own files can be made.
        connection.query_row("SELECT count(*) FROM atsdb_store", [], |_| Ok(()))?;
    }
    Ok(Opened { connection, access, uid, layout })
}

/// Sets what holds for the connection that writes. The writer carries the log into the file by itself: SQLite would keep to
/// itself that it failed.
pub(crate) fn prepare_to_write(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
}

/// Lets nobody but the owner read and write a file. No handle of it is opened: closing one would drop SQLite's locks.
fn make_private(path: &Path) -> Attempt<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(|error| {
        let message = format!("cannot make {} private: {error}", path.display());
        Error::new(ErrorKind::Unavailable, message).with_source(error)
    })?;
    Ok(())
}

/// Switches the file to a write-ahead log. It is kept by the file; SQLite needs it for itself for that moment, and
/// does not always wait.
fn use_log(connection: &Connection, path: &Path, busy_timeout: Duration) -> Attempt<()> {
    let start = Instant::now();
    loop {
        match set_log_mode(connection) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let message = format!("the file system of {} allows no write-ahead log ({mode})", path.display());
                return Err(Error::new(ErrorKind::Unavailable, message).with_hint("use a local file system").into());
            }
            Err(error) if primary_code(&error) == Some(ffi::SQLITE_BUSY) && start.elapsed() < busy_timeout => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks for a write-ahead log; gives the mode that the connection uses now. The mode is answered before it is committed:
/// only the end of the statement tells whether it was.
fn set_log_mode(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let mut rows = statement.query([])?;
    let mut mode = String::new();
    while let Some(row) = rows.next()? {
        mode = row.get(0)?;
    }
    Ok(mode)
}

pub(crate) fn connect(
    path: &Path,
    access: Access,
    create: bool,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags |= match access {
        // A lock that keeps others out is only to be had of a file that is open for writing.
        Access::Write | Access::WriteAlone | Access::ReadAlone => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::Read | Access::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    if create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let connection = if access == Access::Immutable {
        Connection::open_with_flags(immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?
    } else if access.is_alone() {
        Connection::open_with_flags_and_vfs(path, flags, "unix-excl")?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    connection.busy_timeout(busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.execute_batch("PRAGMA foreign_keys = OFF")?;
    Ok(connection)
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri + "?immutable=1"
}

pub(crate) fn log_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
