//! Finding damage: SQLite's own check, then the consistency of its tables. If something cannot be read for lack of a
//! resource, that is not damage, and it ends the check.

use crate::chunk_write::beside_rows;
use crate::counter;
use crate::error::Failure;
use crate::list_rows;
use crate::row_pages;
use crate::schema::COLUMN_BITS;
use crate::split::page_location::PAGE_LOCATION_MIN;
use atsdb_core::checksum;
use atsdb_core::list::{ChunkSums, ListKey, ListState, damage_of_lists};
use atsdb_core::store::Finding;
use atsdb_core::stored_table;
use atsdb_core::{ColumnId, StageId, TableId};
use rusqlite::{Connection, ffi};
use std::collections::BTreeMap;
use std::path::Path;

/// The consistency queries. Each row of a result is a location and a problem.
const CONSISTENCY_QUERIES: [&str; 9] = [
    "SELECT 'chunk ' || id, 'belongs to table ' || table_id || ', which does not exist' FROM atsdb_chunk
     WHERE stage IS NULL AND table_id NOT IN (SELECT id FROM atsdb_table WHERE stage IS NULL)",
    "SELECT 'chunk ' || id, 'belongs to stage ' || stage || ', which is not open' FROM atsdb_chunk
     WHERE stage IS NOT NULL AND stage NOT IN (SELECT id FROM atsdb_stage)",
    "SELECT 'table ' || name, 'belongs to stage ' || stage || ', which is not open' FROM atsdb_table
     WHERE stage IS NOT NULL AND stage NOT IN (SELECT id FROM atsdb_stage)",
    "SELECT 'chunk ' || id, 'shares its pages with another chunk' FROM atsdb_chunk
     WHERE payload IN (SELECT payload FROM atsdb_chunk GROUP BY payload HAVING count(*) > 1)",
    "SELECT 'chunk ' || id, 'its pages wait to be deleted' FROM atsdb_chunk
     WHERE payload IN (SELECT payload FROM atsdb_garbage)",
    "SELECT 'chunk ' || id, 'its times or counts contradict each other' FROM atsdb_chunk
     WHERE time_min > time_max OR row_count < 0 OR byte_count < 0 OR sealed NOT IN (0, 1)",
    "SELECT 'dictionary of column ' || column_id || ' of table ' || table_id, 'has holes' FROM atsdb_map
     GROUP BY table_id, column_id HAVING min(id) <> 0 OR max(id) <> count(*) - 1",
    "SELECT 'atsdb_chunk', 'numbers would be reused' WHERE (SELECT max(id) FROM atsdb_chunk)
     > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'atsdb_chunk')",
    "SELECT 'atsdb_table', 'numbers would be reused' WHERE (SELECT max(id) FROM atsdb_table)
     > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'atsdb_table')",
];

/// Returns all findings. Something that cannot be read is a finding too.
pub(crate) fn verify(connection: &Connection, path: &Path, has_row_pages: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut note = |location: &str, look: &dyn Fn(&mut Vec<Finding>) -> rusqlite::Result<()>| {
        if !Finding::is_incomplete(&findings)
            && let Err(error) = look(&mut findings)
        {
            findings.push(unreadable(location, error, path));
        }
    };
    note("SQLite", &|found| integrity(connection, found));
    for query in CONSISTENCY_QUERIES {
        note("tables", &|found| ask(connection, query, found));
    }
    note("atsdb_page", &|found| pages(connection, has_row_pages, found));
    if has_row_pages {
        note("atsdb_chunk", &|found| pages_in_rows(connection, found));
    }
    note("atsdb_table", &|found| definitions(connection, found));
    note("atsdb_map", &|found| strings(connection, found));
    note("atsdb_store", &|found| counters(connection, found));
    note("atsdb_list", &|found| lists(connection, found));
    findings
}

/// Converts an error of SQLite to a finding.
pub(crate) fn unreadable(location: &str, error: rusqlite::Error, path: &Path) -> Finding {
    let problem = format!("cannot be read: {error}");
    Finding::from_error(location, problem, &Failure::Sqlite(error).into_error(path))
}

