//! The tables of the file: creating them and checking for them.

use crate::error::{Attempt, Failure};
use crate::split::layout::{self, SplitLayout};
use atsdb_core::{Error, ErrorKind};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::path::Path;

/// The format of new stores, in one file or split, and the newest that this version reads. Format 1 is one file, format
/// 2 a split store; in both, all pages lie in rows or files of their own.
pub const FORMAT: i64 = 3;

/// The first format in which the row of a small chunk has its pages.
const FORMAT_ROW_PAGES: i64 = 3;

/// `PRAGMA application_id` of a store: the letters `ATSD`.
pub const APPLICATION_ID: i32 = 0x4154_5344;

/// The size of the file's pages, and of those in its log, in bytes.
pub(crate) const PAGE_BYTES: u64 = 4_096;

/// The number of bits of a page key that are the column's number; the rest is the chunk's payload number.
pub(crate) const COLUMN_BITS: u32 = 16;

const TABLES: [&str; 10] = [
    "atsdb_batch",
    "atsdb_chunk",
    "atsdb_garbage",
    "atsdb_lease",
    "atsdb_list",
    "atsdb_map",
    "atsdb_page",
    "atsdb_stage",
    "atsdb_store",
    "atsdb_table",
];

const CREATE: &str = "
CREATE TABLE atsdb_store (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE atsdb_table (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, name_key TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1, definition TEXT NOT NULL, checksum INTEGER NOT NULL, stage INTEGER) STRICT;
CREATE UNIQUE INDEX atsdb_table_name ON atsdb_table (name_key) WHERE stage IS NULL;
CREATE TABLE atsdb_map (
    table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, id INTEGER NOT NULL, value BLOB NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (table_id, column_id, id)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX atsdb_map_value ON atsdb_map (table_id, column_id, value);
CREATE TABLE atsdb_chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, slice_start INTEGER NOT NULL,
    sealed INTEGER NOT NULL, row_count INTEGER NOT NULL, time_min INTEGER NOT NULL, time_max INTEGER NOT NULL,
    byte_count INTEGER NOT NULL, page_count INTEGER NOT NULL, payload INTEGER NOT NULL, stage INTEGER,
    descriptor BLOB NOT NULL, pages BLOB) STRICT;
CREATE INDEX atsdb_chunk_slice ON atsdb_chunk (table_id, slice_start, id, time_min, time_max) WHERE stage IS NULL;
CREATE INDEX atsdb_chunk_stage ON atsdb_chunk (stage) WHERE stage IS NOT NULL;
CREATE TABLE atsdb_page (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE atsdb_batch (id TEXT PRIMARY KEY, committed_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX atsdb_batch_time ON atsdb_batch (committed_ms);
CREATE TABLE atsdb_stage (id INTEGER PRIMARY KEY AUTOINCREMENT, touched_ms INTEGER NOT NULL) STRICT;
CREATE TABLE atsdb_garbage (payload INTEGER PRIMARY KEY, byte_count INTEGER NOT NULL) STRICT;
CREATE TABLE atsdb_lease (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_ms INTEGER NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE TABLE atsdb_list (
    stage INTEGER NOT NULL, table_id INTEGER NOT NULL, column_id INTEGER NOT NULL, entry_count INTEGER NOT NULL,
    hash INTEGER NOT NULL, PRIMARY KEY (stage, table_id, column_id)) STRICT, WITHOUT ROWID;
INSERT INTO atsdb_store VALUES ('uid', randomblob(16)), ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
";

/// The additional tables of a catalogue: the page files by what they contain, and the chunks by their location.
const CREATE_SPLIT: &str = "
CREATE TABLE atsdb_page_file (
    id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, part INTEGER NOT NULL, sealed INTEGER NOT NULL)
    STRICT;
CREATE INDEX atsdb_page_file_part ON atsdb_page_file (table_id, part, sealed, id);
CREATE INDEX atsdb_chunk_payload ON atsdb_chunk (payload, byte_count);
";

/// Returns whether the file contains no database at all: it is empty, or was just created.
pub(crate) fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    // The list of tables is read first, since PRAGMA page_count does not look at the header.
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    Ok(objects == 0 && pages == 0)
}

/// Creates the tables, unless another process has just done so.
pub(crate) fn create(connection: &Connection, layout: Option<SplitLayout>) -> rusqlite::Result<()> {
    // Both settings are fixed by the file's first page. `auto_vacuum` writes that page. It is done inside the
    // transaction, so that a file that is not a store yet stays empty whenever this process ends.
    connection.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}"))?;
    let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    transaction.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    if is_blank_inside(&transaction)? {
        transaction.execute_batch(CREATE)?;
        transaction.execute("INSERT INTO atsdb_store VALUES ('format', ?1)", [FORMAT])?;
        if let Some(layout) = layout {
            transaction.execute_batch(CREATE_SPLIT)?;
            layout::record(&transaction, layout)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}

fn is_blank_inside(connection: &Connection) -> rusqlite::Result<bool> {
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(objects == 0)
}

/// The facts that a store's file records about itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreFacts {
    pub(crate) uid: [u8; 16],
    /// The layout of a split store's catalogue.
    pub(crate) layout: Option<SplitLayout>,
    /// Whether the rows of small chunks have their pages.
    pub(crate) has_row_pages: bool,
}

/// Refuses a file that is not a store, or one of a newer format.
pub(crate) fn check(connection: &Connection, path: &Path) -> Attempt<StoreFacts> {
    let location = path.display();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'atsdb\\_%' ESCAPE '\\' ORDER BY 1";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let application_id: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if !names.iter().any(|name| name == "atsdb_store") {
        return Err(Failure::Refused(if application_id == APPLICATION_ID {
            Error::corrupt(format!("the store {location} lacks its table atsdb_store"))
        } else {
            Error::new(ErrorKind::NotAStore, format!("{location} is an SQLite database, but not an atsdb store"))
                .with_hint(
                    "name a new file as the store, and import the tables of this one: atsdb import STORE TABLE \
                     sqlite:FILE#TABLE",
                )
        }));
    }
    let format: i64 =
        connection.query_row("SELECT value FROM atsdb_store WHERE key = 'format'", [], |row| row.get(0))?;
    if format > FORMAT {
        let message = format!("{location} has store format {format}; this program reads formats up to {FORMAT}");
        return Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb").into());
    }
    if let Some(missing) = TABLES.iter().find(|table| !names.iter().any(|name| name == *table)) {
        return Err(Error::corrupt(format!("the store {location} lacks its table {missing}")).into());
    }
    let layout = layout::recorded(connection)?.transpose()?;
    if layout.is_some() && !names.iter().any(|name| name == "atsdb_page_file") {
        return Err(Error::corrupt(format!("the store {location} lacks its table atsdb_page_file")).into());
    }
    let uid: Option<[u8; 16]> = connection
        .query_row("SELECT value FROM atsdb_store WHERE key = 'uid' AND length(value) = 16", [], |row| row.get(0))
        .optional()?;
    let uid = uid.ok_or_else(|| Error::corrupt(format!("the store {location} lacks its uid")))?;
    Ok(StoreFacts { uid, layout, has_row_pages: format >= FORMAT_ROW_PAGES })
}
