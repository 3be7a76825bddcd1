//! The rows of `atsdb_list`: the integrity records of the catalogue's lists. [`list`](atsdb_core::list) defines the
//! lists and their hashes. A writer that changes a list holds the list's lock, so its row has no other writer.

use crate::connection::{Connection, Row, Value};
use crate::error::Attempt;
use atsdb_core::list::{ChunkKey, ChunkSums, ListChanges, ListKey, ListState, MODULUS};
use atsdb_core::{Error, StageId, TableId};
use std::collections::BTreeMap;

/// The number of chunks and the sums of their fields. The sums are text, since they have more than 64 bits.
pub(crate) const SUMS: &str = "count(*) AS entry_count, concat(coalesce(sum(id), 0), '') AS ids,
    concat(coalesce(sum(slice_start), 0), '') AS slice_starts, concat(coalesce(sum(time_min), 0), '') AS time_mins,
    concat(coalesce(sum(time_max), 0), '') AS time_maxes";

/// Records the list changes of a transaction. A list without a row has no record yet.
pub(crate) fn record(connection: &mut dyn Connection, changes: &ListChanges) -> Attempt<()> {
    let change = format!(
        "UPDATE atsdb_list SET entry_count = entry_count + $1, hash = (hash + $2) % {MODULUS}
         WHERE stage = $3 AND table_id = $4 AND column_id = $5"
    );
    let insert = "INSERT INTO atsdb_list (entry_count, hash, stage, table_id, column_id) VALUES ($1, $2, $3, $4, $5)";
    for (key, state) in changes.iter() {
        let values = [state.count, state.hash, key.stage, key.table, key.column].map(Value::Int);
        if connection.execute(&change, &values)? == 0 {
            connection.execute(insert, &values)?;
        }
    }
    Ok(())
}

/// Returns the record of a list, or that of an empty list if there is no row.
pub(crate) fn recorded(connection: &mut dyn Connection, key: ListKey) -> Attempt<ListState> {
    let sql = "SELECT entry_count, hash FROM atsdb_list WHERE stage = $1 AND table_id = $2 AND column_id = $3";
    let row = connection.query_first(sql, &[key.stage, key.table, key.column].map(Value::Int))?;
    row.map_or(Ok(ListState::default()), |row| state(&row, 0))
}

/// Refuses a list that differs from its record.
pub(crate) fn check(connection: &mut dyn Connection, key: ListKey, found: ListState) -> Attempt<()> {
    Ok(key.check(found, recorded(connection, key)?)?)
}

/// Reads the number of entries and the hash, starting at a column of the row.
pub(crate) fn state(row: &Row, first: usize) -> Attempt<ListState> {
    Ok(ListState { count: row.int(first)?, hash: row.int(first + 1)? })
}

/// Deletes the lists of a dropped table. Its lists in stages are deleted with the stages.
pub(crate) fn forget_table(connection: &mut dyn Connection, table: TableId) -> Attempt<()> {
    connection.execute("DELETE FROM atsdb_list WHERE stage = 0 AND table_id = $1", &[table.0.into()])?;
    Ok(())
}

/// Deletes the lists of a stage that ends.
pub(crate) fn forget_stage(connection: &mut dyn Connection, stage: StageId) -> Attempt<()> {
    connection.execute("DELETE FROM atsdb_list WHERE stage = $1", &[stage.0.into()])?;
    Ok(())
}

/// Returns the records of all lists that match a condition on `$1`, `$2`, ....
pub(crate) fn all(
    connection: &mut dyn Connection,
    condition: &str,
    values: &[Value<'_>],
) -> Attempt<BTreeMap<ListKey, ListState>> {
    let sql = format!("SELECT stage, table_id, column_id, entry_count, hash FROM atsdb_list WHERE {condition}");
    let rows = connection.query(&sql, values)?;
    let entry = |row: &Row| {
        let key = ListKey { stage: row.int(0)?, table: row.int(1)?, column: row.int(2)? };
        Ok((key, state(row, 3)?))
    };
    rows.iter().map(entry).collect()
}

/// Returns the list states of the chunks that match a condition on `$1`, `$2`, .... The server adds them up.
pub(crate) fn of_chunks(
    connection: &mut dyn Connection,
    condition: &str,
    values: &[Value<'_>],
) -> Attempt<BTreeMap<ListKey, ListState>> {
    let sql = format!("SELECT stage, table_id, {SUMS} FROM atsdb_chunk WHERE {condition} GROUP BY stage, table_id");
    let rows = connection.query(&sql, values)?;
    let entry = |mut row: Row| {
        let key = ListKey::chunks(Some(StageId(row.int(0)?)), TableId(row.int(1)?));
        Ok((key, sums(&mut row, 2)?.state(TableId(key.table))))
    };
    rows.into_iter().map(entry).collect()
}

/// Reads the number of chunks and the sums of their fields, starting at a column of the row.
pub(crate) fn sums(row: &mut Row, first: usize) -> Attempt<ChunkSums> {
    let mut sums = ChunkSums { count: row.int(first)?, sums: [0; 4] };
    for (position, sum) in sums.sums.iter_mut().enumerate() {
        *sum = wide_integer(row, first + 1 + position)?;
    }
    Ok(sums)
}

/// Reads a number that the server returns as text.
pub(crate) fn wide_integer(row: &mut Row, column: usize) -> Attempt<i128> {
    let text = row.text(column)?;
    let not_a_number = |_| Error::corrupt(format!("column {column} of the store's answer is not a number: {text}"));
    Ok(text.parse().map_err(not_a_number)?)
}

/// Reads the fields by which a chunk is found, starting at a column of the row.
pub(crate) fn chunk_key(row: &Row, first: usize) -> Attempt<ChunkKey> {
    let [id, slice_start, time_min, time_max] = [0, 1, 2, 3].map(|field| row.int(first + field));
    Ok(ChunkKey { id: id?, slice_start: slice_start?, time_min: time_min?, time_max: time_max? })
}
