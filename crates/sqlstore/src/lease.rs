//! Leases: which process runs the maintenance.

use crate::connection::{Connection, Value};
use crate::error::Attempt;
use crate::pool::Pool;
use atsdb_core::clock_skew::{lease_end, lease_end_max};

/// Takes or extends a lease. Returns whether the holder has it now.
pub(crate) fn acquire(pool: &Pool, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Attempt<bool> {
    let (name, holder) = (Value::Bytes(name.as_bytes()), Value::Bytes(holder.as_bytes()));
    // It is checked without a lock first, since waiting processes try often.
    let held = pool.read(|connection| {
        let sql = "SELECT 1 FROM atsdb_lease WHERE name = $1 AND holder <> $2 AND expires_ms > $3 AND expires_ms <= $4";
        connection.exists(sql, &[name, holder, now_ms.into(), lease_end_max(now_ms).into()])
    })?;
    if held {
        return Ok(false);
    }
    let expires_ms = lease_end(now_ms, ttl_ms);
    pool.transaction(|connection| {
        // This row decides which process is first with a lease of a new name.
        connection.query("SELECT last FROM atsdb_number WHERE name = 'lease' FOR UPDATE", &[])?;
        let sql = "UPDATE atsdb_lease SET holder = $1, expires_ms = $2
                   WHERE name = $3 AND (holder = $1 OR expires_ms <= $4 OR expires_ms > $5)";
        let latest = lease_end_max(now_ms);
        if connection.execute(sql, &[holder, expires_ms.into(), name, now_ms.into(), latest.into()])? > 0 {
            return Ok(true);
        }
        if connection.exists("SELECT 1 FROM atsdb_lease WHERE name = $1", &[name])? {
            return Ok(false);
        }
        let sql = "INSERT INTO atsdb_lease (name, holder, expires_ms) VALUES ($1, $2, $3)";
        connection.execute(sql, &[name, holder, expires_ms.into()])?;
        Ok(true)
    })
}

/// Releases a lease, if the holder has it.
pub(crate) fn release(connection: &mut dyn Connection, name: &str, holder: &str) -> Attempt<()> {
    let values = [Value::Bytes(name.as_bytes()), Value::Bytes(holder.as_bytes())];
    connection.execute("DELETE FROM atsdb_lease WHERE name = $1 AND holder = $2", &values)?;
    Ok(())
}
