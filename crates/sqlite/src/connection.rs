//! Opening connections to the file. `writer` has the writing connection, `readers` the reading ones.
//!
//! The file is only opened through SQLite: closing a plain file handle would release the locks that this process holds
//! on it, since POSIX locks belong to the process, not to the handle.

#![expect(clippy::disallowed_methods, reason = "how long a lock is waited for")]

use crate::access::{refused_beside, require_folder};
use crate::create;
use crate::error::{Attempt, Failure, extended_code, primary_code};
use crate::options::SqliteOptions;
use crate::schema::{self, StoreFacts};
use crate::split::layout::SplitLayout;
use atsdb_core::{Durability, Error, ErrorKind, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first SQLite version without the bug that could corrupt a write-ahead log when it was reset.
const SQLITE_VERSION_MIN: i32 = 3_051_003;
/// The first SQLite version that may read a store with the feature `bundled` off. It knows strict tables. A connection
/// that only reads never runs a checkpoint, so the bug cannot come from it.
const SQLITE_VERSION_MIN_TO_READ: i32 = 3_037_000;
/// The size to which the log is truncated when it is restarted.
const LOG_BYTES_KEPT: i64 = 64 << 20;
const WRITER_CACHE_KIB: i64 = 16 << 10;

/// The kind of access to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessMode {
    Write,
    Read,
    /// Write, on a disk without space for the index of SQLite's log, which processes share. The index is kept in memory
    /// instead, and a lock on the file excludes all other processes.
    WriteExclusive,
    ReadExclusive,
    /// Reading where not even SQLite's lock files can be created. No process may write at the same time.
    Immutable,
}

impl AccessMode {
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteExclusive)
    }

    fn is_exclusive(self) -> bool {
        matches!(self, Self::WriteExclusive | Self::ReadExclusive)
    }
}

/// A file that was opened and is a store.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) connection: Connection,
    pub(crate) access: AccessMode,
    pub(crate) facts: StoreFacts,
}

/// Opens the file, creates a store in it if requested and needed, and checks it.
pub(crate) fn open(path: &Path, options: &SqliteOptions, layout: Option<SplitLayout>) -> Result<OpenedFile> {
    check_version(options)?;
    check_path(path, options)?;
    let access = if options.read_only { AccessMode::Read } else { AccessMode::Write };
    let create = CreatePolicy { allowed: options.create && !options.read_only, layout };
    let not_created = CreatePolicy { allowed: false, layout };
    make_if_missing(path, create, options.durability)
        .and_then(|()| open_as(path, access, create, options.busy_timeout))
        .or_else(|failure| match failure {
            Failure::Sqlite(error) if needs_rollback(&error) => {
                roll_back(path, options.busy_timeout)?;
                open_as(path, access, not_created, options.busy_timeout)
            }
            failure if failure.is_full() && !is_empty(path) => {
                let alone = if access.writes() { AccessMode::WriteExclusive } else { AccessMode::ReadExclusive };
                open_as(path, alone, not_created, options.busy_timeout)
            }
            Failure::Sqlite(error) if needs_immutable(&error, path) => {
                open_as(path, AccessMode::Immutable, not_created, options.busy_timeout)
            }
            other => Err(other),
        })
        .map_err(|failure| match &failure {
            Failure::Sqlite(error) if primary_code(error) == Some(ffi::SQLITE_NOTADB) => {
                Error::new(ErrorKind::NotAStore, format!("{} is not an SQLite database", path.display()))
                    .with_hint("name an atsdb store, or a file that does not exist yet")
            }
            _ => failure.into_error(path),
        })
}

/// Refuses a version of SQLite that could damage the store, or that cannot read it.
fn check_version(options: &SqliteOptions) -> Result<()> {
    let (number, version) = (rusqlite::version_number(), rusqlite::version());
    let is_bundled = cfg!(feature = "bundled");
    if number >= SQLITE_VERSION_MIN || (!is_bundled && options.read_only && number >= SQLITE_VERSION_MIN_TO_READ) {
        return Ok(());
    }
    if !is_bundled && options.read_only {
        let message = format!("SQLite {version} cannot read a store");
        return Err(Error::usage(message).with_hint("use SQLite 3.37 or later"));
    }
    let message = format!("SQLite {version} is linked; versions before 3.51.3 can damage a store");
    Err(Error::internal(message).with_hint("build with the bundled SQLite"))
}

fn check_path(path: &Path, options: &SqliteOptions) -> Result<()> {
    let location = path.display();
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::new(ErrorKind::NotAStore, format!("{location} is a directory")).with_hint("name a file in it"))
        }
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::new(ErrorKind::NotAStore, format!("{location} is not a regular file")))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            require_folder(path)?;
            if options.read_only || !options.create {
                return Err(Error::not_found(format!("there is no store {location}")).with_hint("check the path"));
            }
            Ok(())
        }
        Err(error) => Err(Error::new(ErrorKind::Unavailable, format!("cannot read {location}: {error}"))
            .with_hint("check the path, and that you may enter each folder in it")
            .with_source(error)),
    }
}

/// Returns whether SQLite failed because it cannot create lock files beside the store, and there is no log with content
/// that would have to be read too.
fn needs_immutable(error: &rusqlite::Error, path: &Path) -> bool {
    let cannot_open = matches!(primary_code(error), Some(ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY));
    cannot_open && is_empty(&log_path(path)) && path.exists() && refuses_files(path)
}

