//! Translates flags and the environment to the settings for opening a store and for a session. A flag takes precedence
//! over its environment variable, which takes precedence over the default.

use crate::args::sql_text::{begins_as_sql, is_bare_verb, is_sql, unquoted_statement};
use crate::args::{QueryArgs, StoreArgs, WriteArgs};
use crate::console::failure;
use crate::session::files::HostFiles;
use atsdb::duration::parse_duration;
use atsdb::size::parse_size;
use atsdb::sql::{Session, SessionOptions};
use atsdb::{Database, Durability, Error, ErrorKind, NewStore, OpenOptions, Result};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// The time for which a program keeps its store open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenTime {
    /// The time of one command: too short to load the rows that tables declare by `preload`.
    Short,
    /// The time of a person's session.
    Long,
}

/// How a command uses its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads; the store must exist.
    Read,
    /// Writes; the store must exist.
    Change,
    /// Runs statements or commands that only read, with background maintenance; the store must exist.
    Use,
    /// Writes; a missing store is created.
    Create,
    /// Like `Create`, without background maintenance.
    CreateQuietly,
}

/// The requested durability.
pub(crate) fn durability(write: &WriteArgs) -> Result<Durability> {
    match write.durability.as_deref() {
        Some(text) => Durability::parse(text),
        None => Ok(Durability::default()),
    }
}

/// Size of the cache of decoded columns for a command that ends, which reads most columns once.
const CACHE_BYTES_SHORT: usize = 64 << 20;

/// Opens a store for one command.
pub(crate) fn open(url: &str, access: Access, store: &StoreArgs, write: Option<&WriteArgs>) -> Result<Database> {
    open_for(OpenTime::Short, url, access, store, write)
}

/// Opens a store.
pub(crate) fn open_for(
    stay: OpenTime,
    url: &str,
    access: Access,
    store: &StoreArgs,
    write: Option<&WriteArgs>,
) -> Result<Database> {
    if url == "-" {
        return Err(
            Error::usage("- is stdin, not a store").with_hint("name the store: a path such as air.db, or a URL")
        );
    }
    if is_bare_verb(url) {
        return Err(unquoted_statement());
    }
    if begins_as_sql(url) {
        return Err(Error::usage(format!("this is SQL, not a store: {url}")).with_hint(
            "the store comes first: atsdb sql air.db \"SELECT ...\"; atsdb ./NAME opens a file of any name",
        ));
    }
    if is_sql(url) {
        return Err(Error::usage(format!("this looks like SQL, not like a store: {url}"))
            .with_hint(format!("write ./{url} if it is a file")));
    }
    if matches!(access, Access::Create | Access::CreateQuietly) {
        refuse_rows_as_store(url)?;
    }
    let durability = write.map(durability).transpose()?.unwrap_or_default();
    let mut options = OpenOptions::new()
        .durability(durability)
        .create(matches!(access, Access::Create | Access::CreateQuietly))
        .read_only(access == Access::Read)
        .maintenance(matches!(access, Access::Create | Access::Use))
        .on_warning(failure::warn);
    if stay == OpenTime::Short {
        options = options.preload_bytes(0).cache_bytes(CACHE_BYTES_SHORT);
    }
    if let Some(bytes) = bytes_of("--cache", store.cache.as_deref())? {
        options = options.cache_bytes(bytes);
    }
    // A command without queries refuses a wrong limit, too.
    memory_bytes(store)?;
    temp_bytes(store)?;
    let database = options.open(url).map_err(|error| match error.kind() {
        ErrorKind::NotFound if access == Access::Use => {
            error.with_hint("check the name; statements and commands that only read create no store")
        }
        _ => not_a_database(error, url),
    })?;
    if access != Access::Read {
        database.warnings().iter().for_each(|warning| failure::warn(&warning.message));
    }
    Ok(database)
}

/// Refuses a store that does not exist and that [`Access::Create`] could not create.
pub(crate) fn check_new_store(url: &str) -> Result<()> {
    refuse_rows_as_store(url)?;
    NewStore::check_place(url)
}

/// Refuses a new store that is named like a file of rows, such as `air.csv`: its user wants the rows in such a file.
fn refuse_rows_as_store(url: &str) -> Result<()> {
    const ENDINGS: [&str; 9] = ["csv", "tsv", "json", "jsonl", "ndjson", "parquet", "arrow", "feather", "xlsx"];
    let path = Path::new(url);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    if url.contains(':') || path.exists() || !ENDINGS.contains(&ending.as_str()) {
        return Ok(());
    }
    Err(Error::usage(format!("{url} has the name of a data file, not of a store")).with_hint(format!(
        "name the store air.db or similar; to write rows to this file: atsdb export STORE TABLE -o {url}"
    )))
}

/// Explains what to do with a file of rows that was named as the store.
fn not_a_database(error: Error, url: &str) -> Error {
    if error.kind() != ErrorKind::NotAStore || !error.message().ends_with("is not an SQLite database") {
        return error;
    }
    error.with_hint(format!(
        "the store comes first; rows of a file: atsdb sql \"SELECT * FROM '{url}'\", or atsdb import air.db TABLE {url}"
    ))
}

/// A session over an open store.
///
/// Opens a session. With read-only access, statements cannot write files either.
pub(crate) fn session(database: &Database, access: Access, store: &StoreArgs, query: &QueryArgs) -> Result<Session> {
    let (memory_bytes, temp_bytes) = (memory_bytes(store)?, temp_bytes(store)?);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let time_limit = match query.timeout.as_deref() {
        None | Some("") => None,
        Some(text) => Some(parse_duration(text).map_err(|error: Error| error.context("--timeout"))?),
    };
    let options = SessionOptions {
        memory_bytes,
        temp_bytes,
        threads,
        file_access: true,
        time_limit,
        ..SessionOptions::default()
    };
    let session = database.session(options)?;
    let space = Arc::clone(session.temporary_space());
    let files = Arc::new(HostFiles { may_write: access != Access::Read, space, noted: Mutex::default() });
    Ok(session.with_files(files.clone()).with_file_writer(files))
}

/// The memory for queries.
pub(crate) fn memory_bytes(store: &StoreArgs) -> Result<usize> {
    Ok(bytes_of("--memory", store.memory.as_deref())?.unwrap_or_else(|| SessionOptions::default().memory_bytes))
}

/// The space for temporary files of queries; `None` means the default.
pub(crate) fn temp_bytes(store: &StoreArgs) -> Result<Option<u64>> {
    size_of("--temp", store.temp.as_deref())
}

fn bytes_of(flag: &str, text: Option<&str>) -> Result<Option<usize>> {
    // A larger limit than the address space is the same as none.
    Ok(size_of(flag, text)?.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
}

fn size_of(flag: &str, text: Option<&str>) -> Result<Option<u64>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    parse_size(text).map(Some).map_err(|error: Error| error.context(flag))
}
