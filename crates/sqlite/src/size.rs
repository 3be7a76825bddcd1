//! What the store and its tables occupy.

use crate::error::Attempt;
use crate::split::file::{BLOCK_HEAD_BYTES, BLOCK_PAGE_BYTES, FILE_HEAD_BYTES};
use crate::split::place::PLACED;
use atsdb_core::TableId;
use atsdb_core::store::StoreSize;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Sizes as of the connection's read transaction; what only the log has counts too.
pub(crate) fn size(connection: &Connection, split: bool) -> Attempt<StoreSize> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let pages = number("PRAGMA page_count")? - number("PRAGMA freelist_count")?;
    let garbage = number(&format!("SELECT coalesce(sum(byte_count), 0) FROM atsdb_garbage WHERE payload < {PLACED}"))?;
    let placed = if split { in_page_files(connection)? } else { 0 };
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

/// What the chunks in page files occupy there, and the files' heads.
fn in_page_files(connection: &Connection) -> Attempt<i64> {
    let sql = format!(
        "SELECT (SELECT coalesce(sum(byte_count + {BLOCK_HEAD_BYTES} + {BLOCK_PAGE_BYTES} * page_count), 0)
                 FROM atsdb_chunk WHERE payload >= {PLACED})
              + (SELECT count(*) * {FILE_HEAD_BYTES} FROM atsdb_page_file)"
    );
    Ok(connection.query_row(&sql, [], |row| row.get(0))?)
}