/// Converts a line of SQLite's own check to a finding. It also reports as a line of text that it could not read a page.
fn finding_of_integrity_check(line: &str) -> Finding {
    let code = line.rsplit_once("error code=").and_then(|(_, code)| code.trim().parse::<i32>().ok());
    let is_short = |code: i32| {
        code != ffi::SQLITE_IOERR_CORRUPTFS
            && matches!(code & 0xff, ffi::SQLITE_NOMEM | ffi::SQLITE_IOERR | ffi::SQLITE_FULL | ffi::SQLITE_CANTOPEN)
    };
    Finding { is_damage: !code.is_some_and(is_short), ..Finding::damage("SQLite", line) }
}

/// Returns whether a line reports a problem. Others report that all is well, or name the file of the next lines.
fn is_problem(line: &str) -> bool {
    line != "ok" && line != "*** in database main ***"
}

fn integrity(connection: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text: String = row.get(0)?;
        findings.extend(text.lines().filter(|line| is_problem(line)).map(finding_of_integrity_check));
    }
    Ok(())
}

fn ask(connection: &Connection, query: &str, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        findings.push(Finding::damage(row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    }
    Ok(())
}

/// Compares chunks with the existing pages, both in the order of payload numbers, so that memory does not grow with the
/// store. Lengths are in the rows' headers, so no page is read.
fn pages(connection: &Connection, has_row_pages: bool, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let beside = beside_rows(has_row_pages);
    let mut expected = connection.prepare(&format!(
        "SELECT payload, 'chunk ' || id, page_count, byte_count FROM atsdb_chunk WHERE {beside} AND payload < {PAGE_LOCATION_MIN}
         UNION ALL SELECT payload, NULL, 0, 0 FROM atsdb_garbage WHERE payload < {PAGE_LOCATION_MIN} ORDER BY 1",
    ))?;
    let mut present = connection.prepare(&format!(
        "SELECT id >> {COLUMN_BITS}, count(*), sum(length(bytes)) FROM atsdb_page GROUP BY 1 ORDER BY 1"
    ))?;
    let mut expected = expected.query([])?;
    let mut present = present.query([])?;
    type PresentPages = (i64, i64, i64);
    let mut next_present = || -> rusqlite::Result<Option<PresentPages>> {
        present.next()?.map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).transpose()
    };
    let orphan = |payload: i64| Finding::damage(format!("payload {payload}"), "its pages belong to no chunk");
    let mut group = next_present()?;
    while let Some(row) = expected.next()? {
        let (payload, chunk): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
        let (page_count, byte_count): (i64, i64) = (row.get(2)?, row.get(3)?);
        while let Some((found, ..)) = group.filter(|(found, ..)| *found < payload) {
            findings.push(orphan(found));
            group = next_present()?;
        }
        let (mut pages_found, mut bytes_found) = (0, 0);
        if let Some((_, pages, bytes)) = group.filter(|(found, ..)| *found == payload) {
            (pages_found, bytes_found) = (pages, bytes);
            group = next_present()?;
        }
        if let Some(chunk) = chunk.filter(|_| (pages_found, bytes_found) != (page_count, byte_count)) {
            let problem = format!("has {pages_found} pages of {bytes_found} bytes, not {page_count} of {byte_count}");
            findings.push(Finding::damage(chunk, problem));
        }
    }
    while let Some((found, ..)) = group {
        findings.push(orphan(found));
        group = next_present()?;
    }
    Ok(())
}

/// Checks that the rows of small chunks have as many pages and bytes as the descriptors list.
fn pages_in_rows(connection: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let sql = "SELECT id, page_count, byte_count, pages, payload FROM atsdb_chunk WHERE pages IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let expected: (u64, u64) = (row.get(1)?, row.get(2)?);
        let pages = row_pages::decode(row.get_ref(3)?.as_blob().unwrap_or_default());
        let bytes = |pages: &[(ColumnId, &[u8])]| pages.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        if pages.is_none_or(|pages| (pages.len() as u64, bytes(&pages)) != expected) {
            let problem = "its row does not have the pages that it lists";
            findings.push(Finding::damage(format!("chunk {}", row.get::<_, i64>(0)?), problem));
        }
        // Pages that the chunk gets later, for an index, would be under this number.
        if row.get::<_, i64>(0)? != row.get::<_, i64>(4)? {
            let problem = "the number of its pages is not its own";
            findings.push(Finding::damage(format!("chunk {}", row.get::<_, i64>(0)?), problem));
        }
    }
    Ok(())
}

