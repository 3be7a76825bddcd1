//! Finding damage: the server's own check, then the consistency of the tables. If something cannot be read for lack of
//! a resource, that is not damage, and it ends the check.

use crate::connection::{Connection, Server};
use crate::directory::PageDirectory;
use crate::error::Attempt;
use crate::{list_rows, pages};
use atsdb_core::checksum;
use atsdb_core::list::{ListKey, ListState, damage_of_lists};
use atsdb_core::store::Finding;
use atsdb_core::stored_table;
use atsdb_core::{ColumnId, StageId, TableId};
use std::collections::BTreeMap;

/// The consistency queries: what each row of a result names, the problem, and the query.
const CONSISTENCY_QUERIES: [(&str, &str, &str); 9] = [
    (
        "chunk",
        "belongs to a table that does not exist",
        "SELECT id FROM atsdb_chunk WHERE stage = 0 AND table_id NOT IN (SELECT id FROM atsdb_table WHERE stage = 0)",
    ),
    (
        "chunk",
        "belongs to a stage that is not open",
        "SELECT id FROM atsdb_chunk WHERE stage <> 0 AND stage NOT IN (SELECT id FROM atsdb_stage)",
    ),
    (
        "table",
        "belongs to a stage that is not open",
        "SELECT id FROM atsdb_table WHERE stage <> 0 AND stage NOT IN (SELECT id FROM atsdb_stage)",
    ),
    (
        "chunk",
        "shares its pages with another chunk",
        "SELECT id FROM atsdb_chunk
         WHERE payload IN (SELECT payload FROM atsdb_chunk GROUP BY payload HAVING count(*) > 1)",
    ),
    (
        "chunk",
        "its pages wait to be deleted",
        "SELECT id FROM atsdb_chunk WHERE payload IN (SELECT payload FROM atsdb_garbage)",
    ),
    (
        "chunk",
        "its times or counts contradict each other",
        "SELECT id FROM atsdb_chunk
         WHERE time_min > time_max OR row_count < 0 OR byte_count < 0 OR sealed NOT IN (0, 1)",
    ),
    (
        "dictionaries of table",
        "have holes",
        "SELECT table_id FROM atsdb_map GROUP BY table_id, column_id HAVING min(id) <> 0 OR max(id) <> count(*) - 1",
    ),
    (
        "chunk",
        "its number would be used again",
        "SELECT id FROM atsdb_chunk WHERE id > (SELECT last FROM atsdb_number WHERE name = 'chunk')
         OR payload > (SELECT last FROM atsdb_number WHERE name = 'chunk')",
    ),
    (
        "table",
        "its number would be used again",
        "SELECT id FROM atsdb_table WHERE id > (SELECT last FROM atsdb_number WHERE name = 'table')",
    ),
];

/// The number of payload numbers that are compared at once, so that memory does not grow with the store.
const PAYLOADS_PER_STEP: i64 = 100_000;

/// Returns all findings. Something that cannot be read is a finding too. A transient failure fails the whole check,
/// which is retried.
pub(crate) fn verify(connection: &mut dyn Connection, server: &dyn Server) -> Attempt<Vec<Finding>> {
    let mut findings = Vec::new();
    note(&mut findings, "server", |found| {
        found.extend(server.check(connection)?);
        Ok(())
    })?;
    for (what, problem, sql) in CONSISTENCY_QUERIES {
        note(&mut findings, what, |found| {
            for row in connection.query(sql, &[])? {
                found.push(Finding::damage(format!("{what} {}", row.int(0)?), problem));
            }
            Ok(())
        })?;
    }
    note(&mut findings, "pages", |found| payloads(connection, server, found))?;
    note(&mut findings, "atsdb_table", |found| definitions(connection, found))?;
    note(&mut findings, "atsdb_map", |found| strings(connection, found))?;
    note(&mut findings, "atsdb_list", |found| lists(connection, found))?;
    Ok(findings)
}

