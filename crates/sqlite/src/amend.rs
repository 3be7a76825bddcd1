//! Adding pages to a chunk that is visible.

use crate::chunk_write::page_key;
use crate::error::{Attempt, Failure, primary_code};
use crate::row_pages;
use crate::split::page_location::PageLocation;
use crate::split::placed_pages::AmendedBlock;
use crate::table;
use crate::writer::WriteTransaction;
use atsdb_core::refusal;
use atsdb_core::{Amendment, Change, ChunkId, Error};
use rusqlite::{Connection, OptionalExtension, ffi, params};

/// Adds the pages to those of the chunk, or switches to the block of a page file that contains all of them. It is a
/// conflict if the chunk no longer exists or has changed.
pub(crate) fn amend(
    connection: &WriteTransaction<'_>,
    change: &Change,
    amendment: &Amendment,
    amended_block: Option<&AmendedBlock>,
) -> Attempt<()> {
    let Amendment { table, chunk, from, descriptor, descriptor_bytes, pages } = amendment;
    table::require(connection, *table, None)?;
    let sql = "SELECT payload, page_count, byte_count FROM atsdb_chunk
               WHERE id = ?1 AND table_id = ?2 AND stage IS NULL AND descriptor = ?3";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![chunk.0, table.0, from], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((payload, page_count, byte_count)): Option<(i64, u64, u64)> = found else {
        return Err(refusal::chunk_changed(&change.table_name(*table), *chunk).into());
    };
    let added: u64 = pages.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let expected = (page_count + pages.len() as u64, byte_count + added);
    if expected != (descriptor.pages.len() as u64, descriptor.byte_count()) {
        return Err(amendment.contradiction().into());
    }
    let payload = match PageLocation::of(payload) {
        None => {
            if connection.has_row_pages {
                move_out_of_row(connection, *chunk, payload)?;
            }
            insert(connection, amendment, payload)?;
            payload
        }
        Some(_) => {
            let amended_block =
                amended_block.filter(|amended_block| amended_block.base == payload).ok_or(Failure::Relocated)?;
            let amended = amended_block.payload.ok_or_else(|| amendment.contradiction())?;
            let sql = "INSERT INTO atsdb_garbage (payload, byte_count) VALUES (?1, ?2)";
            connection.prepare_cached(sql)?.execute(params![payload, byte_count as i64])?;
            amended
        }
    };
    let sql = "UPDATE atsdb_chunk SET descriptor = ?2, page_count = ?3, byte_count = ?4, payload = ?5 WHERE id = ?1";
    let values = params![chunk.0, descriptor_bytes, expected.0 as i64, expected.1 as i64, payload];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Moves the pages of a small chunk from its row to rows of their own.
fn move_out_of_row(connection: &Connection, chunk: ChunkId, payload: i64) -> Attempt<()> {
    let sql = "SELECT pages FROM atsdb_chunk WHERE id = ?1";
    let in_row: Option<Vec<u8>> = connection.prepare_cached(sql)?.query_row([chunk.0], |row| row.get(0))?;
    let Some(in_row) = in_row else { return Ok(()) };
    let pages = row_pages::decode(&in_row);
    let pages = pages.ok_or_else(|| Error::corrupt(format!("the pages of chunk {} are damaged", chunk.0)))?;
    let mut insert = connection.prepare_cached("INSERT INTO atsdb_page (id, bytes) VALUES (?1, ?2)")?;
    for (column, bytes) in pages {
        insert.execute(params![page_key(payload, column), bytes])?;
    }
    connection.prepare_cached("UPDATE atsdb_chunk SET pages = NULL WHERE id = ?1")?.execute([chunk.0])?;
    Ok(())
}

/// Adds the pages to those beside the chunk.
fn insert(connection: &Connection, amendment: &Amendment, payload: i64) -> Attempt<()> {
    let mut insert = connection.prepare_cached("INSERT INTO atsdb_page (id, bytes) VALUES (?1, ?2)")?;
    for (column, bytes) in &amendment.pages {
        match insert.execute(params![page_key(payload, *column), bytes]) {
            Err(error) if primary_code(&error) == Some(ffi::SQLITE_CONSTRAINT) => {
                return Err(amendment.contradiction().into());
            }
            other => other?,
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::layout::{SplitBy, SplitLayout};
    use crate::writer::{SyncMode, Writer};
    use atsdb_core::TableId;
    use atsdb_testkit::sample::{Plan, amended, amendment};

    #[test]
    fn a_chunk_that_was_moved_meanwhile_is_looked_at_again() {
        let mut writer = Writer::in_memory(Some(SplitLayout::new(SplitBy::Slice)));
        let connection = writer.connection();
        let (chunk, location) = (Plan::new(1).chunk(TableId(1)), PageLocation { file: 2, offset: 48 }.payload());
        let bytes = chunk.descriptor.byte_count() as i64;
        connection.execute("INSERT INTO atsdb_table VALUES (1, 't', 't', 1, '', 0, NULL)", []).unwrap();
        let sql = "INSERT INTO atsdb_chunk VALUES (1, 1, 0, 0, 1, 0, 0, ?1, 3, ?2, NULL, ?3, NULL)";
        connection.execute(sql, params![bytes, location, chunk.descriptor_bytes]).unwrap();
        let (change, amendment) = (Change::default(), amendment(ChunkId(1), &chunk, &amended(&chunk, 1, 10)));
        let elsewhere = PageLocation { file: 3, offset: 48 }.payload();
        let amended_block = |base| Some(AmendedBlock { base, payload: Some(elsewhere) });
        let mut amend_as = |block: Option<AmendedBlock>| {
            let amend = |transaction: &WriteTransaction<'_>| amend(transaction, &change, &amendment, block.as_ref());
            writer.transaction(SyncMode::Immediate, amend)
        };
        for stale in [None, amended_block(elsewhere)] {
            assert!(matches!(amend_as(stale), Err(Failure::Relocated)));
        }
        amend_as(amended_block(location)).unwrap();
        let sql = "SELECT payload FROM atsdb_chunk";
        let payload: i64 = writer.connection().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(payload, elsewhere);
    }
}
