//! The tables: creating them and checking for them.

use atsdb_core::{Error, ErrorKind};
use atsdb_sqlstore::{Attempt, Connection, FORMAT, check_format};

/// Pages are compressed already, so the server need not try. They are stored outside of the rows. The tables of pages
/// are filled and emptied all the time, so autovacuum makes their space reusable soon.
const PAGES: &str = "(
    payload BIGINT NOT NULL, part BIGINT NOT NULL, bytes BYTEA NOT NULL, PRIMARY KEY (payload, part))
    WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02)";

const CREATE: &str = "
CREATE TABLE atsdb_store (name TEXT PRIMARY KEY, value BYTEA NOT NULL);
CREATE TABLE atsdb_number (name TEXT PRIMARY KEY, last BIGINT NOT NULL) WITH (fillfactor = 10);
CREATE TABLE atsdb_writer (id BYTEA PRIMARY KEY, last BIGINT NOT NULL, touched_ms BIGINT NOT NULL)
    WITH (fillfactor = 50);
CREATE TABLE atsdb_table (
    id BIGINT PRIMARY KEY, version BIGINT NOT NULL, stage BIGINT NOT NULL, name TEXT COLLATE \"C\" NOT NULL,
    name_key TEXT COLLATE \"C\" NOT NULL, definition TEXT COLLATE \"C\" NOT NULL, checksum BIGINT NOT NULL,
    UNIQUE (stage, name_key));
CREATE TABLE atsdb_map (
    table_id BIGINT NOT NULL, column_id BIGINT NOT NULL, id BIGINT NOT NULL, hash BIGINT NOT NULL,
    checksum BIGINT NOT NULL, value BYTEA NOT NULL, PRIMARY KEY (table_id, column_id, id));
CREATE INDEX atsdb_map_hash ON atsdb_map (table_id, column_id, hash);
CREATE TABLE atsdb_list (
    stage BIGINT NOT NULL, table_id BIGINT NOT NULL, column_id BIGINT NOT NULL, entry_count BIGINT NOT NULL,
    hash BIGINT NOT NULL, PRIMARY KEY (stage, table_id, column_id)) WITH (fillfactor = 25);
CREATE TABLE atsdb_chunk (
    id BIGINT PRIMARY KEY, stage BIGINT NOT NULL, table_id BIGINT NOT NULL, slice_start BIGINT NOT NULL,
    sealed BIGINT NOT NULL, row_count BIGINT NOT NULL, time_min BIGINT NOT NULL, time_max BIGINT NOT NULL,
    byte_count BIGINT NOT NULL, payload BIGINT NOT NULL, pages BYTEA NOT NULL, descriptor BYTEA NOT NULL);
CREATE INDEX atsdb_chunk_slice ON atsdb_chunk (stage, table_id, slice_start, id, time_min, time_max);
CREATE TABLE atsdb_fresh {pages};
ALTER TABLE atsdb_fresh ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE atsdb_sealed {pages};
ALTER TABLE atsdb_sealed ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE atsdb_batch (id BYTEA PRIMARY KEY, committed_ms BIGINT NOT NULL);
CREATE INDEX atsdb_batch_time ON atsdb_batch (committed_ms);
CREATE TABLE atsdb_stage (id BIGINT PRIMARY KEY, touched_ms BIGINT NOT NULL);
CREATE TABLE atsdb_garbage (payload BIGINT PRIMARY KEY, sealed BIGINT NOT NULL, byte_count BIGINT NOT NULL);
CREATE TABLE atsdb_dropped (table_id BIGINT PRIMARY KEY);
CREATE TABLE atsdb_lease (name BYTEA PRIMARY KEY, holder BYTEA NOT NULL, expires_ms BIGINT NOT NULL);
INSERT INTO atsdb_number VALUES ('chunk', 0), ('table', 0), ('stage', 0), ('lease', 0), ('reclaim', 0);
INSERT INTO atsdb_store VALUES
    ('uid', uuid_send(gen_random_uuid())), ('format', '{format}'),
    ('created', convert_to(to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), 'UTF8'));
";

/// Creates the tables, unless another process has just done so. Returns the store's uid.
pub(crate) fn create(connection: &mut dyn Connection, location: &str) -> Attempt<[u8; 16]> {
    connection.run(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock(hashtext('atsdb_store'))",
    )?;
    if let Some(uid) = check(connection, location)? {
        connection.run("COMMIT")?;
        return Ok(uid);
    }
    connection.run(&CREATE.replace("{pages}", PAGES).replace("{format}", &FORMAT.to_string()))?;
    connection.run("COMMIT")?;
    let uid = check(connection, location)?;
    Ok(uid.ok_or_else(|| Error::new(ErrorKind::NotAStore, format!("the store in {location} has disappeared")))?)
}

/// Refuses an incomplete store, or one of a newer format. Returns the store's uid, or `None` if there is no store.
pub(crate) fn check(connection: &mut dyn Connection, location: &str) -> Attempt<Option<[u8; 16]>> {
    let sql = "SELECT relname::text, (relpersistence = 'p')::int FROM pg_class
               WHERE relkind IN ('r', 'p') AND relname LIKE 'atsdb\\_%' AND pg_table_is_visible(oid)";
    let mut names = Vec::new();
    for mut row in connection.query(sql, &[])? {
        let name = row.text(0)?;
        if row.int(1)? == 0 {
            let message =
                format!("the table {name} of the store {location} is unlogged: a crash of the server would empty it");
            return Err(Error::new(ErrorKind::NotAStore, message)
                .with_hint(format!("ALTER TABLE {name} SET LOGGED"))
                .into());
        }
        names.push(name);
    }
    check_format(connection, &names, location)
}