fn definitions(connection: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT id, name, name_key, definition, checksum FROM atsdb_table")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let location = format!("table {}", row.get::<_, i64>(0)?);
        let (name, key, json): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let problems = stored_table::problems(TableId(row.get(0)?), &name, &key, &json, row.get(4)?);
        findings.extend(problems.into_iter().map(|problem| Finding::damage(&location, problem)));
    }
    Ok(())
}

fn strings(connection: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT table_id, column_id, id, value, checksum FROM atsdb_map")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, column, index): (i64, u16, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let value = row.get_ref(3)?.as_blob().unwrap_or_default();
        if row.get::<_, i64>(4)? != checksum::of_string(TableId(table), ColumnId(column), index, value) {
            let location = format!("dictionary of column {column} of table {table}");
            findings.push(Finding::damage(location, format!("string {index} is damaged")));
        }
    }
    Ok(())
}

fn counters(connection: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT key, value FROM atsdb_store WHERE key >= ?1 AND key < ?2")?;
    let mut rows = statement.query(counter::KEYS)?;
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        let problem = counter::problem(&key, row.get_ref(1)?.as_blob().ok());
        findings.extend(problem.map(|problem| Finding::damage(&key, problem)));
    }
    Ok(())
}

/// Compares the tables with the records of their lists.
fn lists(connection: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let recorded = list_rows::all(connection, "true")?;
    let mut found: BTreeMap<ListKey, ListState> = BTreeMap::new();
    let mut statement = connection.prepare("SELECT id, version, checksum, name_key, stage FROM atsdb_table")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let state = found.entry(ListKey::tables(row.get::<_, Option<i64>>(4)?.map(StageId))).or_default();
        *state = state.plus(crate::table::list_entry(row)?);
    }
    let mut sums: BTreeMap<(Option<StageId>, TableId), ChunkSums> = BTreeMap::new();
    let mut statement = connection
        .prepare("SELECT stage, table_id, id, slice_start, time_min, time_max FROM atsdb_chunk NOT INDEXED")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (stage, table) = (row.get::<_, Option<i64>>(0)?.map(StageId), TableId(row.get(1)?));
        sums.entry((stage, table)).or_default().add(&list_rows::chunk_key(row, 2)?);
    }
    found.extend(sums.iter().map(|((stage, table), sums)| (ListKey::chunks(*stage, *table), sums.state(*table))));
    // Dictionaries of dropped tables are being deleted.
    let mut dictionaries: BTreeMap<ListKey, (i64, i128)> = BTreeMap::new();
    let mut statement = connection.prepare(
        "SELECT table_id, column_id, value FROM atsdb_map WHERE table_id IN (SELECT id FROM atsdb_table)
         ORDER BY table_id, column_id, id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key = ListKey::dictionary(TableId(row.get(0)?), ColumnId(row.get(1)?));
        let (count, hashes) = dictionaries.entry(key).or_default();
        *count += 1;
        *hashes += i128::from(checksum::of_bytes(row.get_ref(2)?.as_blob()?));
    }
    found.extend(dictionaries.into_iter().map(|(key, (count, hashes))| (key, ListState::for_strings(count, hashes))));
    findings.extend(damage_of_lists(&found, &recorded));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_could_not_be_read_is_no_damaged_one() {
        let is_damage = |line: &str| finding_of_integrity_check(line).is_damage;
        // SQLITE_IOERR_READ, SQLITE_IOERR_NOMEM, SQLITE_NOMEM; SQLITE_CORRUPT, SQLITE_IOERR_CORRUPTFS.
        for line in ["Tree 2 page 5: unable to get the page. error code=266", "error code=3082", "error code=7"] {
            assert!(!is_damage(line), "{line}");
        }
        for line in ["Tree 2 page 5: unable to get the page. error code=11", "error code=8458", "Page 7: never used"] {
            assert!(is_damage(line), "{line}");
        }
        assert!(!is_problem("*** in database main ***") && !is_problem("ok") && is_problem("Page 7: never used"));
    }

    #[test]
    fn what_is_short_is_no_damage() {
        let error = |code: i32| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let is_damage = |code: i32| unreadable("tables", error(code), Path::new("t.db")).is_damage;
        for code in
            [ffi::SQLITE_NOMEM, ffi::SQLITE_FULL, ffi::SQLITE_IOERR_READ, ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY]
        {
            assert!(!is_damage(code), "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_IOERR_CORRUPTFS] {
            assert!(is_damage(code), "{code}");
        }
    }
}
