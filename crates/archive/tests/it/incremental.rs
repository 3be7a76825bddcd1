//! Repeated copies: only new data is transferred, and data that the source no longer has is removed.

use crate::support::{append, assert_same, copy, fill, memory, on_server, rows, sqlite};
use atsdb_core::{Column, ColumnType, Redefinition, Table, TableDefinition};
use atsdb_engine::{Engine, Rewrite, ScanRequest};
use atsdb_testkit::server::ServerKind;

fn each_kind(test: impl Fn(&Engine, &Engine)) {
    let folder = tempfile::tempdir().unwrap();
    test(&memory(), &sqlite(&folder.path().join("a.db")));
    test(&sqlite(&folder.path().join("b.db")), &memory());
    for kind in [ServerKind::Postgres, ServerKind::Mariadb] {
        if let Some(target) = on_server(kind) {
            test(&memory(), &target);
        }
    }
}

fn redefine(engine: &Engine, table: &Table, change: impl FnOnce(&mut TableDefinition)) {
    let mut to = table.definition.clone();
    change(&mut to);
    let redefine = vec![Redefinition { table: table.id, from: table.definition.clone(), to }];
    let change = atsdb_core::Change { redefine, ..Default::default() };
    engine.store().commit(&[change], 0).unwrap().remove(0).unwrap();
}

#[test]
fn nothing_moves_twice() {
    each_kind(|source, target| {
        let table = fill(source);
        let first = copy(source, target).unwrap();
        let again = copy(source, target).unwrap();
        assert_eq!((again.chunks, again.chunks_kept, again.chunks_removed), (0, first.chunks, 0));
        append(source, &table, &rows(7, 50));
        let more = copy(source, target).unwrap();
        assert_eq!((more.chunks, more.rows, more.chunks_removed), (1, 50, 0));
        assert_same(source, target);
    });
}

#[test]
fn sealed_rewritten_and_deleted_chunks_are_replaced() {
    each_kind(|source, target| {
        let table = fill(source);
        copy(source, target).unwrap();
        source.recompress(None).unwrap();
        let report = copy(source, target).unwrap();
        assert!(report.chunks > 0 && report.chunks_removed > report.chunks, "{report:?}");
        assert_same(source, target);

        let mut batch = source.batch(None);
        let snapshot = source.snapshot().unwrap();
        let scan = snapshot.scan(&table, &ScanRequest::all(&table)).unwrap();
        let rows = scan.chunks()[0].entry.row_count as usize;
        let keep = Some((0..rows).map(|row| Some(row % 2 == 0)).collect());
        let successor = scan.rewrite(0, &Rewrite { keep, set: Vec::new() }).unwrap();
        batch.replace(&table, scan.chunks()[0].entry.id, successor).unwrap();
        batch.commit().unwrap();
        let report = copy(source, target).unwrap();
        assert_eq!((report.chunks, report.chunks_removed), (1, 1));
        assert_same(source, target);
    });
}

#[test]
fn tables_that_were_altered_renamed_created_or_dropped_follow() {
    each_kind(|source, target| {
        let table = fill(source);
        copy(source, target).unwrap();
        redefine(source, &table, |definition| {
            definition.name = "Renamed".to_owned();
            let id = definition.next_column_id();
            definition.columns.push(Column::new(id, "more", ColumnType::Int64));
        });
        source.drop_table(&source.table("sensors").unwrap()).unwrap();
        // Another table with the name of a dropped one.
        source.create_table(&TableDefinition::new("SENSORS").with_column("x", ColumnType::Bool, None)).unwrap();
        let report = copy(source, target).unwrap();
        assert_eq!((report.chunks, report.tables_dropped), (0, 1));
        assert_same(source, target);
    });
}

#[test]
fn filters_of_a_new_index_are_added_to_the_chunks_that_are_there() {
    each_kind(|source, target| {
        let table = fill(source);
        let mut to = table.definition.clone();
        to.indexes.clear();
        redefine(source, &table, |definition| definition.indexes.clear());
        let table = Table { id: table.id, version: table.version.next(), definition: to };
        // Chunks that are added now have no filter.
        append(source, &table, &rows(8, 90));
        copy(source, target).unwrap();
        redefine(source, &table, |definition| {
            let id = definition.next_index_id();
            definition.indexes_given += 1;
            let columns = vec![atsdb_core::ColumnId(1)];
            definition.indexes.push(atsdb_core::Index { id, name: "later".to_owned(), columns });
        });
        let table = source.table("readings").unwrap();
        source.build_index(&table, &table.definition.indexes[0]).unwrap();
        let report = copy(source, target).unwrap();
        assert_eq!((report.chunks, report.chunks_removed), (0, 0));
        assert_same(source, target);
        let stats = target.stats(Some(&target.table("readings").unwrap())).unwrap();
        assert_eq!(stats[0].indexes[0].chunks, stats[0].chunks);
    });
}
