//! Copying from any kind of store to any other.

use crate::support::{assert_same, copy, descriptors, fill, hashes, memory, on_server, sqlite};
use atsdb_engine::Engine;
use atsdb_testkit::server::Kind;

#[test]
fn a_store_moved_from_one_kind_to_the_next_and_back_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let first = sqlite(&folder.path().join("a.db"));
    fill(&first);
    let mut stores: Vec<(&str, Engine)> = vec![("memory", memory())];
    stores.extend(on_server(Kind::Postgres).map(|engine| ("PostgreSQL", engine)));
    stores.extend(on_server(Kind::Mariadb).map(|engine| ("MariaDB", engine)));
    stores.push(("SQLite", sqlite(&folder.path().join("b.db"))));
    let before = hashes(&first);
    let mut source = first.clone();
    for (name, target) in stores {
        let report = copy(&source, &target).unwrap_or_else(|error| panic!("to {name}: {error}"));
        assert_eq!((report.tables, report.chunks_kept, report.chunks_removed), (4, 0, 0), "{name}");
        assert_same(&source, &target);
        // The bytes are the same, names of chunks included.
        assert_eq!(descriptors(&source, "readings"), descriptors(&target, "readings"), "{name}");
        source = target;
    }
    assert_eq!(hashes(&source), before);
    assert_eq!(descriptors(&source, "readings"), descriptors(&first, "readings"));
}

#[test]
fn a_copy_is_written_to_like_any_store() {
    let (source, target) = (memory(), memory());
    fill(&source);
    copy(&source, &target).unwrap();
    let table = target.table("readings").unwrap();
    for engine in [&source, &target] {
        crate::support::append(engine, &table, &crate::support::rows(9, 100));
        engine.recompress(None).unwrap();
    }
    // The dictionary gave both the same indices.
    assert_eq!(hashes(&source), hashes(&target));
    assert_eq!(
        source.snapshot().unwrap().mapping(&table, &table.definition.columns[1]).unwrap(),
        target.snapshot().unwrap().mapping(&table, &table.definition.columns[1]).unwrap()
    );
}

#[test]
fn the_hash_tells_rows_but_not_how_they_lie() {
    let (one, other) = (memory(), memory());
    let table = fill(&one);
    fill(&other);
    one.recompress(None).unwrap();
    assert_eq!(hashes(&one), hashes(&other));
    crate::support::append(&other, &table, &crate::support::rows(0, 1));
    assert_ne!(hashes(&one), hashes(&other));
    crate::support::append(&one, &table, &crate::support::rows(0, 1));
    assert_eq!(hashes(&one), hashes(&other));
}
