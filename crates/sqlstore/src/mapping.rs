//! The dictionaries of mapped columns: strings to indices, and back. Strings are looked up by a hash of their bytes, so
//! that no collation equates two of them, and that even the longest is indexed.

use crate::connection::{Connection, Value};
use crate::error::{Attempt, Failure};
use crate::pool::Pool;
use crate::{insert, list_rows, table};
use atsdb_core::checksum;
use atsdb_core::list::{ListChanges, ListKey, ListState};
use atsdb_core::refusal;
use atsdb_core::{ColumnId, Error, ErrorKind, TableId};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};

/// The maximum number of strings in one query or INSERT.
const STRINGS_PER_STATEMENT: usize = 128;

/// A dictionary with up to this many strings is searched fast with any query plan.
const SMALL_DICTIONARY_MAX: u64 = 256;

/// The maximum number of checks of a dictionary that seems damaged.
const CHECK_ATTEMPTS_MAX: usize = 4;

type KnownIndices<'a> = HashMap<&'a [u8], u32>;

/// The dictionaries whose strings were all found by their hashes.
#[derive(Debug, Default)]
pub(crate) struct VerifiedDictionaries(Mutex<HashSet<(TableId, ColumnId)>>);

impl VerifiedDictionaries {
    /// Checks a dictionary once.
    fn require(&self, pool: &Pool, (table, column): (TableId, ColumnId)) -> Attempt<()> {
        if !self.0.lock().contains(&(table, column)) {
            pool.read(|connection| check_values(connection, (table, column)))?;
            self.0.lock().insert((table, column));
        }
        Ok(())
    }
}

/// Returns the indices of the strings. Unknown strings get the next indices, in order.
pub(crate) fn map_values(
    (pool, verified): (&Pool, &VerifiedDictionaries),
    (table, column): (TableId, ColumnId),
    capacity: u64,
    values: &[&[u8]],
) -> Attempt<Vec<u32>> {
    // An index never changes, so reading it needs no lock against other writers.
    let mut known = KnownIndices::new();
    let searched = pool.read(|connection| {
        if !connection.exists("SELECT 1 FROM atsdb_table WHERE id = $1", &[table.0.into()])? {
            return Err(refusal::no_table(table).into());
        }
        let count = count(connection, (table, column))?;
        find(connection, (table, column), count, values, &mut known)?;
        Ok(count)
    })?;
    if values.iter().any(|value| !known.contains_key(value)) {
        verified.require(pool, (table, column))?;
        let asked = known;
        let add = || {
            pool.transaction(|connection| {
                let mut known = asked.clone();
                let count = add(connection, (table, column), (searched, capacity), values, &mut known)?;
                Ok((count, known))
            })
        };
        let mut added = add();
        // On a cluster, strings of another node may appear between two queries of a transaction, which could then not
        // be committed. Damage is still there at another check.
        for _ in 1..CHECK_ATTEMPTS_MAX {
            match &added {
                Err(Failure::Refused(error)) if error.kind() == ErrorKind::Corrupt => added = add(),
                _ => break,
            }
        }
        let (count, found) = added?;
        known = found;
        if count.max(SMALL_DICTIONARY_MAX).ilog2() > searched.max(SMALL_DICTIONARY_MAX).ilog2() {
            // The dictionary has outgrown the server's statistics. If this fails, searching is only slower.
            let _ = pool.without_transaction(|connection| pool.server().analyze_dictionaries(connection));
        }
    }
    Ok(values.iter().map(|value| known[value]).collect())
}

/// Returns the number of strings in a dictionary.
fn count(connection: &mut dyn Connection, (table, column): (TableId, ColumnId)) -> Attempt<u64> {
    let sql = "SELECT max(id) FROM atsdb_map WHERE table_id = $1 AND column_id = $2 HAVING max(id) IS NOT NULL";
    let row = connection.query_first(sql, &[table.0.into(), i64::from(column.0).into()])?;
    Ok(row.map(|row| row.number::<u64>(0)).transpose()?.map_or(0, |last| last + 1))
}

