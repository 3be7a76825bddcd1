//! Leases: which process runs the maintenance.

use crate::error::Attempt;
use crate::writer::{SyncMode, Writer};
use atsdb_core::clock_skew::{lease_end, lease_end_max};
use rusqlite::{Connection, OptionalExtension, params};

/// Takes or extends a lease. Returns whether the holder has it now.
pub(crate) fn acquire(writer: &mut Writer, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Attempt<bool> {
    // It is checked without a lock first, since waiting processes try often.
    let held = writer.read(|connection| {
        let sql = "SELECT 1 FROM atsdb_lease WHERE name = ?1 AND holder <> ?2 AND expires_ms > ?3 AND expires_ms <= ?4";
        let values = params![name, holder, now_ms, lease_end_max(now_ms)];
        Ok(connection.prepare_cached(sql)?.query_row(values, |_| Ok(())).optional()?)
    })?;
    if held.is_some() {
        return Ok(false);
    }
    writer.transaction(SyncMode::Deferred, |connection| {
        let sql = "INSERT INTO atsdb_lease (name, holder, expires_ms) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO
                   UPDATE SET holder = excluded.holder, expires_ms = excluded.expires_ms
                   WHERE holder = excluded.holder OR expires_ms <= ?4 OR expires_ms > ?5";
        let values = params![name, holder, lease_end(now_ms, ttl_ms), now_ms, lease_end_max(now_ms)];
        Ok(connection.prepare_cached(sql)?.execute(values)? > 0)
    })
}

/// Releases a lease, if the holder has it.
pub(crate) fn release(connection: &Connection, name: &str, holder: &str) -> Attempt<()> {
    let sql = "DELETE FROM atsdb_lease WHERE name = ?1 AND holder = ?2";
    connection.prepare_cached(sql)?.execute(params![name, holder])?;
    Ok(())
}