fn note(
    findings: &mut Vec<Finding>,
    location: &str,
    look: impl FnOnce(&mut Vec<Finding>) -> Attempt<()>,
) -> Attempt<()> {
    if Finding::is_incomplete(findings) {
        return Ok(());
    }
    match look(findings) {
        Err(failure) if failure.is_transient() => Err(failure),
        Err(failure) => {
            let error = failure.into_error();
            findings.push(Finding::from_error(location, format!("cannot be read: {error}"), &error));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Compares chunks with the existing parts.
fn payloads(connection: &mut dyn Connection, server: &dyn Server, findings: &mut Vec<Finding>) -> Attempt<()> {
    let ends = "SELECT min(payload), max(payload) FROM (SELECT payload FROM atsdb_chunk
        UNION ALL SELECT payload FROM atsdb_garbage UNION ALL SELECT payload FROM atsdb_fresh
        UNION ALL SELECT payload FROM atsdb_sealed) AS every HAVING count(*) > 0";
    let Some(row) = connection.query_first(ends, &[])? else { return Ok(()) };
    let (mut first, end) = (row.int(0)?, row.int(1)?.saturating_add(1));
    while first < end {
        let after = first.saturating_add(PAYLOADS_PER_STEP).min(end);
        payloads_between(connection, server, (first, after), findings)?;
        first = after;
    }
    Ok(())
}

fn payloads_between(
    connection: &mut dyn Connection,
    server: &dyn Server,
    (first, after): (i64, i64),
    findings: &mut Vec<Finding>,
) -> Attempt<()> {
    let range = [first.into(), after.into()];
    let mut present: BTreeMap<(i64, bool), i64> = BTreeMap::new();
    for sealed in [false, true] {
        let sql = format!(
            "SELECT payload, {} FROM {} WHERE payload >= $1 AND payload < $2 GROUP BY payload",
            server.integer("sum(octet_length(bytes))"),
            pages::table(sealed)
        );
        for row in connection.query(&sql, &range)? {
            present.insert((row.int(0)?, sealed), row.int(1)?);
        }
    }
    let sql = "SELECT id, payload, sealed, byte_count, pages FROM atsdb_chunk WHERE payload >= $1 AND payload < $2";
    for mut row in connection.query(sql, &range)? {
        let (chunk, expected) = (format!("chunk {}", row.int(0)?), row.int(3)?);
        let found = present.remove(&(row.int(1)?, row.int(2)? != 0)).unwrap_or(0);
        if found != expected {
            findings.push(Finding::damage(&chunk, format!("has pages of {found} bytes, not of {expected}")));
        }
        let listed = PageDirectory::from_bytes(&row.bytes(4)?);
        let listed = listed.map(|pages| pages.0.iter().map(|location| i64::from(location.byte_count)).sum::<i64>());
        if !listed.is_ok_and(|listed| listed == expected) {
            findings.push(Finding::damage(chunk, "its list of pages is damaged"));
        }
    }
    for row in connection.query("SELECT payload FROM atsdb_garbage WHERE payload >= $1 AND payload < $2", &range)? {
        let payload = row.int(0)?;
        present.retain(|(found, _), _| *found != payload);
    }
    findings.extend(
        present
            .into_keys()
            .map(|(payload, _)| Finding::damage(format!("payload {payload}"), "its pages belong to no chunk")),
    );
    Ok(())
}

fn definitions(connection: &mut dyn Connection, findings: &mut Vec<Finding>) -> Attempt<()> {
    let sql = "SELECT id, checksum, name, name_key, definition FROM atsdb_table ORDER BY id";
    for mut row in connection.query(sql, &[])? {
        let (id, checksum) = (row.int(0)?, row.int(1)?);
        let location = format!("table {id}");
        let (name, key, json) = (row.text(2)?, row.text(3)?, row.text(4)?);
        let problems = stored_table::problems(TableId(id), &name, &key, &json, checksum);
        findings.extend(problems.into_iter().map(|problem| Finding::damage(&location, problem)));
    }
    Ok(())
}

/// Checks the strings, dictionary by dictionary, some at a time.
fn strings(connection: &mut dyn Connection, findings: &mut Vec<Finding>) -> Attempt<()> {
    let dictionaries = "SELECT table_id, column_id FROM atsdb_map GROUP BY table_id, column_id";
    for row in connection.query(dictionaries, &[])? {
        let (table, column, mut first) = (row.int(0)?, row.number::<u16>(1)?, 0);
        loop {
            let sql = "SELECT id, hash, checksum, value FROM atsdb_map
                       WHERE table_id = $1 AND column_id = $2 AND id >= $3 ORDER BY id LIMIT 10000";
            let rows = connection.query(sql, &[table.into(), i64::from(column).into(), first.into()])?;
            if rows.is_empty() {
                break;
            }
            for mut row in rows {
                let (index, hash, checksum, value) = (row.number::<u32>(0)?, row.int(1)?, row.int(2)?, row.bytes(3)?);
                let expected = checksum::of_string(TableId(table), ColumnId(column), index, &value);
                if (hash, checksum) != (checksum::of_bytes(&value), expected) {
                    let location = format!("dictionary of column {column} of table {table}");
                    findings.push(Finding::damage(location, format!("string {index} is damaged")));
                }
                first = i64::from(index) + 1;
            }
        }
    }
    Ok(())
}

/// Compares the tables with the records of their lists.
fn lists(connection: &mut dyn Connection, findings: &mut Vec<Finding>) -> Attempt<()> {
    let recorded = list_rows::all(connection, "stage >= 0", &[])?;
    let mut found = list_rows::of_chunks(connection, "id > 0", &[])?;
    for mut row in connection.query("SELECT id, version, checksum, name_key, stage FROM atsdb_table", &[])? {
        let state = found.entry(ListKey::tables(Some(StageId(row.int(4)?)))).or_default();
        *state = state.plus(crate::table::list_entry(&mut row, 0)?.1);
    }
    // Dictionaries of dropped tables are being deleted.
    let sql = "SELECT table_id, column_id, count(*), concat(sum(hash), '') FROM atsdb_map
               WHERE table_id IN (SELECT id FROM atsdb_table) GROUP BY table_id, column_id";
    for mut row in connection.query(sql, &[])? {
        let key = ListKey::dictionary(TableId(row.int(0)?), ColumnId(row.number(1)?));
        found.insert(key, ListState::for_strings(row.int(2)?, list_rows::wide_integer(&mut row, 3)?));
    }
    findings.extend(damage_of_lists(&found, &recorded));
    Ok(())
}
