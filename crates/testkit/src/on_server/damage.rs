//! Rows of the catalogue that were changed by other means than the store.

use super::subject::{NOW_MS, Subject};
use crate::sample::{Plan, series_table};
use crate::server;
use atsdb_core::{Change, ColumnId, ErrorKind, Store, TableId, TimeRange};

const SENSOR: ColumnId = ColumnId(1);
const DAY: i64 = 86_400;

/// The calls that read the list and must notice the damage.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reader {
    Tables,
    Chunks,
    Strings,
    NewString,
}

/// A row that is lost or changed is reported when the list it belongs to is read, and by verify.
pub fn a_row_that_was_changed_is_reported(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    use Reader::{Chunks, NewString, Strings, Tables};
    let damages: [(&str, &[Reader]); 15] = [
        ("DELETE FROM atsdb_chunk WHERE slice_start = 172800", &[Chunks]),
        ("UPDATE atsdb_chunk SET table_id = 2 WHERE slice_start = 172800", &[Chunks]),
        ("UPDATE atsdb_chunk SET stage = 1 WHERE slice_start = 172800", &[Chunks]),
        ("UPDATE atsdb_chunk SET time_min = 90000 WHERE slice_start = 172800", &[Chunks]),
        ("UPDATE atsdb_chunk SET id = 90000 WHERE slice_start = 172800", &[Chunks]),
        ("DELETE FROM atsdb_list WHERE table_id = 1 AND column_id = -1", &[Chunks]),
        ("UPDATE atsdb_table SET stage = 1 WHERE id = 2", &[Tables]),
        ("UPDATE atsdb_table SET name_key = 'x' WHERE id = 2", &[Tables]),
        ("DELETE FROM atsdb_table WHERE id = 2", &[Tables]),
        ("DELETE FROM atsdb_list WHERE table_id = 0", &[Tables]),
        ("DELETE FROM atsdb_map WHERE id = 2", &[Strings, NewString]),
        ("DELETE FROM atsdb_map", &[Strings, NewString]),
        ("UPDATE atsdb_map SET hash = hash + 1 WHERE id = 1", &[NewString]),
        ("UPDATE atsdb_map SET value = 'other' WHERE id = 1", &[Strings, NewString]),
        ("UPDATE atsdb_list SET entry_count = 2 WHERE column_id = 1", &[Strings, NewString]),
    ];
    for (damage, readers) in damages {
        let url = server.database();
        let store = subject.opened(&url);
        let tables = ["t", "u"].map(|name| store.create_table(&series_table(name), None).unwrap().id);
        for day in 0..4 {
            let add = vec![Plan::new(day).in_slice(day as i64 * DAY).chunk(tables[0])];
            store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        }
        store.map_values(tables[0], SENSOR, 100, &[b"a", b"b", b"c"]).unwrap();
        assert_eq!(ask(&*store, tables, b"new", 3), [Ok(()); 4]);
        assert_eq!(store.verify().unwrap(), [], "{damage}");
        drop(store);
        server.ask(&url, damage);
        let store = subject.opened(&url);
        let expected = [Tables, Chunks, Strings, NewString].map(|reader| match readers.contains(&reader) {
            true => Err(ErrorKind::Corrupt),
            false => Ok(()),
        });
        assert_eq!(ask(&*store, tables, b"newer", 4), expected, "{damage}");
        assert!(!store.verify().unwrap().is_empty(), "{damage}");
    }
}

/// Returns each reader's report, and checks that a new string gets that index.
fn ask(store: &dyn Store, tables: [TableId; 2], new: &[u8], index: u32) -> [Result<(), ErrorKind>; 4] {
    let snapshot = store.snapshot().unwrap();
    let chunks = |range| snapshot.chunks(tables[0], range).map(drop).map_err(|error| error.kind());
    // All rows of this range exist.
    let of_first_day = chunks(TimeRange::from(0..DAY));
    assert_eq!(of_first_day, chunks(TimeRange::ALL));
    [
        snapshot.tables().map(drop).map_err(|error| error.kind()),
        of_first_day,
        snapshot.mapping(tables[0], SENSOR, 0).map(drop).map_err(|error| error.kind()),
        indices(store, tables[0], new, index),
    ]
}

fn indices(store: &dyn Store, table: TableId, new: &[u8], index: u32) -> Result<(), ErrorKind> {
    let indices = store.map_values(table, SENSOR, 100, &[b"b", new]).map_err(|error| error.kind())?;
    assert_eq!(indices, [1, index]);
    Ok(())
}