/// Returns whether no file can ever be created beside the store. Running out of file handles is no reason to read
/// without locks.
fn refuses_files(path: &Path) -> bool {
    let is_lasting = |error: std::io::Error| {
        matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
    };
    refused_beside(path).is_some_and(is_lasting)
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |metadata| metadata.len() == 0)
}

/// Whether a missing store is created, and with which layout.
#[derive(Debug, Clone, Copy)]
struct CreatePolicy {
    allowed: bool,
    layout: Option<SplitLayout>,
}

/// Creates the store if it is missing. A log or a rollback journal left by another file would be mistaken for the new
/// file's. SQLite removes them if it finds no file or an empty one, and locks others out while it does; in that case
/// SQLite creates the store in place.
fn make_if_missing(path: &Path, create: CreatePolicy, durability: Durability) -> Attempt<()> {
    let is_left = |ending| sibling_path(path, ending).exists();
    // The order matters: the log of a file that another process creates at the same time appears after the file.
    if create.allowed && !is_left("-wal") && !is_left("-journal") && !path.exists() {
        create::create(path, create.layout, durability)?;
    }
    Ok(())
}

/// Returns whether a writer ended within a transaction that was not in a write-ahead log. A read-only connection cannot
/// roll it back.
fn needs_rollback(error: &rusqlite::Error) -> bool {
    extended_code(error) == Some(ffi::SQLITE_READONLY_ROLLBACK)
}

/// Rolls that transaction back.
fn roll_back(path: &Path, busy_timeout: Duration) -> Attempt<()> {
    schema::is_blank(&connect(path, AccessMode::Write, false, busy_timeout)?)?;
    Ok(())
}

fn open_as(path: &Path, access: AccessMode, create: CreatePolicy, busy_timeout: Duration) -> Attempt<OpenedFile> {
    let is_new = create.allowed && !path.exists();
    let connection = connect(path, access, create.allowed, busy_timeout)?;
    if is_new {
        // This happens while the file is empty. Its log and the log's index inherit the permissions of the file.
        make_private(path)?;
    }
    if schema::is_blank(&connection)? {
        // SQLite considers a file of one byte empty, and would overwrite it.
        let one_byte = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 1);
        if one_byte || !create.allowed {
            let size = if one_byte { "a file of one byte" } else { "an empty file" };
            let message = format!("{} is {size}, not an atsdb store", path.display());
            let hint = "check the path; a missing file becomes a store, so delete this one if nobody needs it";
            return Err(Error::new(ErrorKind::NotAStore, message).with_hint(hint).into());
        }
        schema::create(&connection, create.layout)?;
    }
    let facts = schema::check(&connection, path)?;
    // A file without write permission is opened for reading.
    let access = if access.writes() && connection.is_readonly("main")? { AccessMode::Read } else { access };
    if access.writes() {
        use_log(&connection, path, busy_timeout)?;
        prepare_to_write(&connection)?;
        // This read checks whether the log's own files can be created.
        connection.query_row("SELECT count(*) FROM atsdb_store", [], |_| Ok(()))?;
    }
    Ok(OpenedFile { connection, access, facts })
}

/// Configures the writing connection. The writer runs checkpoints itself, since SQLite would not report that one
/// failed.
pub(crate) fn prepare_to_write(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
}

/// Restricts a file to its owner. It opens no handle of the file, since closing one would release SQLite's locks.
fn make_private(path: &Path) -> Attempt<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(|error| {
        let message = format!("cannot make {} private: {error}", path.display());
        Error::new(ErrorKind::Unavailable, message).with_source(error)
    })?;
    Ok(())
}

/// Switches the file to a write-ahead log. The file keeps this mode. SQLite needs exclusive access for the switch, and
/// does not always wait for it.
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

/// Requests a write-ahead log and returns the mode that the connection uses now. The mode is reported before it is
/// committed: only the end of the statement shows whether it was.
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
    access: AccessMode,
    create: bool,
    busy_timeout: Duration,
) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags |= match access {
        // An exclusive lock requires that the file is open for writing.
        AccessMode::Write | AccessMode::WriteExclusive | AccessMode::ReadExclusive => OpenFlags::SQLITE_OPEN_READ_WRITE,
        AccessMode::Read | AccessMode::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    if create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let connection = if access == AccessMode::Immutable {
        Connection::open_with_flags(immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?
    } else if access.is_exclusive() {
        Connection::open_with_flags_and_vfs(path, flags, "unix-excl")?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    // `Connection::busy_timeout` needs a function that hosts of an extension may lack: SQLite has it since 3.44.
    connection.pragma_update(None, "busy_timeout", i32::try_from(busy_timeout.as_millis()).unwrap_or(i32::MAX))?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.execute_batch("PRAGMA foreign_keys = OFF")?;
    // Otherwise a statement on a column of a partial index is prepared again whenever a value is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

fn immutable_uri(path: &Path) -> String {
    /// All bytes except those that need no escape in the path of a URI.
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    format!("file:{}?immutable=1", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}

/// The write-ahead log of a file. SQLite resolves links before it names the log.
pub(crate) fn log_path(path: &Path) -> PathBuf {
    let resolved = std::fs::canonicalize(path);
    sibling_path(resolved.as_deref().unwrap_or(path), "-wal")
}

/// A file beside the store's, as SQLite names it.
pub(crate) fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
