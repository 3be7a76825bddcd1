//! Adding pages to a chunk that is visible.

use crate::connection::{Connection, Server, Value};
use crate::directory::PageDirectory;
use crate::error::Attempt;
use crate::pages::PartWriter;
use crate::table;
use atsdb_core::refusal;
use atsdb_core::{Amendment, Change};

/// Appends the pages to those of the chunk. It is a conflict if the chunk no longer exists or has changed.
pub(crate) fn amend(
    connection: &mut dyn Connection,
    server: &dyn Server,
    change: &Change,
    amendment: &Amendment,
) -> Attempt<()> {
    let Amendment { table, chunk, from, descriptor, descriptor_bytes, pages } = amendment;
    table::require(connection, *table, None)?;
    let sql = "SELECT payload, sealed, byte_count, pages FROM atsdb_chunk
               WHERE id = $1 AND table_id = $2 AND stage = 0 AND descriptor = $3";
    let values = [chunk.0.into(), table.0.into(), Value::Bytes(from)];
    let Some(mut found) = connection.query_first(sql, &values)? else {
        return Err(refusal::chunk_changed(&change.table_name(*table), *chunk).into());
    };
    let mut directory = PageDirectory::from_bytes(&found.bytes(3)?)?;
    let added: u64 = pages.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let byte_count = found.number::<u64>(2)? + added;
    let expected = (directory.0.len() + pages.len(), byte_count);
    let is_new = |(position, (column, _)): (usize, &(atsdb_core::ColumnId, Vec<u8>))| {
        directory.find(*column).is_none() && pages[..position].iter().all(|(other, _)| other != column)
    };
    if expected != (descriptor.pages.len(), descriptor.byte_count()) || !pages.iter().enumerate().all(is_new) {
        return Err(amendment.contradiction().into());
    }
    // A part is never rewritten, so the new pages begin with the next one.
    let part = directory.end().div_ceil(server.part_bytes());
    directory.append_pages(part * server.part_bytes(), pages.iter().map(|(column, bytes)| (*column, bytes.len())));
    let mut writer = PartWriter::new(&mut *connection, server, found.int(1)? != 0);
    writer.write(found.int(0)?, part as i64, pages.iter().map(|(_, bytes)| bytes.as_slice()))?;
    writer.flush()?;
    let directory = directory.to_bytes();
    let values: [Value<'_>; 4] =
        [Value::Bytes(descriptor_bytes), Value::Bytes(&directory), (byte_count as i64).into(), chunk.0.into()];
    connection.execute("UPDATE atsdb_chunk SET descriptor = $1, pages = $2, byte_count = $3 WHERE id = $4", &values)?;
    Ok(())
}
