//! The disk space of the store and its tables.

use crate::connection::{Connection, Server};
use crate::error::Attempt;
use atsdb_core::TableId;
use atsdb_core::store::StoreSize;
use std::collections::BTreeMap;

/// Returns the sizes in the connection's transaction.
///
/// Servers reserve the space of deleted rows for new ones, some for long, and update their statistics only now and
/// then. So the size of the page tables is what the server reports, but at most a tenth above their content.
pub(crate) fn size(connection: &mut dyn Connection, server: &dyn Server) -> Attempt<StoreSize> {
    let mut tables: BTreeMap<i64, u64> = BTreeMap::new();
    let sum = |of: &str| server.integer(&format!("sum({of})"));
    for sql in [
        "SELECT id, id - id FROM atsdb_table WHERE stage = 0".to_owned(),
        format!(
            "SELECT table_id, {} FROM atsdb_chunk WHERE stage = 0 GROUP BY table_id",
            sum("byte_count + octet_length(descriptor)")
        ),
        format!(
            "SELECT table_id, {} FROM atsdb_map
             WHERE table_id IN (SELECT id FROM atsdb_table WHERE stage = 0) GROUP BY table_id",
            sum("octet_length(value)")
        ),
    ] {
        for row in connection.query(&sql, &[])? {
            *tables.entry(row.int(0)?).or_default() += row.number::<u64>(1)?;
        }
    }
    let content_bytes = format!("SELECT {} FROM atsdb_chunk HAVING count(*) > 0", sum("byte_count"));
    let content_bytes =
        connection.query_first(&content_bytes, &[])?.map(|row| row.number::<u64>(0)).transpose()?.unwrap_or(0);
    let (mut pages, mut others) = (0, 0);
    for row in connection.query(server.occupied_bytes_query(), &[])? {
        let occupied_bytes_query = if row.int(0)? == 1 { &mut pages } else { &mut others };
        *occupied_bytes_query = row.number::<u64>(1)?;
    }
    let held: u64 = tables.values().sum();
    let total = (pages.clamp(content_bytes, content_bytes + content_bytes / 10) + others).max(held);
    let tables = tables.into_iter().map(|(id, byte_count)| (TableId(id), byte_count)).collect();
    Ok(StoreSize { total, tables })
}
