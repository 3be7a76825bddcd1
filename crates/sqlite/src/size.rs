//! The disk space of the store and its tables.

use crate::error::Attempt;
use crate::split::file::{BLOCK_HEAD_BYTES, BLOCK_PAGE_BYTES, FILE_HEAD_BYTES};
use crate::split::page_location::PAGE_LOCATION_MIN;
use atsdb_core::TableId;
use atsdb_core::store::StoreSize;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Returns the sizes in the connection's read transaction. Data that is only in the log counts too.
pub(crate) fn size(connection: &Connection, split: bool) -> Attempt<StoreSize> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let pages = number("PRAGMA page_count")? - number("PRAGMA freelist_count")?;
    let garbage =
        number(&format!("SELECT coalesce(sum(byte_count), 0) FROM atsdb_garbage WHERE payload < {PAGE_LOCATION_MIN}"))?;
    let placed = if split { page_file_bytes(connection)? } else { 0 };
    let total = pages * number("PRAGMA page_size")? - garbage + placed;

    let mut tables: BTreeMap<i64, u64> = BTreeMap::new();
    for sql in [
        "SELECT id, 0 FROM atsdb_table WHERE stage IS NULL",
        "SELECT table_id, sum(byte_count + length(descriptor)) FROM atsdb_chunk WHERE stage IS NULL GROUP BY 1",
        "SELECT table_id, sum(length(value)) FROM atsdb_map
         WHERE table_id IN (SELECT id FROM atsdb_table WHERE stage IS NULL) GROUP BY 1",
    ] {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            *tables.entry(row.get(0)?).or_default() += row.get::<_, u64>(1)?;
        }
    }
    let tables = tables.into_iter().map(|(id, byte_count)| (TableId(id), byte_count)).collect();
    Ok(StoreSize { total: total.max(0) as u64, tables })
}

/// Returns the size of the chunks in page files and of the files' headers, in bytes.
fn page_file_bytes(connection: &Connection) -> Attempt<i64> {
    let sql = format!(
        "SELECT (SELECT coalesce(sum(byte_count + {BLOCK_HEAD_BYTES} + {BLOCK_PAGE_BYTES} * page_count), 0)
                 FROM atsdb_chunk WHERE payload >= {PAGE_LOCATION_MIN})
              + (SELECT count(*) * {FILE_HEAD_BYTES} FROM atsdb_page_file)"
    );
    Ok(connection.query_row(&sql, [], |row| row.get(0))?)
}
