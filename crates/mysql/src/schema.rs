//! The tables: creating them and checking for them.

use atsdb_core::{Error, ErrorKind};
use atsdb_sqlstore::{Attempt, Connection, FORMAT, check_format};

/// The statements can be repeated: a server rolls back no CREATE TABLE. So a store exists once it has a format, which
/// is written last.
const CREATE: &str = "
CREATE TABLE IF NOT EXISTS atsdb_store (name VARBINARY(32) PRIMARY KEY, value VARBINARY(64) NOT NULL) {kind};
CREATE TABLE IF NOT EXISTS atsdb_number (name VARBINARY(32) PRIMARY KEY, last BIGINT NOT NULL) {kind};
CREATE TABLE IF NOT EXISTS atsdb_writer (
    id BINARY(16) PRIMARY KEY, last BIGINT NOT NULL, touched_ms BIGINT NOT NULL) {kind};
CREATE TABLE IF NOT EXISTS atsdb_table (
    id BIGINT PRIMARY KEY, version BIGINT NOT NULL, stage BIGINT NOT NULL, name VARBINARY(800) NOT NULL,
    name_key VARBINARY(800) NOT NULL, definition LONGBLOB NOT NULL, checksum BIGINT NOT NULL, UNIQUE KEY atsdb_table_name (stage, name_key)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_map (
    table_id BIGINT NOT NULL, column_id BIGINT NOT NULL, id BIGINT NOT NULL, hash BIGINT NOT NULL,
    checksum BIGINT NOT NULL, value LONGBLOB NOT NULL, PRIMARY KEY (table_id, column_id, id),
    KEY atsdb_map_hash (table_id, column_id, hash)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_list (
    stage BIGINT NOT NULL, table_id BIGINT NOT NULL, column_id BIGINT NOT NULL, entry_count BIGINT NOT NULL,
    hash BIGINT NOT NULL, PRIMARY KEY (stage, table_id, column_id)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_chunk (
    id BIGINT PRIMARY KEY, stage BIGINT NOT NULL, table_id BIGINT NOT NULL, slice_start BIGINT NOT NULL,
    sealed BIGINT NOT NULL, row_count BIGINT NOT NULL, time_min BIGINT NOT NULL, time_max BIGINT NOT NULL,
    byte_count BIGINT NOT NULL, payload BIGINT NOT NULL, pages MEDIUMBLOB NOT NULL, descriptor LONGBLOB NOT NULL,
    KEY atsdb_chunk_slice (stage, table_id, slice_start, id, time_min, time_max)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_fresh (
    payload BIGINT NOT NULL, part BIGINT NOT NULL, bytes MEDIUMBLOB NOT NULL, PRIMARY KEY (payload, part)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_sealed (
    payload BIGINT NOT NULL, part BIGINT NOT NULL, bytes MEDIUMBLOB NOT NULL, PRIMARY KEY (payload, part)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_batch (
    id VARBINARY(200) PRIMARY KEY, committed_ms BIGINT NOT NULL, KEY atsdb_batch_time (committed_ms)) {kind};
CREATE TABLE IF NOT EXISTS atsdb_stage (id BIGINT PRIMARY KEY, touched_ms BIGINT NOT NULL) {kind};
CREATE TABLE IF NOT EXISTS atsdb_garbage (
    payload BIGINT PRIMARY KEY, sealed BIGINT NOT NULL, byte_count BIGINT NOT NULL) {kind};
CREATE TABLE IF NOT EXISTS atsdb_dropped (table_id BIGINT PRIMARY KEY) {kind};
CREATE TABLE IF NOT EXISTS atsdb_lease (
    name VARBINARY(400) PRIMARY KEY, holder VARBINARY(400) NOT NULL, expires_ms BIGINT NOT NULL) {kind};
START TRANSACTION;
INSERT IGNORE INTO atsdb_number VALUES ('chunk', 0), ('table', 0), ('stage', 0), ('lease', 0), ('reclaim', 0);
INSERT IGNORE INTO atsdb_store VALUES
    ('uid', RANDOM_BYTES(16)), ('node', ''), ('created', DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%sZ'));
INSERT IGNORE INTO atsdb_store VALUES ('format', '{format}');
COMMIT
";

const TABLE_OPTIONS: &str = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Creates the tables, also if another process does so at the same time. Returns the store's uid.
pub(crate) fn create(connection: &mut dyn Connection, location: &str) -> Attempt<[u8; 16]> {
    connection.run(&CREATE.replace("{kind}", TABLE_OPTIONS).replace("{format}", &FORMAT.to_string()))?;
    let uid = check(connection, location)?;
    Ok(uid.ok_or_else(|| Error::new(ErrorKind::NotAStore, format!("the store in {location} has disappeared")))?)
}

/// Refuses an incomplete store, or one of a newer format. Returns the store's uid, or `None` if there is no store.
pub(crate) fn check(connection: &mut dyn Connection, location: &str) -> Attempt<Option<[u8; 16]>> {
    let sql = "SELECT CAST(table_name AS BINARY), CAST(coalesce(engine, '') AS BINARY) FROM information_schema.tables
               WHERE table_schema = DATABASE() AND table_name LIKE 'atsdb\\_%'";
    let mut names = Vec::new();
    for mut row in connection.query(sql, &[])? {
        let (name, engine) = (row.text(0)?, row.text(1)?);
        if !["InnoDB", "SPIDER", "ROCKSDB"].iter().any(|safe| engine.eq_ignore_ascii_case(safe)) {
            let message = format!(
                "the table {name} of the store {location} has the engine {engine}, which does not keep the store's promises"
            );
            return Err(Error::new(ErrorKind::NotAStore, message)
                .with_hint(format!("ALTER TABLE {name} ENGINE = InnoDB"))
                .into());
        }
        names.push(name);
    }
    // Tables without a format belong to a creation that has not finished.
    let begun = ["atsdb_store", "atsdb_number"].iter().filter(|table| names.iter().any(|name| name == *table)).count();
    if begun == 1 { Ok(None) } else { check_format(connection, &names, location) }
}