/// Adds the unknown strings and returns the new number of strings. The caller holds the row of the dictionary's table.
fn add<'a>(
    connection: &mut dyn Connection,
    (table, column): (TableId, ColumnId),
    (searched, capacity): (u64, u64),
    values: &[&'a [u8]],
    known: &mut KnownIndices<'a>,
) -> Attempt<u64> {
    table::lock(connection, table)?;
    let unknown: Vec<&[u8]> = values.iter().copied().filter(|value| !known.contains_key(value)).collect();
    let mut next = count(connection, (table, column))?;
    check_end(connection, (table, column), 0, next)?;
    if next > searched {
        // Another writer has added some.
        find(connection, (table, column), next, &unknown, known)?;
    }
    let (mut new, mut hashes): (Vec<Value<'_>>, i128) = (Vec::new(), 0);
    let first = next;
    for value in unknown {
        if known.contains_key(value) {
            continue;
        }
        let index =
            u32::try_from(next).ok().filter(|_| next < capacity).ok_or_else(|| refusal::dictionary_full(capacity))?;
        known.insert(value, index);
        next += 1;
        new.extend([table.0, i64::from(column.0), i64::from(index)].map(Value::Int));
        hashes += i128::from(checksum::of_bytes(value));
        new.push(checksum::of_bytes(value).into());
        new.push(checksum::of_string(table, column, index, value).into());
        new.push(value.into());
    }
    let into = "atsdb_map (table_id, column_id, id, hash, checksum, value)";
    insert::rows(connection, into, &new, STRINGS_PER_STATEMENT)?;
    let mut changes = ListChanges::default();
    changes.add(ListKey::dictionary(table, column), ListState::for_strings((next - first) as i64, hashes));
    list_rows::record(connection, &changes)?;
    Ok(next)
}

/// Looks up strings in a dictionary with this many strings, several with one query.
fn find<'a>(
    connection: &mut dyn Connection,
    (table, column): (TableId, ColumnId),
    count: u64,
    values: &[&'a [u8]],
    known: &mut KnownIndices<'a>,
) -> Attempt<()> {
    if count == 0 {
        return Ok(());
    }
    for group in values.chunks(STRINGS_PER_STATEMENT) {
        let wanted: HashMap<&[u8], &'a [u8]> = group.iter().map(|value| (*value, *value)).collect();
        // The list is padded, so that few different statements are prepared.
        let length = group.len().next_power_of_two();
        let hashes = group.iter().map(|value| checksum::of_bytes(value));
        let hashes = hashes.chain(std::iter::repeat(checksum::of_bytes(group[0]))).take(length);
        let mut asked = vec![Value::Int(table.0), Value::Int(i64::from(column.0))];
        asked.extend(hashes.map(Value::Int));
        let list: Vec<String> = (3..3 + length).map(|number| format!("${number}")).collect();
        let sql = format!(
            "SELECT id, checksum, value FROM atsdb_map WHERE table_id = $1 AND column_id = $2 AND hash IN ({})",
            list.join(", ")
        );
        for mut row in connection.query(&sql, &asked)? {
            let (index, checksum, value) = (row.number::<u32>(0)?, row.int(1)?, row.bytes(2)?);
            // This also checks strings that were not requested, because such a hash may be that of the original string.
            if checksum != checksum::of_string(table, column, index, &value) {
                return Err(refusal::string_damaged(table, column, index).into());
            }
            if let Some(value) = wanted.get(value.as_slice()) {
                known.insert(value, index);
            }
        }
    }
    Ok(())
}

/// Refuses a dictionary whose hashes do not lead to all strings: a string that is not found would get a second index.
fn check_values(connection: &mut dyn Connection, (table, column): (TableId, ColumnId)) -> Attempt<()> {
    let sql = "SELECT count(*), concat(coalesce(sum(hash), 0), '') FROM atsdb_map
               WHERE table_id = $1 AND column_id = $2";
    let row = connection.query_first(sql, &[table.0.into(), i64::from(column.0).into()])?;
    let mut row = row.ok_or_else(|| Error::internal("the server returned no count"))?;
    let found = ListState::for_strings(row.int(0)?, list_rows::wide_integer(&mut row, 1)?);
    list_rows::check(connection, ListKey::dictionary(table, column), found)
}

/// Refuses a dictionary that, read from an index on, does not end where its record states. The dictionary of a dropped
/// table is being deleted.
fn check_end(
    connection: &mut dyn Connection,
    (table, column): (TableId, ColumnId),
    first: u64,
    read: u64,
) -> Attempt<()> {
    let key = ListKey::dictionary(table, column);
    let recorded = list_rows::recorded(connection, key)?;
    let (first, read) = (first as i64, read as i64);
    let is_behind_end = read == 0 && first > recorded.count;
    if is_behind_end
        || first + read == recorded.count
        || !connection.exists("SELECT 1 FROM atsdb_table WHERE id = $1", &[table.0.into()])?
    {
        return Ok(());
    }
    Err(key.damaged(ListState { count: first + read, hash: 0 }, recorded).into())
}

/// Returns the dictionary from an index on.
pub(crate) fn read(
    connection: &mut dyn Connection,
    table: TableId,
    column: ColumnId,
    first: u32,
) -> Attempt<Vec<Vec<u8>>> {
    let sql = "SELECT id, checksum, value FROM atsdb_map
               WHERE table_id = $1 AND column_id = $2 AND id >= $3 ORDER BY id";
    let location = [table.0.into(), i64::from(column.0).into(), i64::from(first).into()];
    let mut values = Vec::new();
    for mut row in connection.query(sql, &location)? {
        let (id, checksum, value) = (row.number::<u32>(0)?, row.int(1)?, row.bytes(2)?);
        if u64::from(id) != u64::from(first) + values.len() as u64 {
            return Err(refusal::strings_missing(table, column, id).into());
        }
        if checksum != checksum::of_string(table, column, id, &value) {
            return Err(refusal::string_damaged(table, column, id).into());
        }
        values.push(value);
    }
    check_end(connection, (table, column), u64::from(first), values.len() as u64)?;
    Ok(values)
}
